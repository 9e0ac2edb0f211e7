/* The tables of the bundled patterns (rows.h, row_tables.h), in the form that st_dfa_new reads. */
#include "base/alloc.h"
#include "split/dfa.h"
#include "split/char_kind.h"
#include "split/dfa_table.h"
#include "split/row_tables.h"

#include <string.h>

#if ST_KIND_SHIFT != ST_DFA_SHIFT + 1
#error a block of kinds is not two blocks of classes
#endif

#define OF_KINDS (2 * sizeof st_kind_blocks / ST_DFA_BLOCK)
#define OTHERS 2 /* blocks with a character that is listed: ASCII, and that of U+017F */

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* row_tables.h */
typedef struct row_table {
    uint32_t classes, states;
    const uint8_t *kinds;
    const uint16_t *others, *entries, *ops;
    size_t other_count, op_count;
} row_table;

#define ROW(name, family, classes) \
    [family] = {classes, COUNT(name##_entries) / (classes), name##_kinds, name##_others, name##_entries, name##_ops, \
                COUNT(name##_others) / 2, COUNT(name##_ops)},

static const row_table row_tables[] = {ST_EACH_ROW_TABLE(ROW)};

/* The parts of a table. */
typedef struct parts {
    uint8_t index[ST_DFA_INDEX_BYTES];
    uint8_t blocks[(OF_KINDS + OTHERS) * ST_DFA_BLOCK];
    uint8_t entries[4 * 64 * 64], ops[2 * 64];
} parts;

static void put16(uint8_t *to, size_t at, unsigned value)
{
    to[2 * at] = (uint8_t)value;
    to[2 * at + 1] = (uint8_t)(value >> 8);
}

static void put_classes(const row_table *row, parts *p)
{
    uint8_t of_two[256][2]; /* kinds in a byte */
    for (unsigned i = 0; i < 256; i++) {
        of_two[i][0] = (i & 15) < ST_FINE_KINDS ? row->kinds[i & 15] : 0;
        of_two[i][1] = i >> 4 < ST_FINE_KINDS ? row->kinds[i >> 4] : 0;
    }
    for (size_t i = 0; i < sizeof st_kind_blocks; i++)
        memcpy(p->blocks + 2 * i, of_two[st_kind_blocks[i]], 2);
    for (size_t i = 0; i < sizeof st_kind_index; i++) {
        put16(p->index, 2 * i, 2u * st_kind_index[i]);
        put16(p->index, 2 * i + 1, 2u * st_kind_index[i] + 1);
    }
}

/* A block with a character that is listed becomes one of its own. Returns how many blocks there are. */
static size_t put_others(const row_table *row, parts *p)
{
    size_t made = OF_KINDS, last = SIZE_MAX;
    for (size_t i = 0; i < row->other_count; i++) {
        const size_t point = row->others[2 * i], number = point / ST_DFA_BLOCK;
        if (number != last) {
            const size_t from = p->index[2 * number] | (size_t)p->index[2 * number + 1] << 8;
            memcpy(p->blocks + made * ST_DFA_BLOCK, p->blocks + from * ST_DFA_BLOCK, ST_DFA_BLOCK);
            put16(p->index, number, (unsigned)made++);
            last = number;
        }
        p->blocks[(made - 1) * ST_DFA_BLOCK + point % ST_DFA_BLOCK] = (uint8_t)row->others[2 * i + 1];
    }
    return made;
}

static void put_steps(const row_table *row, parts *p)
{
    for (size_t i = 0; i < row->states * row->classes; i++) {
        const unsigned entry = row->entries[i];
        put16(p->entries, 2 * i, entry & 63);
        put16(p->entries, 2 * i + 1, (entry >> 6 & 63) | (entry & 0xF000));
    }
    for (size_t i = 0; i < row->op_count; i++)
        put16(p->ops, i, row->ops[i]);
}

st_status st_dfa_of_row(st_split_family family, st_dfa **dfa)
{
    *dfa = NULL;
    if ((size_t)family >= COUNT(row_tables))
        return ST_BAD_TABLE;
    const row_table *row = &row_tables[family];
    parts *p = st_malloc(sizeof *p);
    if (!p)
        return ST_NO_MEMORY;
    put_classes(row, p);
    const size_t blocks = put_others(row, p);
    put_steps(row, p);
    const st_dfa_table table = {.classes = row->classes, .states = row->states, .index = p->index, .blocks = p->blocks,
                                .block_count = blocks, .entries = p->entries, .ops = p->ops, .op_count = row->op_count};
    const st_status status = st_dfa_new(&table, dfa);
    st_free(p);
    return status;
}
