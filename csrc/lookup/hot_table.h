/* The hot table: the pieces looked up lately, in memory that mostly stays in the second-level cache. The piece table holds more
 * in 16 MB. Text repeats a few thousand pieces, so nearly all look-ups end here.
 *
 * Direct mapped: a key has one place, and the last one written stays. It is exact, because an entry holds its whole key.
 * Thread rule: one thread at a time. */
#ifndef ST_LOOKUP_HOT_TABLE_H
#define ST_LOOKUP_HOT_TABLE_H

#include "base/hash.h"
#include "vocab/piece_entry.h"

/* 2^16 entries of 32 bytes: 2 MB, the size of a large second-level cache. Entries that have left the cache are prefetched
 * (first_look.c), so fewer misses gain more than a smaller table would. Tests use fewer entries. */
#ifndef ST_HOT_BITS
#define ST_HOT_BITS 16
#endif

/* The place of one more entry, which is written when nothing is to be kept, so that writing needs no branch. */
#define ST_HOT_NOWHERE ((size_t)1 << ST_HOT_BITS)

/* The most ids of a word in the table: twice those of an entry. */
#define ST_HOT_IDS 8

/* The ids of most words fit into their entry. Further ids lie in an array of their own, so that unused room takes no place in the
 * second-level cache. */
typedef struct st_hot {
    st_piece_entry entries[ST_HOT_NOWHERE + 2];            /* key.high >> 60 is the number of ids, the first of them follow */
    uint32_t last[ST_HOT_NOWHERE + 4][ST_HOT_IDS - ST_INLINE_IDS]; /* of more than ST_INLINE_IDS, the last; they may overlap */
} st_hot; /* whole lines */

/* From a place to its offset in bytes, which vector code uses. */
#define ST_ENTRY_SHIFT 5

static inline const st_piece_entry *st_hot_entry(const st_hot *hot, uint64_t bytes)
{
    return (const st_piece_entry *)(const void *)((const uint8_t *)hot->entries + bytes);
}

/* The hash is one multiplication, which vector code has too; its top bits depend on every byte. One half of the key is rotated:
 * otherwise equal bytes 8 apart, as in text that repeats, would cancel out. */
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
