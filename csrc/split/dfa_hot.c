/* Chooses which states of a compiled pattern are hot, and makes the rows of their steps (dfa_hot.h). */
#include "split/dfa_hot.h"

#include "base/tier.h"
#include "split/dfa_build.h"
#include "split/dfa_class.h"

#include <string.h>

/* Steps of the walk below. */
#define STEPS 4096 /* visits are counted with 16 bits */

/* Kinds of characters, and how often the walk draws one of them, in 32 draws. Half of the steps stay in the kind before, so that runs
 * of each kind occur. It is not the text that anyone has: it tells states that any text is in from those that take several rare steps
 * to reach. */
static const struct {
    uint32_t first, last, draws;
} kinds[] = {{'a', 'z', 10},        {'A', 'Z', 2},         {'0', '9', 2},         {' ', ' ', 5},         {'\n', '\n', 2},
             {'!', '/', 3},         {':', '@', 1},         {0x430, 0x44F, 1},     {0x410, 0x42F, 1},     {0x4E00, 0x9FA5, 1},
             {0x3041, 0x3096, 1},   {0x3001, 0x3002, 1},   {0x915, 0x94D, 2}};
#define DRAWS 32

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % below);
}

/* Counts how often a walk through random text is in each state. */
static void walk(const st_dfa *dfa, uint16_t *visits)
{
    uint64_t seed = 0;
    uint32_t state = 0, kind = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        if (draw(&seed, 2)) {
            uint32_t left = draw(&seed, DRAWS);
            for (kind = 0; left >= kinds[kind].draws; kind++)
                left -= kinds[kind].draws;
        }
        const uint32_t point = kinds[kind].first + draw(&seed, 1u + kinds[kind].last - kinds[kind].first);
        state = st_dfa_next_at(dfa, (size_t)state * dfa->classes + st_dfa_class_of_point(dfa, point));
        visits[state]++;
    }
}

/* The states of most visits; where there is room, all of them. */
static unsigned choose(st_dfa *dfa)
{
    uint16_t visits[ST_DFA_STATES] = {0};
    unsigned count = 0;
    if (dfa->states > dfa->hot_size)
        walk(dfa, visits);
    memset(dfa->hot_of, ST_DFA_COLD, (size_t)dfa->states * dfa->classes);
    for (; count < dfa->hot_size && count < dfa->states; count++) {
        uint32_t best = ST_DFA_STATES;
        for (uint32_t s = 0; s < dfa->states; s++)
            if (dfa->hot_of[(size_t)s * dfa->classes] == ST_DFA_COLD && (best == ST_DFA_STATES || visits[s] > visits[best]))
                best = s;
        dfa->hot_of[(size_t)best * dfa->classes] = (uint8_t)count;
        dfa->hot_rows[count] = best * dfa->classes;
    }
    return count;
}

/* The entries of the hot states for characters of class c. */
static void fill_row(const st_dfa *dfa, unsigned count, unsigned c, uint8_t *row)
{
    const unsigned size = dfa->hot_size;
    for (unsigned k = 0; k < count; k++) {
        const uint32_t entry = dfa->entries[dfa->hot_rows[k] + c];
        const unsigned next = dfa->hot_of[entry & ST_DFA_ROW];
        if (next == ST_DFA_COLD)
            continue;
        if (entry & (ST_DFA_SLOW | ST_DFA_DROP))
            row[k] = (uint8_t)(next | 1u << ST_HOT_SLOW(size));
        else
            row[k] = (uint8_t)(next | (entry >> 31) << ST_HOT_EMIT(size) | (entry >> 30 & 1) << ST_HOT_BACK(size));
    }
}

void st_dfa_find_hot(st_dfa *dfa)
{
    const unsigned size = dfa->hot_size = st_tier()->hot_states, count = choose(dfa);
    memset(dfa->hot, (int)ST_HOT_COLD(size), (size_t)256 * size);
    for (unsigned symbol = 0; symbol < 128; symbol++)
        fill_row(dfa, count, dfa->ascii[symbol], dfa->hot + symbol * size);
    for (unsigned symbol = ST_HOT_NO_STEP; symbol < ST_HOT_CLASSES; symbol++)
        for (unsigned k = 0; k < size; k++)
            dfa->hot[symbol * size + k] = (uint8_t)k;
    for (unsigned c = 1; c < dfa->classes && c < ST_HOT_LAST_CLASS; c++)
        fill_row(dfa, count, c, dfa->hot + (ST_HOT_CLASSES + c) * size);
}
