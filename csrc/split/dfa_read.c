/* Reads the table of a compiled pattern (dfa.h), which comes from outside and is checked. */
#include "base/alloc.h"
#include "base/load.h"
#include "split/dfa.h"
#include "split/dfa_build.h"

#include <string.h>

#define BLOCK_NUMBERS (0x110000u >> ST_DFA_SHIFT)

/* Codes of an op: the high byte. The low one has mark a in bits 0 to 3, mark b in bits 4 to 7. */
enum { OP_END, OP_EMIT_MARK, OP_EMIT_BACK, OP_EMIT_HERE, OP_MOVE, OP_MARK_HERE, OP_MARK_BACK, OP_DROPPED };

static unsigned load16(const uint8_t *bytes)
{
    return bytes[0] | (unsigned)bytes[1] << 8;
}

static uint32_t load32(const uint8_t *bytes)
{
    return load16(bytes) | (uint32_t)load16(bytes + 2) << 16;
}

static uint64_t mixed(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

static uint64_t hash_of(uint64_t hash, const uint8_t *bytes, size_t n)
{
    size_t i = 0;
    for (; n - i >= 8; i += 8)
        hash = mixed(hash, st_load64(bytes + i));
    for (; i < n; i++)
        hash = mixed(hash, bytes[i]);
    return hash;
}

/* A hash of all that decides what the machine does. The classes of characters count, and not which blocks hold them. The sum has
 * products that do not wait for each other. */
static st_status find_identity(st_dfa *dfa, const st_dfa_table *t)
{
    uint64_t hash = hash_of(t->classes, t->entries, (size_t)4 * t->states * t->classes);
    uint64_t *of_blocks = st_malloc(t->block_count * sizeof *of_blocks);
    if (!of_blocks)
        return ST_NO_MEMORY;
    hash = hash_of(hash, t->ops, 2 * t->op_count);
    for (size_t i = 0; i < t->block_count; i++)
        of_blocks[i] = hash_of(0, t->blocks + i * ST_DFA_BLOCK, ST_DFA_BLOCK);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < BLOCK_NUMBERS; i++)
        sum += of_blocks[dfa->index[i]] * (i * UINT64_C(0x9E3779B97F4A7C15) | 1);
    st_free(of_blocks);
    dfa->identity = mixed(hash, sum);
    return ST_OK;
}

/* What the op at ops[number] does, as one effect; 0: it is no op. */
static int read_op(const st_dfa_table *t, size_t number, st_dfa_effect *effect)
{
    unsigned drop = 0;
    *effect = st_dfa_no_effect;
    for (; number < t->op_count; number++) {
        const unsigned code = load16(t->ops + 2 * number), what = code >> 8, a = code & 15, b = code >> 4 & 15;
        const int names_a = what == OP_EMIT_MARK || (what >= OP_MOVE && what <= OP_MARK_BACK);
        const int emits = what >= OP_EMIT_MARK && what <= OP_EMIT_HERE;
        if (what == OP_END)
            return 1;
        if (what > OP_DROPPED || (names_a && a >= ST_SCAN_MARKS) || (what == OP_MOVE && b >= ST_SCAN_MARKS) ||
            (emits && effect->end_count == ST_SCAN_STEP_ENDS))
            return 0;
        if (emits) {
            const unsigned from = what == OP_EMIT_MARK ? effect->marks[a] : what == OP_EMIT_BACK ? ST_FROM_BACK : ST_FROM_HERE;
            effect->ends[effect->end_count++] = (uint8_t)(from | drop);
        }
        drop = what == OP_DROPPED ? ST_END_DROPS : emits ? 0 : drop;
        if (what == OP_MOVE)
            effect->marks[a] = effect->marks[b];
        else if (what == OP_MARK_HERE || what == OP_MARK_BACK)
            effect->marks[a] = what == OP_MARK_HERE ? ST_FROM_HERE : ST_FROM_BACK;
    }
    return 0;
}

/* ---- memory ---- */

/* Gives out the parts of one block, or, without one, only measures. */
typedef struct parts {
    uint8_t *block;
    size_t size;
} parts;

static void *take(parts *p, size_t size)
{
    void *part = p->block ? p->block + p->size : NULL;
    p->size += (size + 63) & ~(size_t)63; /* rows of dfa_hot.h need 16 */
    return part;
}

static void lay_out(st_dfa *dfa, const st_dfa_table *t, parts *p)
{
    const size_t entries = (size_t)t->states * t->classes;
    dfa->entries = take(p, entries * sizeof *dfa->entries);
    dfa->hot = take(p, 256 * ST_DFA_HOT);
    dfa->hot_rows = take(p, ST_DFA_HOT * sizeof *dfa->hot_rows);
    dfa->hot_of = take(p, entries);
    dfa->about = take(p, t->states * sizeof *dfa->about);
    dfa->effects = take(p, t->op_count * sizeof *dfa->effects);
    dfa->effect_of = take(p, entries * sizeof *dfa->effect_of);
    dfa->sync = take(p, (size_t)t->classes * (ST_DFA_CLASSES / 8));
    dfa->index = take(p, BLOCK_NUMBERS * sizeof *dfa->index);
    dfa->blocks = take(p, t->block_count * ST_DFA_BLOCK);
    dfa->whole_rows = take(p, 256);
}

