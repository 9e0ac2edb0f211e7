#include "train/table.h"

#include "base/atomic.h"

#define LEAST_CAPACITY ((size_t)1 << 10)

void st_train_table_free(st_train_table *table)
{
    st_free(table->shorts);
    st_free(table->longs);
    st_bytes_free(&table->bytes);
    memset(table, 0, sizeof *table);
}

/* While places are doubled, the old and the new ones exist, together three times the old. Only one kind grows at a time. */
size_t st_train_table_size(const st_train_table *table)
{
    const size_t shorts = table->short_capacity * sizeof *table->shorts, longs = table->long_capacity * sizeof *table->longs;
    return 3 * (shorts > longs ? shorts : longs) + (shorts > longs ? longs : shorts) + table->bytes.capacity +
           table->bytes.capacity / 2;
}

/* ---- places ---- */

static st_train_short *find_short(st_train_short *places, size_t capacity, st_key key, uint64_t hash)
{
    size_t at = hash & (capacity - 1);
    while (places[at].count && (places[at].key.low ^ key.low) | (places[at].key.high ^ key.high))
        at = (at + 1) & (capacity - 1);
    return &places[at];
}

st_train_short *st_train_table_find(st_train_table *table, st_key key, uint64_t hash)
{
    return find_short(table->shorts, table->short_capacity, key, hash);
}

static st_train_long *find_long(const st_train_table *table, st_train_long *places, size_t capacity, const uint8_t *piece,
                                size_t n, uint64_t hash)
{
    size_t at = hash & (capacity - 1);
    for (; places[at].count; at = (at + 1) & (capacity - 1)) {
        const st_train_long *place = &places[at];
        if (place->hash == hash && place->n == n && !memcmp(table->bytes.data + place->start, piece, n))
            break;
    }
    return &places[at];
}

/* The number of places for so many pieces: at most five eighths are full. */
static size_t capacity_for(size_t count, size_t capacity)
{
    capacity = capacity ? capacity : LEAST_CAPACITY;
    while (capacity / 8 * 5 < count)
        capacity *= 2;
    return capacity;
}

st_status st_train_table_grow(st_train_table *table, size_t more_shorts)
{
    const size_t capacity = capacity_for(table->short_count + more_shorts, table->short_capacity);
    if (capacity == table->short_capacity)
        return ST_OK;
    if (capacity > SIZE_MAX / 2 / sizeof *table->shorts)
        return ST_NO_MEMORY;
    st_train_short *shorts = st_alloc_table(capacity * sizeof *shorts);
    if (!shorts)
        return ST_NO_MEMORY;
    for (size_t i = 0; i < table->short_capacity; i++)
        if (table->shorts[i].count)
            *find_short(shorts, capacity, table->shorts[i].key, st_hash_key(table->shorts[i].key)) = table->shorts[i];
    st_free(table->shorts);
    table->shorts = shorts;
    table->short_capacity = capacity;
    return ST_OK;
}

static st_status grow_longs(st_train_table *table)
{
    const size_t capacity = capacity_for(table->long_count + 1, table->long_capacity);
    if (capacity == table->long_capacity)
        return ST_OK;
    st_train_long *longs = st_calloc(capacity, sizeof *longs);
    if (!longs)
        return ST_NO_MEMORY;
    for (size_t i = 0; i < table->long_capacity; i++) {
        size_t at = table->longs[i].hash & (capacity - 1);
        if (!table->longs[i].count)
            continue;
        while (longs[at].count)
            at = (at + 1) & (capacity - 1);
        longs[at] = table->longs[i];
    }
    st_free(table->longs);
    table->longs = longs;
    table->long_capacity = capacity;
    return ST_OK;
}

static st_status add_long(st_train_table *table, const uint8_t *piece, size_t n, uint64_t count)
{
    const uint64_t hash = st_hash_bytes(piece, n);
    ST_TRY(grow_longs(table));
    st_train_long *place = find_long(table, table->longs, table->long_capacity, piece, n, hash);
    if (!place->count) {
        const size_t start = table->bytes.size;
        ST_TRY(st_bytes_append(&table->bytes, piece, n));
        *place = (st_train_long){hash, start, n, 0};
        table->long_count++;
    }
    place->count += count;
    return ST_OK;
}

