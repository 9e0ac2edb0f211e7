/* piece_entry.h - an entry of the piece table (piece_table.h), as the CPU and the GPU read it. */
#ifndef ST_VOCAB_PIECE_ENTRY_H
#define ST_VOCAB_PIECE_ENTRY_H

#include "base/key.h"

/* Ids that an entry holds itself. For more ids it holds their place in `more`. */
#define ST_INLINE_IDS 4
#define ST_MORE_IDS 5

/* The last byte of key.high is the length (4 bits), the number of ids (3 bits: 0 = free, ST_MORE_IDS = in `more`), and, in
 * the first entry of a line, whether the line has overflowed (1 bit). */
typedef struct st_piece_entry {
    st_key key;
    uint32_t ids[ST_INLINE_IDS]; /* or: place in `more`, count */
} st_piece_entry;

/* The number of ids of an entry in use; ST_MORE_IDS if there are more than ST_INLINE_IDS. */
ST_INLINE uint32_t st_piece_count(const st_piece_entry *entry)
{
    return (uint32_t)(entry->key.high >> 60) & 7;
}

/* No key matches a free entry: a key has a length. */
ST_INLINE int st_piece_matches(const st_piece_entry *entry, st_key key)
{
    return !((entry->key.low ^ key.low) | (entry->key.high ^ key.high) << 4);
}

ST_INLINE int st_line_overflowed(const st_piece_entry *line)
{
    return (int)(line->key.high >> 63);
}

#endif
