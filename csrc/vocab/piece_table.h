/* The piece table: short byte strings and their ids. It holds every token of up to ST_KEY_BYTES bytes, and words that real text
 * repeats, with the ids that merging gives. One look-up serves both.
 *
 * Entries are 32 bytes, two to a cache line. Most look-ups end in the line where they begin: a line is marked if an entry that
 * belongs there lies in a later line. Entries made first stay in their own line, so frequent pieces should be entered early.
 * Thread rule: immutable once filled, any number of readers. */
#ifndef ST_VOCAB_PIECE_TABLE_H
#define ST_VOCAB_PIECE_TABLE_H

#include "base/buffer.h"
#include "base/hash.h"
#include "vocab/piece_entry.h"

typedef struct st_piece_table {
    st_piece_entry *entries; /* 2 << line_bits */
    st_ids more;
    uint32_t shift; /* 64 - line_bits: a line's number is the top of the hash */
    uint64_t mask;  /* lines - 1 */
} st_piece_table;

/* How many entries the table holds that is made for `count` entries. */
size_t st_piece_table_room(size_t count);

/* An empty table for `count` entries. */
st_status st_piece_table_init(st_piece_table *table, size_t count);
void st_piece_table_free(st_piece_table *table);

/* Enters a piece that is not there yet. ST_NO_MEMORY: the table can only be freed. */
st_status st_piece_table_add(st_piece_table *table, st_key key, const uint32_t *ids, size_t count);

static inline uint64_t st_piece_line(const st_piece_table *table, st_key key)
{
    return st_hash_key(key) >> table->shift;
}

/* The entry of the key, or NULL. `line` is the line where it belongs. */
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
