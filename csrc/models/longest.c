/* Longest match. The pending bytes are those of the matcher's node, and no piece waits: what is certain is known byte by byte, and at
 * little cost. */
#include "longest/matcher.h"
#include "models/models.h"
#include "vocab/open.h"

static st_status match_words(st_vocab *v, void *scratch, st_word *words, size_t count)
{
    const st_matcher *matcher = st_vocab_matcher(v);
    (void)scratch;
    if (matcher)
        st_matcher_words(matcher, words, count);
    return matcher ? ST_OK : ST_NO_MEMORY;
}

static st_status match(st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    const st_matcher *matcher = st_vocab_matcher(v);
    uint32_t node = 0;
    (void)scratch;
    if (!matcher)
        return ST_NO_MEMORY;
    ST_TRY(st_matcher_feed(matcher, v, &node, text, n, out));
    return st_matcher_finish(matcher, v, node, out);
}

static st_status match_reference(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    (void)scratch;
    return st_longest_reference(v, NULL, text, n, out);
}

static st_status push(st_open *open, st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    const st_matcher *matcher = st_vocab_matcher(v);
    (void)scratch;
    if (!matcher)
        return ST_NO_MEMORY;
    ST_TRY(st_matcher_feed(matcher, v, &open->state, text, n, out));
    return st_open_keep(open, text, n, matcher->depths[open->state]);
}

static st_status finish(st_open *open, st_vocab *v, st_ids *out)
{
    const st_matcher *matcher = st_vocab_matcher(v);
    return matcher ? st_matcher_finish(matcher, v, open->state, out) : ST_NO_MEMORY;
}

const st_model st_model_longest = {
    .name = "longest",
    .facts = ST_MODEL_HAS_BYTES | ST_MODEL_HAS_CUTS | ST_MODEL_JOINS | ST_MODEL_KEEPS_BYTES | ST_MODEL_KEEPS_TOKENS,
    .words = match_words,
    .whole = match,
    .reference = match_reference,
    .push = push,
    .finish = finish,
};
