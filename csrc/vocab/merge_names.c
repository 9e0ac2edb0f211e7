#include "vocab/merge_names.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"

/* Work of a look-up, in the unit of st_go_on (base/interrupt.h). */
#define LOOK_UP_COSTS 16

/* Merges whose slots are prefetched together. */
#define TOGETHER 64

static st_status enter_all(st_merge_names *names, const uint32_t *lengths, const uint8_t *skip, size_t count, size_t *bad)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = names->bytes + names->starts[i];
        if (i % TOGETHER == 0)
            ST_TRY(st_go_on(TOGETHER * LOOK_UP_COSTS));
        if (skip[i])
            continue;
        const uint64_t hash = st_hash_bytes(bytes, lengths[i]);
        uint64_t *slot = st_string_slot(&names->table, names->bytes, names->starts, hash, bytes, lengths[i]);
        *bad = i;
        if (*slot != UINT64_MAX)
            return ST_DUPLICATE_TOKEN;
        *slot = st_string_entry(hash, (uint32_t)i);
    }
    return ST_OK;
}

st_status st_merge_names_init(st_merge_names *names, const uint8_t *bytes, const uint32_t *lengths, const uint8_t *skip,
                              size_t count, size_t *bad)
{
    size_t at = 0;
    *names = (st_merge_names){.bytes = bytes, .starts = st_malloc((count + 1) * sizeof *names->starts)};
    if (!names->starts)
        return ST_NO_MEMORY;
    for (size_t i = 0; i <= count; at += i < count ? lengths[i] : 0, i++)
        names->starts[i] = (uint32_t)at;
    st_status status = st_string_table_init(&names->table, 2 * count);
    if (!status)
        status = enter_all(names, lengths, skip, count, bad);
    if (status)
        st_merge_names_free(names);
    return status;
}

void st_merge_names_free(st_merge_names *names)
{
    st_free(names->starts);
    st_string_table_free(&names->table);
    names->starts = NULL;
}

static uint32_t found(const st_merge_names *names, uint64_t hash, const uint8_t *bytes, size_t n)
{
    return n ? st_string_find(&names->table, names->bytes, names->starts, hash, bytes, n) : ST_NONE;
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
                st_string_expect(&names->table, hash[i]);
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
