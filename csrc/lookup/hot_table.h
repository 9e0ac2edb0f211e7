/* The hot table: what an encoder has looked up lately, in memory that mostly stays in the second-level cache. The piece table
 * has everything, but in 16 MB; text repeats a few thousand pieces, and nearly all of its look-ups end here.
 *
 * One place a key, whatever came last: exact, because an entry holds its whole key, and what it answers never changes.
 * Thread rule: one thread at a time. */
#ifndef ST_LOOKUP_HOT_TABLE_H
#define ST_LOOKUP_HOT_TABLE_H

#include "base/hash.h"
#include "vocab/piece_entry.h"

/* 2^16 entries of 32 bytes: 2 MB, as much as a large second-level cache has. What has left that cache is sent for in time
 * (first_look.c), so that fewer misses weigh more than a smaller table. Tests take fewer. */
#ifndef ST_HOT_BITS
#define ST_HOT_BITS 16
#endif

/* One entry more takes what is to be kept nowhere, so that writing needs no branch. */
#define ST_HOT_NOWHERE ((size_t)1 << ST_HOT_BITS)

/* The ids of a word that it knows: twice those of an entry. */
#define ST_HOT_IDS 8

/* Most words have ids for an entry only. The last ones of others lie apart, so that the second-level cache holds no room for
 * what is not there. */
typedef struct st_hot {
    st_piece_entry entries[ST_HOT_NOWHERE + 2];            /* key.high >> 60 is the number of ids, the first of them follow */
    uint32_t last[ST_HOT_NOWHERE + 4][ST_HOT_IDS - ST_INLINE_IDS]; /* of more than ST_INLINE_IDS, the last; they may overlap */
} st_hot; /* whole lines */

/* Vectors know a place by its bytes. */
#define ST_ENTRY_SHIFT 5

static inline const st_piece_entry *st_hot_entry(const st_hot *hot, uint64_t bytes)
{
    return (const st_piece_entry *)(const void *)((const uint8_t *)hot->entries + bytes);
}

/* One multiplication, which vectors have too; its top bits see every byte. Turned, because text repeats itself: bytes 8 apart
 * that are the same would take each other away. */
#define ST_HOT_TURN 21

static inline size_t st_hot_place(st_key key)
{
    const uint64_t turned = key.high << ST_HOT_TURN | key.high >> (64 - ST_HOT_TURN);
    return (size_t)((key.low ^ turned) * ST_GOLDEN >> (64 - ST_HOT_BITS));
}

/* ST_INLINE_IDS of them can be read; count <= ST_INLINE_IDS, unless the place is ST_HOT_NOWHERE. */
static inline void st_hot_put(st_hot *hot, size_t place, st_key key, const uint32_t *ids, size_t count)
{
    st_piece_entry *entry = &hot->entries[place];
    entry->key = (st_key){key.low, key.high | (uint64_t)count << 60};
    memcpy(entry->ids, ids, sizeof entry->ids);
}

/* The same for count <= ST_HOT_IDS. */
static inline void st_hot_put_any(st_hot *hot, st_key key, const uint32_t *ids, size_t count)
{
    const size_t place = st_hot_place(key);
    st_hot_put(hot, place, key, ids, count);
    if (count > ST_INLINE_IDS)
        memcpy(hot->last[place], ids + count - ST_INLINE_IDS, sizeof hot->last[place]);
}

#endif
