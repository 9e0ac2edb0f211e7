/* Two models for tests/models/test_new_model.py. "backwards": from the end of a piece, always the longest token that what is left ends
 * with. So no id is certain before the end, but at a cut. "strictly": the same, but what is left becomes no token as a whole unless it
 * is one byte. So a piece that is a token becomes others, and a border that lies in no token is no cut. */
#include "vocab/vocab.h"

static uint32_t last_token(const st_vocab *v, const uint8_t *text, size_t n)
{
    const size_t most = st_vocab_has(v, ST_MODEL_KEEPS_TOKENS) || n == 1 ? n : n - 1;
    uint32_t last = ST_NONE;
    for (uint32_t i = 0; i < v->count; i++) {
        const size_t size = st_token_length(v, i);
        if (size <= most && !memcmp(text + n - size, st_token_bytes(v, i), size) && (last == ST_NONE || size > st_token_length(v, last)))
            last = i;
    }
    return last;
}

static st_status words(st_vocab *v, void *scratch, st_word *word, size_t count)
{
    (void)scratch;
    for (const st_word *end = word + count; word < end; word++) {
        uint32_t *to = word->tokens + word->n;
        for (size_t left = word->n; left; left -= st_token_length(v, *to))
            *--to = last_token(v, word->text, left);
        word->count = (uint32_t)(word->tokens + word->n - to);
        memmove(word->tokens, to, word->count * sizeof *to);
    }
    return ST_OK;
}

static st_status reference(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    ST_TRY(st_ids_reserve(out, n));
    st_word word = {text, out->data + out->size, (uint32_t)n, 0};
    ST_TRY(words((st_vocab *)(uintptr_t)v, scratch, &word, 1));
    for (size_t i = 0; i < word.count; i++)
        word.tokens[i] = v->ids[word.tokens[i]];
    out->size += word.count;
    return ST_OK;
}

static st_status whole(st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    return reference(v, scratch, text, n, out);
}

const st_model toy_model = {.name = "backwards",
                            .facts = ST_MODEL_HAS_BYTES | ST_MODEL_HAS_CUTS | ST_MODEL_KEEPS_BYTES | ST_MODEL_KEEPS_TOKENS,
                            .words = words,
                            .whole = whole,
                            .reference = reference};

const st_model strict_model = {.name = "strictly",
                               .facts = ST_MODEL_HAS_BYTES | ST_MODEL_KEEPS_BYTES,
                               .words = words,
                               .whole = whole,
                               .reference = reference};
