/* Works out what follows from the arrays of a vocabulary, whether they were built or opened. */
#include "base/alloc.h"
#include "base/hash.h"
#include "vocab/vocab.h"

uint32_t st_vocab_count_unreachable(const st_vocab *v)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < v->count; i++)
        count += (uint32_t)st_token_is_whole_only(v, i);
    return count;
}

static int is_sound(const st_vocab *v, uint32_t part, uint32_t index)
{
    return st_token_length(v, part) == 1 || (part < index && st_token_is_sound(v, part));
}

static st_status find_unsound(st_vocab *v)
{
    if (v->monotone)
        return ST_OK;
    v->unsound = st_calloc(v->count / 64 + 1, sizeof *v->unsound);
    if (!v->unsound)
        return ST_NO_MEMORY;
    for (uint32_t i = 0; i < v->count; i++)
        if (v->left[i] != ST_NONE && !(is_sound(v, v->left[i], i) && is_sound(v, v->right[i], i)))
            v->unsound[i / 64] |= (uint64_t)1 << i % 64;
    return ST_OK;
}

/* Whether a text can hold the byte: UTF-8 never has the others. */
static int is_in_texts(uint8_t byte)
{
    return byte < 0xC0 || (byte > 0xC1 && byte < 0xF5);
}

static void find_fragments(st_vocab *v)
{
    const uint32_t *ids = v->sorted_ids ? v->sorted_ids : v->ids;
    int can_come_up = 0;
    while (v->fragments + 1 < v->count && ids[v->count - v->fragments - 1] >= ST_FIRST_FRAGMENT) {
        const uint32_t at = v->count - ++v->fragments, index = v->by_id ? v->by_id[at] : at;
        can_come_up |= st_token_length(v, index) > 1 || is_in_texts(*st_token_bytes(v, index));
    }
    if (can_come_up && v->model->of_fragments)
        v->model = v->model->of_fragments;
}

st_status st_vocab_complete(st_vocab *v, size_t *bad)
{
    find_fragments(v);
    ST_TRY(find_unsound(v));
    const size_t apart = st_vocab_keeps_apart(v) ? v->count : v->unreachable;
    if (!apart)
        return ST_OK;
    if (st_vocab_count_unreachable(v) != v->unreachable)
        return ST_BAD_IMAGE;
    ST_TRY(st_string_table_init(&v->whole, 4 * apart)); /* nearly every look-up ends at a free slot */
    for (uint32_t i = 0; i < v->count; i++) {
        if (!st_token_is_apart(v, i))
            continue;
        const uint8_t *bytes = st_token_bytes(v, i);
        const size_t n = st_token_length(v, i);
        *bad = i;
        if (st_vocab_find(v, bytes, n) != ST_NONE)
            return ST_DUPLICATE_TOKEN;
        st_string_add(&v->whole, st_hash_span(bytes, n), i);
    }
    return ST_OK;
}
