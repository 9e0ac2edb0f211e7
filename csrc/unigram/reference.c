/* The definition of the model, on all of a piece at once. */
#include <math.h>

#include "base/interrupt.h"
#include "base/utf8.h"
#include "unigram/lattice.h"

typedef struct last {
    double sum;
    uint32_t token, size; /* size 0: nothing ends here */
} last;

/* The index of the token that is all of text[0..n). */
static uint32_t token_of(const st_vocab *v, const uint8_t *text, size_t n)
{
    const uint32_t found = st_vocab_find(v, text, n);
    return found != ST_NONE && st_token_length(v, found) == n && !memcmp(st_token_bytes(v, found), text, n) ? found : ST_NONE;
}

static void try_token(const st_unigram *rule, last *ends, size_t at, size_t size, uint32_t token, double score)
{
    const double sum = st_unigram_sum(rule, score, ends[at].sum);
    if (!ends[at + size].size || sum > ends[at + size].sum)
        ends[at + size] = (last){sum, token, (uint32_t)size};
}

static void try_tokens(const st_vocab *v, const uint8_t *text, size_t n, size_t at, last *ends)
{
    const st_unigram *rule = st_unigram_of(v);
    const size_t one = st_utf8_size(text[at]), most = n - at < v->max_length ? n - at : v->max_length;
    for (size_t size = 1; size <= most; size++) {
        const uint32_t token = at + size < n && st_utf8_is_continuation(text[at + size]) ? ST_NONE : token_of(v, text + at, size);
        if (token != ST_NONE)
            try_token(rule, ends, at, size, token, rule->scores[token]);
    }
    if (token_of(v, text + at, one) == ST_NONE)
        try_token(rule, ends, at, one, rule->unknown, rule->unknown_score);
}

static void take_off(const st_unigram *rule, last *ends, size_t at, size_t n)
{
    const double base = ends[at].sum;
    for (size_t i = at; i <= n && fabs(base) > ST_UNIGRAM_RESET; i++)
        if (i == at || ends[i].size)
            ends[i].sum = st_unigram_sum(rule, ends[i].sum, -base);
}

static st_status put(const st_vocab *v, st_ids *out, uint32_t token)
{
    ST_TRY(st_ids_reserve(out, 1));
    out->data[out->size++] = v->ids[token];
    return ST_OK;
}

/* Unknown characters text[0..n): one, or with tokenizers all that are neighbours. again: SentencePiece's are not the first ones. */
static st_status put_unknown(const st_vocab *v, const uint8_t *text, size_t n, int again, st_ids *out)
{
    const st_unigram *rule = st_unigram_of(v);
    const uint32_t token = rule->flags & ST_UNIGRAM_SINGLE ? ST_NONE : token_of(v, text, n);
    int has_bytes = (rule->flags & ST_UNIGRAM_FALLBACK) != 0;
    if (token != ST_NONE)
        return put(v, out, token);
    for (size_t i = 0; i < n; i++)
        has_bytes &= rule->bytes[text[i]] != ST_NONE;
    for (size_t i = 0; i < n && has_bytes; i++)
        ST_TRY(put(v, out, rule->bytes[text[i]]));
    return has_bytes || again ? ST_OK : put(v, out, rule->unknown);
}

static st_status put_all(const st_vocab *v, const uint8_t *text, size_t n, const last *ends, st_ids *sizes, st_ids *out)
{
    const st_unigram *rule = st_unigram_of(v);
    const int single = (rule->flags & ST_UNIGRAM_SINGLE) != 0;
    int again = 0;
    for (size_t at = n; at; at -= ends[at].size) {
        ST_TRY(st_ids_reserve(sizes, 1));
        sizes->data[sizes->size++] = ends[at].size;
    }
    for (size_t at = 0, i = sizes->size; i;) {
        size_t to = at + sizes->data[--i];
        if (ends[to].token != rule->unknown) {
            ST_TRY(put(v, out, ends[to].token));
            again = 0;
        } else {
            while (!single && i && ends[to + sizes->data[i - 1]].token == rule->unknown)
                to += sizes->data[--i];
            ST_TRY(put_unknown(v, text + at, to - at, again, out));
            again = single;
        }
        at = to;
    }
    return ST_OK;
}

st_status st_unigram_reference(const st_vocab *v, const uint8_t *text, size_t n, st_ids *out)
{
    const st_unigram *rule = st_unigram_of(v);
    last *ends = st_calloc(n + 1, sizeof *ends);
    st_ids sizes = {0};
    st_status status = ends ? ST_OK : ST_NO_MEMORY;
    for (size_t at = 0; at < n && !status; at += st_utf8_size(text[at])) {
        if (rule->flags & ST_UNIGRAM_SINGLE)
            take_off(rule, ends, at, n);
        try_tokens(v, text, n, at, ends);
        status = st_go_on(v->max_length * 16);
    }
    if (!status)
        status = put_all(v, text, n, ends, &sizes, out);
    st_free(ends);
    st_ids_free(&sizes);
    return status;
}
