/* dfa_hot_template.h - st_dfa_hot (dfa_hot.h) for the tier of the file that includes it, after its vectors (base/vector.h), and
 * what differs from tier to tier; block_places.h and dfa_symbols.h have it for most:
 *
 *     st_hot_rows                   what it remembers from one block to the next; all 0 at the beginning
 *     st_put_symbols(dfa, text, v, leads, three, four, rows, made)
 *                                   the symbols of the 64 bytes v at `text`, of whose characters those begin at `leads` that
 *                                   are whole and not ASCII; three, four: bytes from 0xE0, 0xF0 on
 *     st_put_places                 as in block_template.h */
#include "base/bits.h"
#include "base/tier.h"
#include "split/dfa_hot.h"

/* 64 bytes of text on their way. Bit 0 of the masks is text[run->at], where a character begins. */
typedef struct st_hot_block {
    const uint8_t *symbols;
    unsigned size;           /* whole characters in so many bytes */
    uint64_t tail;           /* bytes that do not begin a character */
    uint64_t emit, back, slow;
    uint8_t made[ST_HOT_BYTES];
    uint8_t states[ST_HOT_BYTES + 16]; /* behind byte i: states[16 + i], with its flags */
} st_hot_block;

/* Four steps. The map of all four leads from one state to the fourth behind it. */
#define ST_FOUR_STEPS(i) \
    { \
        const st_map a = ST_STEP_ROW(i), b = ST_STEP_ROW(i + 1), c = ST_STEP_ROW(i + 2), d = ST_STEP_ROW(i + 3); \
        const st_map two = st_map_after(b, a), last_two = st_map_after(d, c), second = st_map_after(two, *state); \
        seen = st_map_put(seen, st_map_after(a, *state), i); \
        seen = st_map_put(seen, second, i + 1); \
        seen = st_map_put(seen, st_map_after(c, second), i + 2); \
        *state = st_map_after(st_map_after(last_two, two), *state); \
        seen = st_map_put(seen, *state, i + 3); \
    }
#define ST_STEP_ROW(i) st_map_load(rows + ST_MAP_SIZE * (size_t)symbols[i])

/* The states behind 16 symbols. */
ST_FORCE_INLINE st_sixteen st_sixteen_steps(const uint8_t *rows, const uint8_t *symbols, st_map *state)
{
    st_sixteen seen = st_no_sixteen();
    ST_FOUR_STEPS(0)
    ST_FOUR_STEPS(4)
    ST_FOUR_STEPS(8)
    ST_FOUR_STEPS(12)
    return seen;
}

/* The symbols of 64 bytes of which some are not ASCII. A character that the last byte cuts waits for the next block. */
ST_FORCE_INLINE void st_make_symbols(const st_dfa *dfa, const uint8_t *text, st_vector v, st_hot_rows *rows, st_hot_block *b)
{
    const uint64_t tail = st_vector_in(v, 0x80, 0x40), three = st_vector_in(v, 0xE0, 0x20), four = st_vector_at_least(v, 0xF0);
    const uint64_t leads = st_vector_at_least(v, 0xC0);
    const unsigned size = ST_HOT_BYTES - (leads >> 63 ? 1u : three >> 62 ? 2u : four >> 61 ? 3u : 0u);
    const uint64_t whole = UINT64_MAX >> (ST_HOT_BYTES - size);
    st_put_symbols(dfa, text, v, leads & whole, three, four & whole, rows, b->made);
    if (size < ST_HOT_BYTES)
        b->made[size] = ST_HOT_NO_STEP;
    b->symbols = b->made;
    b->tail = tail;
    b->size = size < b->size ? size : b->size;
}

ST_FORCE_INLINE void st_read_block(const st_dfa_run *run, st_hot_rows *rows, st_hot_block *b)
{
    const uint8_t *text = run->text + run->at;
    const size_t left = run->n - run->at;
    b->size = left < ST_HOT_BYTES ? (unsigned)left : ST_HOT_BYTES;
    b->symbols = text;
    b->tail = 0;
    st_vector v;
    if (left < ST_HOT_BYTES) {
        memset(b->made, ST_HOT_NO_STEP, sizeof b->made);
        memcpy(b->made, text, left);
        v = st_vector_load(b->made);
        st_make_symbols(run->dfa, text, v, rows, b);
        return;
    }
    v = st_vector_load(text);
    if (!st_vector_any_high(v))
        return;
    st_make_symbols(run->dfa, text, v, rows, b);
}

