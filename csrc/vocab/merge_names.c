#include "vocab/merge_names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/prefetch.h"

/* Work of a look-up, in the unit of st_go_on (base/interrupt.h). */
#define LOOK_UP_COSTS 16

/* Merges whose slots are prefetched together. */
#define TOGETHER 64

static uint64_t *slot_of(const st_merge_names *names, uint64_t hash, const uint8_t *bytes, size_t n)
{
    for (uint64_t at = hash & names->mask;; at = (at + 1) & names->mask) {
        uint64_t *slot = &names->slots[at];
        if (*slot == UINT64_MAX)
            return slot;
        const uint32_t place = (uint32_t)*slot;
        if (*slot >> 32 != hash >> 32 || names->starts[place + 1] - names->starts[place] != n)
            continue;
        if (st_same_bytes(names->bytes + names->starts[place], bytes, n))
            return slot;
    }
}

static st_status enter_all(st_merge_names *names, const uint32_t *lengths, const uint8_t *skip, size_t count, size_t *bad)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = names->bytes + names->starts[i];
        if (i % TOGETHER == 0)
            ST_TRY(st_go_on(TOGETHER * LOOK_UP_COSTS));
        if (skip[i])
            continue;
        const uint64_t hash = st_hash_bytes(bytes, lengths[i]);
        uint64_t *slot = slot_of(names, hash, bytes, lengths[i]);
        *bad = i;
        if (*slot != UINT64_MAX)
            return ST_DUPLICATE_TOKEN;
        *slot = hash >> 32 << 32 | i;
    }
    return ST_OK;
}

st_status st_merge_names_init(st_merge_names *names, const uint8_t *bytes, const uint32_t *lengths, const uint8_t *skip,
                              size_t count, size_t *bad)
{
    size_t slots = 16, at = 0;
    while (slots < 2 * count)
        slots *= 2;
    *names = (st_merge_names){bytes, st_malloc((count + 1) * sizeof *names->starts), st_malloc(slots * sizeof *names->slots),
                              slots - 1};
    if (!names->starts || !names->slots) {
        st_merge_names_free(names);
        return ST_NO_MEMORY;
    }
    for (size_t i = 0; i <= count; at += i < count ? lengths[i] : 0, i++)
        names->starts[i] = (uint32_t)at;
    memset(names->slots, 0xff, slots * sizeof *names->slots);
    st_status status = enter_all(names, lengths, skip, count, bad);
    if (status)
        st_merge_names_free(names);
    return status;
}

void st_merge_names_free(st_merge_names *names)
{
    st_free(names->starts);
    st_free(names->slots);
    names->starts = NULL;
    names->slots = NULL;
}

static uint32_t found(const st_merge_names *names, uint64_t hash, const uint8_t *bytes, size_t n)
{
    return n ? (uint32_t)*slot_of(names, hash, bytes, n) : ST_NONE; /* a free slot reads as ST_NONE */
}

st_status st_merge_names_find(const st_merge_names *names, const uint8_t *bytes, const uint32_t *lengths, size_t count,
                              uint32_t *left, uint32_t *right, uint32_t *made)
{
    uint64_t hashes[3 * TOGETHER];
    for (size_t from = 0, end; from < count; from = end) {
        const uint8_t *at = bytes;
        end = count - from < TOGETHER ? count : from + TOGETHER;
        ST_TRY(st_go_on(3 * TOGETHER * LOOK_UP_COSTS));
        for (size_t m = from; m < end; at += lengths[2 * m] + lengths[2 * m + 1], m++) {
            uint64_t *hash = &hashes[3 * (m - from)];
            hash[0] = st_hash_bytes(at, lengths[2 * m]);
            hash[1] = st_hash_bytes(at + lengths[2 * m], lengths[2 * m + 1]);
            hash[2] = st_hash_bytes(at, lengths[2 * m] + lengths[2 * m + 1]);
            for (int i = 0; i < 3; i++)
                st_prefetch(&names->slots[hash[i] & names->mask]);
        }
        for (size_t m = from; m < end; bytes += lengths[2 * m] + lengths[2 * m + 1], m++) {
            const uint64_t *hash = &hashes[3 * (m - from)];
            const size_t a = lengths[2 * m], b = lengths[2 * m + 1];
            left[m] = found(names, hash[0], bytes, a);
            right[m] = found(names, hash[1], bytes + a, b);
            made[m] = found(names, hash[2], bytes, a + b);
        }
    }
    return ST_OK;
}
