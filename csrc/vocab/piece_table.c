#include "vocab/piece_table.h"

#include "base/alloc.h"

/* Entries may fill this percentage of the places. With more, too many lines overflow. */
#define PIECES_FULLEST 60

static size_t room_of(uint32_t bits)
{
    return ((size_t)2 << bits) * PIECES_FULLEST / 100;
}

static uint32_t bits_for(size_t count)
{
    uint32_t bits = 4;
    while (room_of(bits) < count)
        bits++;
    return bits;
}

size_t st_piece_table_room(size_t count)
{
    return room_of(bits_for(count));
}

st_status st_piece_table_init(st_piece_table *table, size_t count)
{
    const uint32_t bits = bits_for(count);
    *table = (st_piece_table){NULL, {NULL, 0, 0}, 64 - bits, ((uint64_t)1 << bits) - 1};
    table->entries = st_alloc_table(((size_t)2 << bits) * sizeof *table->entries);
    return table->entries ? ST_OK : ST_NO_MEMORY;
}

void st_piece_table_free(st_piece_table *table)
{
    st_free(table->entries);
    table->entries = NULL;
    st_ids_free(&table->more);
}

static st_status set_ids(st_piece_table *table, st_piece_entry *entry, const uint32_t *ids, size_t count)
{
    if (count <= ST_INLINE_IDS) {
        memcpy(entry->ids, ids, count * sizeof *ids);
        entry->key.high |= (uint64_t)count << 60;
        return ST_OK;
    }
    entry->ids[0] = (uint32_t)table->more.size;
    entry->ids[1] = (uint32_t)count;
    ST_TRY(st_ids_reserve(&table->more, count));
    memcpy(table->more.data + table->more.size, ids, count * sizeof *ids);
    table->more.size += count;
    entry->key.high |= (uint64_t)ST_MORE_IDS << 60;
    return ST_OK;
}

st_status st_piece_table_add(st_piece_table *table, st_key key, const uint32_t *ids, size_t count)
{
    uint64_t line = st_piece_line(table, key);
    st_piece_entry *entry = &table->entries[2 * line];
    while (st_piece_count(entry) && st_piece_count(entry + 1)) {
        entry->key.high |= (uint64_t)1 << 63;
        line = (line + 1) & table->mask;
        entry = &table->entries[2 * line];
    }
    entry += st_piece_count(entry) != 0;
    entry->key = key;
    return set_ids(table, entry, ids, count);
}