/* Writes the ends whose bits are set: those here, and those back, a character farther left. In front of the first character stands the
 * one at run->back. */
ST_FORCE_INLINE void st_put_ends(st_dfa_run *run, const st_hot_block *b, uint64_t emit, uint64_t back, uint64_t before)
{
    *run->to = before;
    run->to += back & 1;
    back >>= 1;
    for (int i = 0; i < 3; i++)
        back = (back & ~b->tail) | (back & b->tail) >> 1;
    run->to += st_put_places(emit | back, run->origin + run->at, run->to);
}

static void st_dfa_step_slow(st_dfa_run *run, size_t place, uint64_t here)
{
    const uint32_t entry = run->dfa->entries[place];
    if (entry & ST_DFA_SLOW) {
        st_dfa_step_with_effect(run, place, here);
        return;
    }
    *run->to = run->back | ST_DROPPED;
    run->to += entry >> 30 & 1;
    *run->to = here | ST_DROPPED;
    run->to += entry >> 31;
}

/* The steps with ops, and the ends between them. */
static void st_put_slow(st_dfa_run *run, const st_hot_block *b)
{
    const st_dfa *dfa = run->dfa;
    const uint64_t before = run->back;
    uint64_t left = UINT64_MAX >> (64 - b->size);
    for (uint64_t slow = b->slow; slow; slow &= slow - 1) {
        const uint64_t bit = slow & (0 - slow), below = left & (bit - 1), leads = (bit - 1) & ~b->tail;
        const unsigned at = st_first_bit(slow), symbol = b->symbols[at];
        const unsigned c = symbol < 0x80 ? dfa->ascii[symbol] : symbol - ST_HOT_CLASSES;
        if ((b->emit | b->back) & below)
            st_put_ends(run, b, b->emit & below, b->back & below, before);
        run->back = leads ? run->origin + run->at + st_last_bit(leads) : before;
        st_dfa_step_slow(run, dfa->hot_rows[b->states[15 + at] & (ST_MAP_SIZE - 1)] + c, run->origin + run->at + at);
        left &= ~(bit | (bit - 1));
    }
    st_put_ends(run, b, b->emit & left, b->back & left, before);
}

/* The masks of b->symbols, from `state` on. Returns the state behind them. */
ST_FORCE_INLINE st_map st_walk_block(const st_dfa *dfa, st_map state, st_hot_block *b)
{
    st_sixteen four[4];
    b->states[15] = st_map_first(state);
    for (int i = 0; i < 4; i++)
        four[i] = st_sixteen_steps(dfa->hot, b->symbols + 16 * i, &state);
    const st_vector states = st_join_sixteens(four);
    st_vector_store(b->states + 16, states);
    b->emit = st_vector_bit(states, ST_HOT_EMIT(ST_MAP_SIZE));
    b->back = st_vector_bit(states, ST_HOT_BACK(ST_MAP_SIZE));
    b->slow = st_vector_bit(states, ST_HOT_SLOW(ST_MAP_SIZE));
    return state;
}

static void ST_OF_TIER(st_dfa_hot)(st_dfa_run *run)
{
    const st_dfa *const dfa = run->dfa;
    const unsigned first = dfa->hot_of[run->row];
    st_map state = st_map_all((uint8_t)first);
    st_hot_rows rows = {0};
    st_hot_block b;
    int cold = first == ST_DFA_COLD;
    if (cold)
        return;
    while (!cold && run->n - run->at >= ST_HOT_LEAST && run->to <= run->full - (ST_HOT_ROOM - ST_SCAN_MIN_CAPACITY)) {
        st_read_block(run, &rows, &b);
        state = st_walk_block(dfa, state, &b);
        const uint64_t lost = b.emit & b.back & b.slow;
        if (lost) {
            b.size = st_first_bit(lost);
            state = st_map_all(b.states[15 + b.size]);
            cold = 1;
            if (b.size == 0)
                break;
        }
        const uint64_t whole = UINT64_MAX >> (ST_HOT_BYTES - b.size);
        b.emit &= whole;
        b.back &= whole;
        b.slow &= whole;
        if (b.slow)
            st_put_slow(run, &b);
        else
            st_put_ends(run, &b, b.emit, b.back, run->back);
        run->back = run->origin + run->at + st_last_bit(whole & ~b.tail);
        run->at += b.size;
    }
    run->row = dfa->hot_rows[st_map_first(state) & (ST_MAP_SIZE - 1)];
}