st_status st_train_table_add(st_train_table *table, const uint8_t *piece, size_t n, uint64_t count)
{
    if (n > ST_KEY_BYTES)
        return add_long(table, piece, n, count);
    const st_key key = st_key_of(piece, n);
    ST_TRY(st_train_table_grow(table, 1));
    st_train_short *place = st_train_table_find(table, key, st_hash_key(key));
    table->short_count += !place->count;
    place->key = key;
    place->count += count;
    return ST_OK;
}

st_status st_train_table_add_all(st_train_table *table, const uint8_t *data, size_t n, const uint64_t *starts,
                                 const uint32_t *lengths, const uint64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t start = st_number_read(&starts[i]), times = st_number_read(&counts[i]);
        const uint32_t length = st_read_once(&lengths[i]);
        if (!length || !times || start > n || length > n - start)
            return ST_BAD_STATE;
        ST_TRY(st_train_table_add(table, data + start, length, times));
    }
    return ST_OK;
}

/* ---- records ---- */

/* Seven bits a byte, the lowest first; the last byte has its high bit clear. */
static uint8_t *write_number(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

static int read_number(const uint8_t *data, size_t n, size_t *at, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *at < n && shift < 64; shift += 7) {
        const uint8_t byte = data[(*at)++];
        if (shift == 63 && byte > 1)
            return 0;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return 1;
    }
    return 0;
}

/* Bytes that the longest number takes: 64 bits, seven a byte. */
#define NUMBER_BYTES 10

st_status st_train_record_write(st_bytes *out, const uint8_t *piece, size_t n, uint64_t count)
{
    ST_TRY(st_bytes_reserve(out, n + 2 * NUMBER_BYTES));
    uint8_t *to = write_number(out->data + out->size, n);
    memcpy(to, piece, n);
    to = write_number(to + n, count);
    out->size = (size_t)(to - out->data);
    return ST_OK;
}

st_status st_train_record_read(const uint8_t *data, size_t n, size_t *at, st_train_record *record)
{
    uint64_t length;
    if (!read_number(data, n, at, &length) || length == 0 || length > n - *at)
        return ST_BAD_STATE;
    record->piece = data + *at;
    record->n = (size_t)length;
    *at += (size_t)length;
    return read_number(data, n, at, &record->count) && record->count ? ST_OK : ST_BAD_STATE;
}

/* The shard of a hash. It must not depend on the lowest bits, which choose the place in a table: otherwise the pieces of one shard
 * would fill every n-th place only. */
static size_t shard_of(uint64_t hash, size_t shard_count)
{
    return (size_t)(hash >> 40) & (shard_count - 1);
}

st_status st_train_table_write(const st_train_table *table, st_bytes *shards, size_t shard_count)
{
    for (size_t i = 0; i < table->short_capacity; i++) {
        const st_train_short *place = &table->shorts[i];
        uint8_t piece[16];
        if (!place->count)
            continue;
        st_store64(piece, place->key.low);
        st_store64(piece + 8, place->key.high);
        ST_TRY(st_train_record_write(&shards[shard_of(st_hash_key(place->key), shard_count)], piece, piece[15], place->count));
    }
    for (size_t i = 0; i < table->long_capacity; i++) {
        const st_train_long *place = &table->longs[i];
        if (place->count)
            ST_TRY(st_train_record_write(&shards[shard_of(place->hash, shard_count)], table->bytes.data + place->start,
                                         place->n, place->count));
    }
    return ST_OK;
}

st_status st_train_table_read(st_train_table *table, const uint8_t *data, size_t n)
{
    for (size_t at = 0; at < n;) {
        st_train_record record;
        ST_TRY(st_train_record_read(data, n, &at, &record));
        ST_TRY(st_train_table_add(table, record.piece, record.n, record.count));
    }
    return ST_OK;
}
