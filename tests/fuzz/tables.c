/* Tables of patterns by chance: those that st_dfa_new takes have to split any text, however little they mean. */
#include "fuzz.h"
#include "split/dfa_table.h"

#include <string.h>

#define CLASSES_MOST 9
#define STATES_MOST 24
#define OPS_MOST 400
#define BLOCKS 3

static uint8_t index_bytes[2 * 0x110000 / 128], blocks[BLOCKS * 128], entries[4 * CLASSES_MOST * STATES_MOST], ops[2 * OPS_MOST];
static size_t op_count;

static void put_code(unsigned what, unsigned a, unsigned b)
{
    ops[2 * op_count] = (uint8_t)(a | b << 4);
    ops[2 * op_count++ + 1] = (uint8_t)what;
}

/* An op; `last`: it ends a piece here. Now and then one that is none. */
static unsigned random_op(rng *r, unsigned marks, int ends, int last)
{
    const unsigned first = (unsigned)op_count;
    for (size_t left = rng_below(r, 6); left && op_count + 4 < OPS_MOST; left--) {
        unsigned what = 1 + (unsigned)rng_below(r, rng_one_in(r, 500) ? 9 : 7);
        if (!ends && (what <= 3 || what == 7))
            what = 4 + (unsigned)rng_below(r, 3);
        put_code(what, (unsigned)rng_below(r, marks), (unsigned)rng_below(r, marks));
    }
    if (last)
        put_code(3, 0, 0);
    put_code(0, 0, 0);
    return first;
}

static uint32_t random_entry(rng *r, unsigned state, unsigned c, unsigned states, unsigned marks)
{
    uint32_t entry = c ? 1 + (uint32_t)rng_below(r, states - 1) : 0;
    if (rng_one_in(r, 2000))
        return (uint32_t)rng_next(r);
    if (state == 0) { /* sets all marks, so that none is read before */
        if (!c || op_count + marks + 2 > OPS_MOST)
            return entry;
        const uint32_t first = (uint32_t)op_count;
        for (unsigned a = 0; a < marks; a++)
            put_code(5, a, 0);
        put_code(0, 0, 0);
        return entry | first << 16 | 1u << 29;
    }
    if (rng_one_in(r, 4) && op_count + 12 < OPS_MOST)
        return entry | random_op(r, marks, 1, !c) << 16 | 1u << 29;
    if (!c || rng_one_in(r, 3))
        entry |= 1u << 31 | (rng_one_in(r, 6) ? 1u << 28 : 0);
    else if (rng_one_in(r, 40))
        entry |= 1u << 30;
    return entry;
}

static void random_classes(rng *r, unsigned classes)
{
    for (size_t i = 0; i < sizeof index_bytes; i += 2) {
        index_bytes[i] = (uint8_t)(i && rng_one_in(r, 8) ? rng_below(r, BLOCKS) : i ? 1 : 0);
        index_bytes[i + 1] = 0;
    }
    for (size_t i = 0; i < sizeof blocks; i++)
        blocks[i] = (uint8_t)(1 + rng_below(r, classes - 1));
}

/* A good table with one number out of its range is refused, with too little memory too. */
static void check_refused(rng *r, st_dfa_table table)
{
    st_dfa *dfa = NULL;
    uint8_t *changed = NULL, kept = 0;
    switch (rng_below(r, 6)) {
    case 0: table.classes = rng_one_in(r, 2) ? (unsigned)rng_below(r, 2) : ST_DFA_CLASSES + 1 + (unsigned)rng_below(r, 9); break;
    case 1: table.states = rng_one_in(r, 2) ? 0 : ST_DFA_STATES + 1 + (unsigned)rng_below(r, 9); break;
    case 2: table.block_count = rng_one_in(r, 2) ? 0 : sizeof index_bytes / 2 + 1 + rng_below(r, 9); break;
    case 3: table.op_count = ST_DFA_OPS + 1 + rng_below(r, 9); break;
    case 4:
        changed = &blocks[rng_below(r, sizeof blocks)];
        kept = *changed;
        *changed = rng_one_in(r, 2) ? 0 : (uint8_t)(table.classes + rng_below(r, 256 - table.classes));
        break;
    default:
        changed = &index_bytes[rng_below(r, sizeof index_bytes)];
        kept = *changed;
        *changed = (uint8_t)(BLOCKS + rng_below(r, 256 - BLOCKS));
    }
    CHECK(st_dfa_new(&table, &dfa) == ST_BAD_TABLE && !dfa);
    if (changed)
        *changed = kept;
}

static void check_without_memory(const st_dfa_table *table)
{
    st_dfa *dfa = NULL;
    const int64_t live = st_alloc_read().live;
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = 0; status; succeeding = next_failure(succeeding)) {
        CHECK(status == ST_NO_MEMORY && !dfa && st_alloc_read().live == live);
        st_alloc_fail_after(succeeding);
        status = st_dfa_new(table, &dfa);
        st_alloc_fail_after(-1);
    }
    st_dfa_free(dfa);
}

st_dfa *table_random(rng *r)
{
    for (;;) {
        const unsigned classes = 2 + (unsigned)rng_below(r, CLASSES_MOST - 1), states = 2 + (unsigned)rng_below(r, STATES_MOST - 1);
        const unsigned marks = 1 + (unsigned)rng_below(r, rng_one_in(r, 4) ? ST_SCAN_MARKS : 2);
        st_dfa *dfa = NULL;
        op_count = 0;
        random_classes(r, classes);
        put_code(0, 0, 0);
        for (unsigned at = 0; at < classes * states; at++) {
            const uint32_t entry = random_entry(r, at / classes, at % classes, states, marks);
            for (unsigned k = 0; k < 4; k++)
                entries[4 * at + k] = (uint8_t)(entry >> 8 * k);
        }
        const st_dfa_table table = {classes, states, index_bytes, blocks, BLOCKS, entries, ops, op_count};
        const st_status status = st_dfa_new(&table, &dfa);
        CHECK(status == ST_OK || status == ST_BAD_TABLE);
        if (status)
            continue;
        check_refused(r, table);
        if (rng_one_in(r, 10))
            check_without_memory(&table);
        return dfa;
    }
}

static st_dfa *made[ST_SPLIT_FAMILIES];

st_pattern pattern_of(st_split_family family)
{
    if (!made[family] && family != ST_SPLIT_NONE)
        CHECK(st_dfa_of_row(family, &made[family]) == ST_OK);
    return st_pattern_of(family, made[family]);
}

static const st_split_family families[] = {ST_SPLIT_R50K, ST_SPLIT_CL100K, ST_SPLIT_O200K, ST_SPLIT_NONE};

st_pattern pattern_random(rng *r)
{
    return pattern_of(families[rng_below(r, 4)]);
}

void patterns_open(void)
{
    for (int i = 0; i < 4; i++)
        pattern_of(families[i]);
}

void patterns_close(void)
{
    for (int family = 0; family < ST_SPLIT_FAMILIES; family++)
        st_dfa_free(made[family]);
}
