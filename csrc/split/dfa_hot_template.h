/* dfa_hot_template.h - st_dfa_hot (dfa_hot.h) for the tier of the file that includes it, after its vectors (base/vector.h) and
 * block_places.h. */
#include "base/dispatch.h"
#include "split/dfa_hot.h"

#define ST_STEP(i) \
    state = st_sixteen_pick(st_sixteen_load(rows + ST_DFA_HOT * (size_t)p.at[i]), state); \
    seen = st_sixteen_push(seen, state)
#define ST_FOUR_STEPS(i) \
    ST_STEP(i); \
    ST_STEP(i + 1); \
    ST_STEP(i + 2); \
    ST_STEP(i + 3)

/* Writes the ends of 64 bytes at most: those here, and those back, which lie one place farther left. The first of the latter may lie
 * in front of the first byte, where a character of several bytes may be. */
ST_FORCE_INLINE void st_put_ends(st_dfa_place *p, uint64_t emit, uint64_t back)
{
    *p->to = p->back;
    p->to += back & 1;
    p->to += st_put_places(emit | back >> 1, p->here, p->to);
}

void ST_OF_TIER(st_dfa_hot)(const st_dfa *dfa, st_dfa_place *place)
{
    const uint8_t *const rows = dfa->hot;
    st_dfa_place p = *place;
    st_sixteen state = st_sixteen_all((uint8_t)p.state), seen = state;
    uint64_t emit = 0, back = 0;
    unsigned used = 0; /* bytes whose ends are in the two masks */
    uint32_t stop = 0;
    while (!stop && p.stop - p.at >= ST_HOT_BYTES && p.to <= p.full) {
        const st_sixteen before = state;
        ST_FOUR_STEPS(0);
        ST_FOUR_STEPS(4);
        ST_FOUR_STEPS(8);
        ST_FOUR_STEPS(12);
        uint64_t here_emit = st_sixteen_bits(seen, ST_HOT_EMIT), here_back = st_sixteen_bits(seen, ST_HOT_BACK);
        unsigned step = ST_HOT_BYTES;
        stop = st_sixteen_bits(seen, ST_HOT_STOP);
        if (stop) {
            step = (unsigned)st_mask_first(stop);
            here_emit &= (1u << step) - 1;
            here_back &= (1u << step) - 1;
            state = step ? st_sixteen_all(st_sixteen_at(seen, step - 1)) : before;
        }
        emit |= here_emit << used;
        back |= here_back << used;
        used += step;
        p.at += step;
        if (used > 48 || stop) {
            st_put_ends(&p, emit, back);
            p.here += used;
            p.back = used ? p.here - 1 : p.back;
            emit = back = used = 0;
        }
    }
    if (used) {
        st_put_ends(&p, emit, back);
        p.here += used;
        p.back = p.here - 1;
    }
    p.state = st_sixteen_at(state, 0) & (ST_DFA_HOT - 1);
    *place = p;
}
