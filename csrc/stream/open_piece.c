#include "stream/open_piece.h"

#include "cut/cuts.h"

void st_open_piece_free(st_open_piece *piece)
{
    st_open_free(&piece->tail);
    st_open_free(&piece->saved_tail);
}

static st_status push(st_open_piece *piece, const st_encode_context *c, const uint8_t *text, size_t n)
{
    return st_open_push(&piece->tail, c->vocab, c->workspace->scratch, text, n, c->out);
}

/* Ends the open atom with the bytes text[0..n). */
static st_status end_atom(st_open_piece *piece, const st_encode_context *c, const uint8_t *text, size_t n)
{
    if (!piece->tail.active)
        return st_encode_span(c->vocab, c->workspace, ST_ENGINE_FAST, text, n, 0, c->out);
    ST_TRY(push(piece, c, text, n));
    return st_open_finish(&piece->tail, c->vocab, c->workspace->scratch, c->out);
}

/* Encodes the atoms of text[0..n), which begins at a cut, up to the last cut in it, as a batch. */
static st_status take_whole_atoms(const st_encode_context *c, const st_cuts *cuts, const uint8_t *text, size_t n, size_t *taken)
{
    const uint64_t end = *taken = st_cuts_last(cuts, text, n);
    return end ? st_encode_pieces(c->vocab, c->workspace, ST_ENGINE_FAST, text, n, NULL, &end, 1, 0, c->out) : ST_OK;
}

/* Encodes the atoms of text[0..n) that end at a cut, and says where the open one begins. Whether the border in front of text[0] is
 * a cut does not matter: either an open atom goes on there, or an atom begins there. */
static st_status take_atoms(st_open_piece *piece, const st_encode_context *c, const uint8_t *text, size_t n, size_t *rest)
{
    const st_cuts *cuts = st_vocab_has(c->vocab, ST_MODEL_HAS_CUTS) ? st_vocab_cuts(c->vocab) : NULL;
    size_t taken, first = cuts ? st_cuts_next(cuts, text, 0, n) : n;
    *rest = 0;
    if (first == n)
        return ST_OK;
    piece->tail.merged_only = 1; /* a piece with a cut is no token, so its first atom must not be looked up as a whole piece */
    ST_TRY(end_atom(piece, c, text, first));
    ST_TRY(take_whole_atoms(c, cuts, text + first, n - first, &taken));
    *rest = first + taken;
    return ST_OK;
}

st_status st_open_piece_take(st_open_piece *piece, const st_encode_context *c, const uint8_t *text, size_t n, int more, size_t *took)
{
    size_t rest = 0;
    *took = n;
    if (n == 0)
        return ST_OK;
    ST_TRY(take_atoms(piece, c, text, n, &rest));
    piece->taken += rest;
    /* A short atom waits for its end, as a short piece does. An ASCII atom behind a cut does not: it may never end. */
    const int waits = !rest || more || st_has_high_bytes(text + rest, n - rest);
    if (!piece->tail.active && n - rest <= c->vocab->model->holds && waits) {
        *took = rest;
        return ST_OK;
    }
    if (!piece->tail.active)
        st_open_begin(&piece->tail, piece->taken > 0);
    piece->taken += n - rest;
    return push(piece, c, text + rest, n - rest);
}

st_status st_open_piece_close(st_open_piece *piece, const st_encode_context *c, const uint8_t *text, size_t n)
{
    size_t rest = 0;
    piece->taken = 0;
    if (n)
        ST_TRY(take_atoms(piece, c, text, n, &rest));
    if (n > rest || piece->tail.active)
        return end_atom(piece, c, text + rest, n - rest);
    return ST_OK;
}
