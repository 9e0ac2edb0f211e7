#include "pairs.h"

#include <string.h>

#include "alloc.h"

st_status st_pairs_init(st_pairs *pairs, size_t count, uint32_t dense_side)
{
    uint32_t bits = 6;
    while (((size_t)1 << bits) < 2 * count)
        bits++;
    memset(pairs, 0, sizeof *pairs);
    memset(pairs->byte_token, 0xff, sizeof pairs->byte_token);
    pairs->dense_side = dense_side ? dense_side : ST_DENSE_DEFAULT;
    pairs->shift = 64 - bits;
    pairs->mask = ((uint64_t)1 << bits) - 1;
    pairs->dense = st_calloc((size_t)pairs->dense_side * pairs->dense_side, sizeof *pairs->dense);
    pairs->slots = st_alloc_table(((size_t)1 << bits) * sizeof *pairs->slots);
    if (!pairs->dense || !pairs->slots) {
        st_pairs_free(pairs);
        return ST_NO_MEMORY;
    }
    memset(pairs->slots, 0xff, ((size_t)1 << bits) * sizeof *pairs->slots);
    return ST_OK;
}

void st_pairs_free(st_pairs *pairs)
{
    st_free(pairs->dense);
    st_free(pairs->slots);
    pairs->dense = NULL;
    pairs->slots = NULL;
}

void st_pairs_insert(st_pairs *pairs, uint32_t left, uint32_t right, uint32_t merged)
{
    uint32_t side = pairs->dense_side;
    if (left < side && right < side) {
        pairs->dense[(size_t)left * side + right] = merged + 1;
        return;
    }
    uint64_t key = (uint64_t)left << ST_INDEX_BITS | right;
    uint64_t at = st_pair_slot(pairs, key);
    while (pairs->slots[at] != ST_EMPTY_SLOT)
        at = (at + 1) & pairs->mask;
    pairs->slots[at] = key << (64 - 2 * ST_INDEX_BITS) | merged;
}