static st_status allocate(st_dfa *dfa, const st_dfa_table *t)
{
    parts p = {NULL, 0};
    lay_out(dfa, t, &p);
    dfa->block = st_calloc(p.size + 64, 1);
    if (!dfa->block)
        return ST_NO_MEMORY;
    p = (parts){(uint8_t *)dfa->block + (64 - (uintptr_t)dfa->block % 64), 0};
    lay_out(dfa, t, &p);
    dfa->size = p.size;
    return ST_OK;
}

/* ---- reading ---- */

static void find_whole_rows(st_dfa *dfa)
{
    for (unsigned row = 0; row < 256; row++) {
        const uint8_t *const low = dfa->blocks + (size_t)dfa->index[2 * row] * ST_DFA_BLOCK;
        const uint8_t *const high = dfa->blocks + (size_t)dfa->index[2 * row + 1] * ST_DFA_BLOCK;
        const int same = !memcmp(low, low + 1, ST_DFA_BLOCK - 1) && !memcmp(low, high, ST_DFA_BLOCK);
        dfa->whole_rows[row] = same ? low[0] : 0;
    }
}

static int read_classes(st_dfa *dfa, const st_dfa_table *t)
{
    memcpy(dfa->blocks, t->blocks, t->block_count * ST_DFA_BLOCK);
    unsigned wrong = 0;
    for (size_t i = 0; i < t->block_count * ST_DFA_BLOCK; i++)
        wrong |= dfa->blocks[i] < 1 || dfa->blocks[i] >= t->classes;
    if (wrong)
        return 0;
    for (size_t i = 0; i < BLOCK_NUMBERS; i++) {
        dfa->index[i] = (uint16_t)load16(t->index + 2 * i);
        if (dfa->index[i] >= t->block_count)
            return 0;
    }
    find_whole_rows(dfa);
    memcpy(dfa->ascii, dfa->blocks + (size_t)dfa->index[0] * ST_DFA_BLOCK, sizeof dfa->ascii);
    return 1;
}

/* Notes which marks an effect uses, and whether it drops. */
static void note_effect(st_dfa *dfa, const st_dfa_effect *effect)
{
    for (uint32_t a = 0; a < ST_SCAN_MARKS; a++)
        if (effect->marks[a] != a && dfa->mark_count <= a)
            dfa->mark_count = a + 1;
    for (unsigned k = 0; k < effect->end_count; k++)
        dfa->drops |= effect->ends[k] & ST_END_DROPS ? 1 : 0;
}

/* The entry, with its effect where it has an op; 0: it is no entry. */
static int read_entry(st_dfa *dfa, const st_dfa_table *t, size_t at)
{
    const uint32_t raw = load32(t->entries + 4 * at), next = raw & 0xFFFF;
    const unsigned number = raw >> 16 & (ST_DFA_OPS - 1);
    const int is_end = at % t->classes == 0;
    st_dfa_effect effect;
    if (next >= t->states || is_end != (next == 0)) /* in state 0 nothing is open, so only the end of the text leads there */
        return 0;
    dfa->entries[at] = next * t->classes | (raw & (ST_DFA_EMIT | ST_DFA_BACK | ST_DFA_SLOW | ST_DFA_DROP));
    if (!(raw & ST_DFA_SLOW)) {
        dfa->drops |= raw & ST_DFA_DROP ? 1 : 0;
        return !(raw & ST_DFA_DROP) || !(raw & ST_DFA_EMIT) || !(raw & ST_DFA_BACK);
    }
    if (number >= t->op_count || !read_op(t, number, &effect))
        return 0;
    dfa->entries[at] &= ST_DFA_ROW | ST_DFA_SLOW;
    dfa->effect_of[at] = (uint16_t)number;
    dfa->effects[number] = effect;
    note_effect(dfa, &effect);
    return 1;
}

static st_status read_table(st_dfa *dfa, const st_dfa_table *t)
{
    if (!read_classes(dfa, t))
        return ST_BAD_TABLE;
    for (size_t at = 0; at < (size_t)t->states * t->classes; at++)
        if (!read_entry(dfa, t, at))
            return ST_BAD_TABLE;
    ST_TRY(find_identity(dfa, t));
    ST_TRY(st_dfa_find_facts(dfa));
    st_dfa_find_hot(dfa);
    return ST_OK;
}

st_status st_dfa_new(const st_dfa_table *t, st_dfa **result)
{
    *result = NULL;
    if (t->classes < 2 || t->classes > ST_DFA_CLASSES || t->states < 1 || t->states > ST_DFA_STATES || !t->block_count ||
        t->block_count > BLOCK_NUMBERS || t->op_count > ST_DFA_OPS)
        return ST_BAD_TABLE;
    st_dfa *dfa = st_calloc(1, sizeof *dfa);
    if (!dfa)
        return ST_NO_MEMORY;
    dfa->classes = t->classes;
    dfa->states = t->states;
    st_status status = allocate(dfa, t);
    if (!status)
        status = read_table(dfa, t);
    if (status)
        st_dfa_free(dfa);
    else
        *result = dfa;
    return status;
}

void st_dfa_free(st_dfa *dfa)
{
    if (dfa)
        st_free(dfa->block);
    st_free(dfa);
}
