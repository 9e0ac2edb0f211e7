#include "endless/reference_finality.h"

/* Is text[0..n) the beginning of a longer token? */
static int begins_token(const st_automaton *a, const uint8_t *text, size_t n)
{
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++)
        if (!(node = st_automaton_child(a, node, text[i])))
            return 0;
    return n == 0 || a->nodes[node].live == n;
}

/* Shortens `shared` to what it has in common with the encoding of text[0..n). */
static st_status intersect(const st_vocab *v, const uint8_t *text, size_t n, st_reference_scratch *scratch,
                           st_ids *tokens, const uint32_t *shared, size_t *count)
{
    size_t common = 0;
    tokens->size = 0;
    ST_TRY(st_reference_merge(&v->pairs, text, n, scratch, tokens));
    while (common < *count && common < tokens->size && tokens->data[common] == shared[common])
        common++;
    *count = common;
    return ST_OK;
}

static st_status settle(const st_vocab *v, const st_automaton *a, const uint8_t *text, size_t n, st_ids *tokens,
                        st_reference_scratch *scratch, st_ids *out, size_t *settled)
{
    size_t before = out->size;
    ST_TRY(st_reference_merge(&v->pairs, text, n, scratch, out)); /* the empty rest: the prefix is all of the text */
    size_t count = out->size - before, longest = n < v->max_length ? n : v->max_length;
    for (size_t rest = 1; rest <= longest && count; rest++)
        if (begins_token(a, text + n - rest, rest))
            ST_TRY(intersect(v, text, n - rest, scratch, tokens, out->data + before, &count));
    out->size = before + count;
    *settled = 0;
    for (size_t i = 0; i < count; i++)
        *settled += st_token_length(v, out->data[before + i]);
    return ST_OK;
}

st_status st_reference_settle(const st_vocab *v, const st_automaton *a, const uint8_t *text, size_t n, st_ids *out,
                              size_t *settled)
{
    st_reference_scratch scratch = {0};
    st_ids tokens = {0};
    st_status status = settle(v, a, text, n, &tokens, &scratch, out, settled);
    st_reference_scratch_free(&scratch);
    st_ids_free(&tokens);
    return status;
}
