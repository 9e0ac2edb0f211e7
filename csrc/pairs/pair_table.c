#include "pairs/pair_table.h"

#include <string.h>

#include "base/alloc.h"

/* Most slots in use, in percent: with 40, one bucket in fifty overflows. */
#define PAIRS_FULLEST 40

ST_ALIGNED_64 const uint64_t st_empty_bucket[ST_BUCKET] = {ST_EMPTY_SLOT, ST_EMPTY_SLOT, ST_EMPTY_SLOT, ST_EMPTY_SLOT,
                                                           ST_EMPTY_SLOT, ST_EMPTY_SLOT, ST_EMPTY_SLOT, ST_EMPTY_SLOT};

st_status st_pairs_init(st_pairs *pairs, size_t count, uint32_t dense_side)
{
    uint32_t bits = 4;
    while (((size_t)ST_BUCKET << bits) * PAIRS_FULLEST / 100 < count)
        bits++;
    memset(pairs, 0, sizeof *pairs);
    memset(pairs->byte_token, 0xff, sizeof pairs->byte_token);
    pairs->dense_side = dense_side ? dense_side : ST_DENSE_DEFAULT;
    pairs->shift = 64 - bits;
    pairs->mask = ((uint64_t)1 << bits) - 1;
    pairs->dense = st_calloc((size_t)pairs->dense_side * pairs->dense_side, sizeof *pairs->dense);
    pairs->slots = st_alloc_table(((size_t)ST_BUCKET << bits) * sizeof *pairs->slots);
    if (!pairs->dense || !pairs->slots) {
        st_pairs_free(pairs);
        return ST_NO_MEMORY;
    }
    for (size_t i = 0; i < (size_t)ST_BUCKET << bits; i++)
        pairs->slots[i] = ST_EMPTY_SLOT;
    return ST_OK;
}

void st_pairs_free(st_pairs *pairs)
{
    st_free(pairs->dense);
    st_free(pairs->slots);
    pairs->dense = NULL;
    pairs->slots = NULL;
}

static size_t next_bucket(const st_pairs *pairs, size_t bucket)
{
    return (bucket + 1) & pairs->mask;
}

static size_t bucket_number(const st_pairs *pairs, const uint64_t *bucket)
{
    return (size_t)(bucket - pairs->slots) / ST_BUCKET;
}

void st_pairs_insert(st_pairs *pairs, uint32_t left, uint32_t right, uint32_t merged)
{
    const uint32_t side = pairs->dense_side;
    const uint64_t key = st_pair_key(left, right);
    if (left < side && right < side)
        pairs->dense[(size_t)left * side + right] = merged + 1;
    for (size_t at = bucket_number(pairs, st_pair_bucket(pairs, key));; at = next_bucket(pairs, at)) {
        uint64_t *slots = &pairs->slots[ST_BUCKET * at];
        for (size_t i = 0; i < ST_BUCKET; i++)
            if ((slots[i] | ST_OVERFLOWED) == UINT64_MAX) {
                slots[i] = key | (merged + 1) | (slots[i] & ST_OVERFLOWED);
                return;
            }
        slots[0] |= ST_OVERFLOWED;
    }
}

uint32_t st_pairs_find_further(const st_pairs *pairs, const uint64_t *bucket, uint64_t key)
{
    for (size_t at = bucket_number(pairs, bucket);; at = next_bucket(pairs, at)) {
        const uint64_t *slots = &pairs->slots[ST_BUCKET * at];
        const uint32_t found = st_bucket_find(slots, key);
        if (found || !(slots[0] & ST_OVERFLOWED))
            return found;
    }
}
