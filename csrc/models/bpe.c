/* Byte pair encoding. The second model is that of vocabularies with fragments of characters that texts can hold (vocab/fragment_ids.h). */
#include "base/tier.h"
#include "cut/cuts.h"
#include "merge/runs.h"
#include "merge/sure_pairs.h"
#include "merge/windows.h"
#include "models/bpe.h"
#include "models/models.h"

/* Up to this length runs of long tokens are merged in large windows. Beyond it the automaton of endless/long_piece.h is faster,
 * although it takes time to build. */
#define LARGE_WINDOWS_UP_TO 4096

void st_bpe_release(void *scratch)
{
    st_bpe_scratch *s = scratch;
    st_long_scratch_free(&s->pushing);
    st_open_free(&s->piece);
    st_reference_scratch_free(&s->reference);
}

static void to_ids(const st_vocab *v, const uint32_t *tokens, size_t count, uint32_t *ids)
{
    if (v->identity && ids == tokens)
        return;
    for (size_t i = 0; i < count; i++)
        ids[i] = v->ids[tokens[i]];
}

/* Puts ids in the place of the tokens from number `first` on. */
static void name_tokens(const st_vocab *v, st_ids *out, size_t first)
{
    if (out->size > first)
        to_ids(v, out->data + first, out->size - first, out->data + first);
}

static st_status merge_long(st_vocab *v, st_bpe_scratch *s, const uint8_t *text, size_t n, st_ids *out)
{
    const size_t before = out->size, largest = n <= LARGE_WINDOWS_UP_TO ? ST_SHORT_MERGE : ST_SMALL_WINDOW;
    int done;
    ST_TRY(st_merge_windows(v, s->pushing.memo, text, n, largest, out, &done));
    if (done) {
        name_tokens(v, out, before);
        return ST_OK;
    }
    st_open_begin(&s->piece, 1);
    ST_TRY(st_long_piece_push(&s->piece, v, s, text, n, out));
    return st_long_piece_finish(&s->piece, v, out);
}

st_status st_bpe_whole(st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    st_bpe_scratch *s = scratch;
    const size_t before = out->size;
    int done;
    ST_TRY(st_merge_runs(v, text, n, out, &done));
    if (done) {
        name_tokens(v, out, before);
        return ST_OK;
    }
    if (n > ST_SHORT_MERGE)
        return merge_long(v, s, text, n, out);
    ST_TRY(st_ids_reserve(out, n));
    const size_t count = st_merge_short(&v->pairs, text, n, s->tokens);
    to_ids(v, s->tokens, count, out->data + out->size);
    out->size += count;
    return ST_OK;
}

st_status st_bpe_reference(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    const size_t first = out->size;
    const st_status status = st_reference_merge(&v->pairs, text, n, &((st_bpe_scratch *)scratch)->reference, out);
    name_tokens(v, out, first);
    return status;
}

/* The cuts are built when the first piece is long enough to be cut. Until then all words begin as bytes. */
void st_bpe_words(st_vocab *v, st_bpe_scratch *scratch, st_word *words, size_t count, int is_text)
{
    if (!count)
        return;
    st_sure_pairs_prepare(v, count);
    st_tier()->merge_words(v, is_text ? st_vocab_cuts_built(v) : NULL, words, count, scratch->words_room);
}

static st_status merge_words(st_vocab *v, void *scratch, st_word *words, size_t count)
{
    st_bpe_words(v, scratch, words, count, 1);
    return ST_OK;
}

#define FACTS (ST_MODEL_MERGES | ST_MODEL_HAS_BYTES | ST_MODEL_HAS_CUTS | ST_MODEL_KEEPS_BYTES | ST_MODEL_KEEPS_TOKENS)

/* clang-format off */
#define FUNCTIONS \
    .release = st_bpe_release, .words = merge_words, .whole = st_bpe_whole, .reference = st_bpe_reference, \
    .push = st_long_piece_push, .finish = st_long_piece_finish, .previous = st_long_piece_previous, \
    .begin_behind = st_long_piece_begin_behind, .is_reached = st_long_piece_is_reached

const st_model st_model_bpe = {
    .name = "bpe", .facts = FACTS, .holds = ST_HOLD_WHOLE, .scratch = sizeof(st_bpe_scratch), FUNCTIONS,
    .of_fragments = &st_model_characters};

const st_model st_model_characters = {
    .name = "characters", .facts = FACTS, .holds = ST_HOLD_WHOLE, .scratch = sizeof(st_bpe_scratch), FUNCTIONS,
    .spell = st_vocab_spell};
/* clang-format on */
