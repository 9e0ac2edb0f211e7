#include "open_piece.h"

#include "cuts.h"

static const st_cuts *cuts_for(st_vocab *vocab, const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] >= 0x80)
            return st_vocab_cuts(vocab);
    return NULL; /* text without other characters has hardly any cut */
}

/* Ends the open atom at text[0..n): what was pushed before, and these bytes. */
static st_status end_atom(st_encoder *e, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    if (!e->open.active)
        return st_encode_span(e->vocab, w, e->engine, text, n, 0, out);
    ST_TRY(st_long_piece_push(&e->open, e->vocab, w->memo, text, n, out));
    return st_long_piece_finish(&e->open, e->vocab, out);
}

/* Encodes the atoms of text[0..n) that end at a cut, and says where the last, open one begins. The border in front of
 * text[0] can not be a cut that matters: an open atom goes on there, or an atom begins there already. */
static st_status take_atoms(st_encoder *e, st_workspace *w, const uint8_t *text, size_t n, size_t *rest, st_ids *out)
{
    const st_cuts *cuts = cuts_for(e->vocab, text, n);
    *rest = 0;
    if (!cuts)
        return ST_OK;
    for (size_t to; (to = st_cuts_next(cuts, text, *rest, n)) < n; *rest = to) {
        e->open.merged_only = 1; /* a piece with a cut is no token, and its first atom must not be taken for one */
        ST_TRY(end_atom(e, w, text + *rest, to - *rest, out));
    }
    return ST_OK;
}

st_status st_open_piece_take(st_encoder *e, st_workspace *w, const uint8_t *text, size_t n, size_t *took, st_ids *out)
{
    size_t rest = 0;
    *took = 0;
    if (n == 0)
        return ST_OK;
    if (e->engine == ST_ENGINE_REFERENCE) {
        if (!e->open.active)
            st_long_piece_begin_reference(&e->open);
        *took = n;
        return st_long_piece_push(&e->open, e->vocab, w->memo, text, n, out);
    }
    ST_TRY(take_atoms(e, w, text, n, &rest, out));
    *took = rest;
    if (!e->open.active && n - rest <= ST_HOLD_WHOLE)
        return ST_OK; /* a short atom waits for its end, as a short piece does */
    if (!e->open.active)
        st_long_piece_begin(&e->open, e->taken + rest > 0);
    *took = n;
    return st_long_piece_push(&e->open, e->vocab, w->memo, text + rest, n - rest, out);
}

st_status st_open_piece_close(st_encoder *e, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    size_t rest = 0;
    if (n && e->engine == ST_ENGINE_FAST)
        ST_TRY(take_atoms(e, w, text, n, &rest, out));
    if (n > rest || e->open.active)
        return end_atom(e, w, text + rest, n - rest, out);
    return ST_OK;
}
