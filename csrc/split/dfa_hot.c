/* Which states are hot, and the rows of their steps. */
#include "split/dfa_hot.h"

#include "base/dispatch.h"
#include "split/dfa_build.h"

#include <string.h>

/* Steps of the walk below. */
#define STEPS 16384

/* Kinds of ASCII characters, and how often the walk draws one of them, in 16 draws. Half of the steps stay in the kind before, so
 * that runs of each kind occur. It is not the text that anyone has: it tells states that any text is in from those that take several
 * rare steps to reach. */
static const struct {
    uint8_t first, last, draws;
} kinds[] = {{'a', 'z', 7}, {'A', 'Z', 1}, {'0', '9', 1}, {' ', ' ', 3}, {'\n', '\n', 1}, {'!', '/', 2}, {':', '@', 1}};

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % below);
}

/* Counts how often a walk through random ASCII is in each state. */
static void walk(const st_dfa *dfa, uint32_t *visits)
{
    uint64_t seed = 0;
    uint32_t state = 0, kind = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        if (draw(&seed, 2)) {
            uint32_t left = draw(&seed, 16);
            for (kind = 0; left >= kinds[kind].draws; kind++)
                left -= kinds[kind].draws;
        }
        const unsigned byte = kinds[kind].first + draw(&seed, 1u + kinds[kind].last - kinds[kind].first);
        state = st_dfa_next_at(dfa, (size_t)state * dfa->classes + dfa->ascii[byte]);
        visits[state]++;
    }
}

static unsigned choose(st_dfa *dfa)
{
    uint32_t visits[ST_DFA_STATES] = {0};
    unsigned count = 0;
    walk(dfa, visits);
    memset(dfa->hot_of, ST_DFA_HOT, (size_t)dfa->states * dfa->classes);
    for (; count < ST_DFA_HOT; count++) {
        uint32_t best = 0;
        for (uint32_t s = 1; s < dfa->states; s++)
            best = visits[s] > visits[best] ? s : best;
        if (!visits[best])
            break;
        visits[best] = 0;
        dfa->hot_of[(size_t)best * dfa->classes] = (uint8_t)count;
        dfa->hot_rows[count] = best * dfa->classes;
    }
    return count;
}

void st_dfa_find_hot(st_dfa *dfa)
{
    const unsigned count = choose(dfa);
    memset(dfa->hot, 1 << ST_HOT_STOP, 256 * ST_DFA_HOT);
    for (unsigned byte = 0; byte < 128; byte++)
        for (unsigned k = 0; k < count; k++) {
            const size_t at = dfa->hot_rows[k] + dfa->ascii[byte];
            const uint32_t entry = dfa->entries[at];
            const unsigned next = dfa->hot_of[entry & ST_DFA_ROW];
            if (next < ST_DFA_HOT && !(entry & (ST_DFA_SLOW | ST_DFA_DROP)))
                dfa->hot[byte * ST_DFA_HOT + k] = (uint8_t)(next | (entry & ST_DFA_EMIT ? 1u << ST_HOT_EMIT : 0) |
                                                            (entry & ST_DFA_BACK ? 1u << ST_HOT_BACK : 0));
        }
}

ST_STAGE(st_dfa_hot_function, hot_in_use, NULL, st_dfa_hot_neon, st_dfa_hot_avx2, st_dfa_hot_avx2)

st_dfa_hot_function *st_dfa_hot(void)
{
    return hot_in_use();
}
