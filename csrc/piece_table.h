/* The piece table: short byte strings and the ids that they are. It holds every token of up to ST_KEY_BYTES bytes, and
 * words that real text repeats, with what merging makes of them; one look-up serves both.
 *
 * Entries are 32 bytes, two to a line of 64, and most look-ups end in the line where they begin: a line knows whether
 * something that belongs there lies further on. What is entered first lies best, so frequent pieces should come early.
 * Thread rule: immutable once filled, any number of readers. */
#ifndef ST_PIECE_TABLE_H
#define ST_PIECE_TABLE_H

#include "buffer.h"
#include "hash.h"

/* Ids that an entry holds itself; of longer results it says where in `more` they are. */
#define ST_INLINE_IDS 4
#define ST_MORE_IDS 5

/* The last byte of key.high is the length (4 bits), the number of ids (3 bits: 0 = free, ST_MORE_IDS = in `more`), and, in
 * the first entry of a line, whether the line has overflowed (1 bit). */
typedef struct st_piece_entry {
    st_key key;
    uint32_t ids[ST_INLINE_IDS]; /* or: place in `more`, count */
} st_piece_entry;

typedef struct st_piece_table {
    st_piece_entry *entries; /* 2 << line_bits */
    st_ids more;
    uint32_t shift; /* 64 - line_bits: a line's number is the top of the hash */
    uint64_t mask;  /* lines - 1 */
} st_piece_table;

/* An empty table for `count` entries. */
st_status st_piece_table_init(st_piece_table *table, size_t count);
void st_piece_table_free(st_piece_table *table);

/* Enters a piece that is not there yet. ST_NO_MEMORY: the table is of no more use. */
st_status st_piece_table_add(st_piece_table *table, st_key key, const uint32_t *ids, size_t count);

static inline uint64_t st_piece_line(const st_piece_table *table, st_key key)
{
    return st_hash_key(key) >> table->shift;
}

/* Ids of an entry that is in use, ST_MORE_IDS for all beyond ST_INLINE_IDS. */
static inline uint32_t st_piece_count(const st_piece_entry *entry)
{
    return (uint32_t)(entry->key.high >> 60) & 7;
}

/* No key matches a free entry: a key has a length. */
static inline int st_piece_matches(const st_piece_entry *entry, st_key key)
{
    return !((entry->key.low ^ key.low) | (entry->key.high ^ key.high) << 4);
}

static inline int st_line_overflowed(const st_piece_entry *line)
{
    return (int)(line->key.high >> 63);
}

/* The entry of the key, or NULL; `line` is where it belongs. */
static inline const st_piece_entry *st_piece_find(const st_piece_table *table, st_key key, uint64_t line)
{
    for (;; line = (line + 1) & table->mask) {
        const st_piece_entry *entry = &table->entries[2 * line];
        if (st_piece_matches(entry, key))
            return entry;
        if (st_piece_matches(entry + 1, key))
            return entry + 1;
        if (!st_line_overflowed(entry))
            return NULL;
    }
}

#endif
