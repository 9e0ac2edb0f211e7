/* The wide cache: merge results too large for an entry of the workspace's cache, because the span is long (a ruler) or has many
 * ids (blanks, where each is a token). They are few, but merging one takes as long as merging dozens of words, and text repeats
 * them more than anything else.
 *
 * Direct mapped: a hash has one place, and the last one written stays. Thread rule: one thread at a time. */
#ifndef ST_LOOKUP_WIDE_CACHE_H
#define ST_LOOKUP_WIDE_CACHE_H

#include "base/hash.h"

/* Lines of comments are mostly 60 to 100 bytes wide; longer spans, and those of more ids, are merged each time. */
#define ST_WIDE_BYTES 124
#define ST_WIDE_IDS 64

/* 2^8 entries of six lines of memory: 12 MB of code have some 200 kinds of long rulers. */
#define ST_WIDE_BITS 8

typedef struct st_wide_entry {
    uint8_t length; /* 0 = free */
    uint8_t count;
    uint16_t tag; /* further bits of the hash */
    uint8_t bytes[ST_WIDE_BYTES];
    uint32_t ids[ST_WIDE_IDS];
} st_wide_entry;

typedef struct st_wide_cache {
    st_wide_entry entries[1u << ST_WIDE_BITS];
} st_wide_cache;

static inline st_wide_entry *st_wide_entry_of(st_wide_cache *cache, uint64_t hash)
{
    return &cache->entries[hash >> (64 - ST_WIDE_BITS)];
}

/* The entry of text[0..n) with this hash, or NULL. */
static inline const st_wide_entry *st_wide_find(st_wide_cache *cache, uint64_t hash, const uint8_t *text, size_t n)
{
    const st_wide_entry *entry = st_wide_entry_of(cache, hash);
    const int is_it = entry->length == n && entry->tag == (uint16_t)hash && !memcmp(entry->bytes, text, n);
    return is_it ? entry : NULL;
}

/* Keeps the ids of text[0..n), if an entry has room for so many. */
static inline void st_wide_put(st_wide_cache *cache, uint64_t hash, const uint8_t *text, size_t n, const uint32_t *ids,
                               size_t count)
{
    if (n > ST_WIDE_BYTES || count > ST_WIDE_IDS)
        return;
    st_wide_entry *entry = st_wide_entry_of(cache, hash);
    entry->length = (uint8_t)n;
    entry->count = (uint8_t)count;
    entry->tag = (uint16_t)hash;
    memcpy(entry->bytes, text, n);
    memcpy(entry->ids, ids, count * sizeof *ids);
}

#endif
