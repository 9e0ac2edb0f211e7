/* WordPiece. Nothing leaves before the end of a word: the text waits, up to one character more than a word may have, which is enough to
 * know that it has too many. */
#include "base/utf8.h"
#include "longest/matcher.h"
#include "models/models.h"
#include "vocab/open.h"

static int has_rule(const st_vocab *v)
{
    const st_wordpiece *rule = st_wordpiece_of(v);
    return v->own_size == sizeof *rule && rule->unknown < v->count && rule->prefix_size <= ST_MOST_PREFIX;
}

static st_status match_words(st_vocab *v, void *scratch, st_word *words, size_t count)
{
    const st_matcher *matcher = st_vocab_word_matcher(v);
    (void)scratch;
    if (matcher)
        st_matcher_words(matcher, words, count);
    return matcher ? ST_OK : ST_NO_MEMORY;
}

static st_status match(st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    const st_matcher *matcher = st_vocab_word_matcher(v);
    (void)scratch;
    return matcher ? st_matcher_word(matcher, v, text, n, out) : ST_NO_MEMORY;
}

static st_status match_reference(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    (void)scratch;
    return st_longest_reference(v, st_wordpiece_of(v), text, n, out);
}

/* Keeps what matters of the word. `state` counts its characters. */
static st_status push(st_open *open, st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    size_t at = 0;
    (void)scratch;
    (void)out;
    for (; at < n; at++) {
        const uint32_t begins = !st_utf8_is_continuation(text[at]);
        if (begins && open->state > st_wordpiece_of(v)->most)
            break;
        open->state += begins;
    }
    return st_open_keep(open, text, at, open->text.size + at);
}

/* A token behind the first one begins with the prefix, which the word does not have. */
static st_status starts(st_vocab *v, const uint8_t *text, size_t n, st_ids *out)
{
    const size_t prefix = st_wordpiece_of(v)->prefix_size, first = out->size;
    ST_TRY(match(v, NULL, text, n, out));
    for (size_t i = first, at = 0; i < out->size; i++) {
        const size_t size = st_token_length(v, st_vocab_index(v, out->data[i]));
        out->data[i] = (uint32_t)at;
        at += i == first ? size : size - prefix;
    }
    return ST_OK;
}

const st_model st_model_wordpiece = {
    .name = "wordpiece",
    .facts = ST_MODEL_KEEPS_TOKENS,
    .holds = ST_HOLD_WHOLE,
    .accepts = has_rule,
    .words = match_words,
    .whole = match,
    .reference = match_reference,
    .push = push,
    .starts = starts,
    .spell = st_vocab_refuse_fragments,
};
