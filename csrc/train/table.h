/* table.h - the distinct pieces of the text of a training, each with its count.
 *
 * Pieces of up to ST_KEY_BYTES bytes, nearly all of them, are keys and lie in the table itself. Longer ones lie in a second
 * table, their bytes in one growing buffer. A table is written as records (a length, the bytes, a count), and records can be
 * added to a table. That is how the tables of several threads become one, and how a table that has grown too large is written to
 * disk. It is written in shards by the hash of the piece, so a piece is in the same shard each time.
 *
 * Thread rule: one thread at a time. ST_NO_MEMORY leaves a table that can only be freed. */
#ifndef ST_TRAIN_TABLE_H
#define ST_TRAIN_TABLE_H

#include "base/buffer.h"
#include "base/hash.h"

/* A place is free while its count is 0. */
typedef struct st_train_short {
    st_key key;
    uint64_t count;
} st_train_short;

typedef struct st_train_long {
    uint64_t hash;
    size_t start, n; /* in `bytes` */
    uint64_t count;
} st_train_long;

typedef struct st_train_table {
    st_train_short *shorts;
    st_train_long *longs;
    size_t short_count, short_capacity, long_count, long_capacity; /* pieces; places: powers of two, or 0 */
    st_bytes bytes;
} st_train_table;

void st_train_table_free(st_train_table *table); /* and empty again */

/* Memory that the table holds, or will hold for a moment when it next grows, in bytes. */
size_t st_train_table_size(const st_train_table *table);

/* Makes room for so many more short pieces. To be called before st_train_table_find for pieces that may be new. */
st_status st_train_table_grow(st_train_table *table, size_t more_shorts);

/* Counts a piece `count` more times; 1 <= n. */
st_status st_train_table_add(st_train_table *table, const uint8_t *piece, size_t n, uint64_t count);

/* Adds pieces that were counted elsewhere: data[starts[i]..) of lengths[i] bytes, counts[i] times, for i < count.
 * ST_BAD_STATE: one of them lies outside of data[0..n), is empty, or was never seen. */
st_status st_train_table_add_all(st_train_table *table, const uint8_t *data, size_t n, const uint64_t *starts,
                                 const uint32_t *lengths, const uint64_t *counts, size_t count);

/* The place where the key is or belongs. The caller raises its count, and short_count if the count was 0. */
st_train_short *st_train_table_find(st_train_table *table, st_key key, uint64_t hash);

/* The place where a search for this hash begins, to prefetch it. */
static inline const st_train_short *st_train_table_place(const st_train_table *table, uint64_t hash)
{
    return &table->shorts[hash & (table->short_capacity - 1)];
}

/* ---- records ---- */

/* Appends a record. */
st_status st_train_record_write(st_bytes *out, const uint8_t *piece, size_t n, uint64_t count);

typedef struct st_train_record {
    const uint8_t *piece;
    size_t n;
    uint64_t count;
} st_train_record;

/* Reads the record at data[*at] and moves *at behind it. ST_BAD_STATE: there is no whole record. */
st_status st_train_record_read(const uint8_t *data, size_t n, size_t *at, st_train_record *record);

/* Appends the records of all pieces to shards[0..shard_count), by their hash; shard_count is a power of two. */
st_status st_train_table_write(const st_train_table *table, st_bytes *shards, size_t shard_count);

/* Adds the pieces of whole records. ST_BAD_STATE: the data is no such records. */
st_status st_train_table_read(st_train_table *table, const uint8_t *data, size_t n);

#endif
