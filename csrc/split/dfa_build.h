/* dfa_build.h - the parts of st_dfa_new (dfa.h): a table is read (dfa_read.c), and what follows from it found (dfa_facts.c,
 * dfa_hot.c). */
#ifndef ST_SPLIT_DFA_BUILD_H
#define ST_SPLIT_DFA_BUILD_H

#include "base/status.h"
#include "split/dfa_table.h"

/* Every mark stays as it is. */
static const st_dfa_effect st_dfa_no_effect = {.marks = {0, 1, 2, 3, 4, 5, 6, 7}};

/* The effect of entry number `at`, if it is one of flags alone, too. */
static inline st_dfa_effect st_dfa_effect_at(const st_dfa *dfa, size_t at)
{
    const uint32_t entry = dfa->entries[at];
    uint8_t drop = entry & ST_DFA_DROP ? ST_END_DROPS : 0;
    st_dfa_effect effect = st_dfa_no_effect;
    if (entry & ST_DFA_SLOW)
        return dfa->effects[dfa->effect_of[at]];
    if (entry & ST_DFA_BACK)
        effect.ends[effect.end_count++] = (uint8_t)(ST_FROM_BACK | drop);
    if (entry & ST_DFA_EMIT)
        effect.ends[effect.end_count++] = (uint8_t)(ST_FROM_HERE | drop);
    return effect;
}

static inline uint32_t st_dfa_next_at(const st_dfa *dfa, size_t entry)
{
    return (dfa->entries[entry] & ST_DFA_ROW) / dfa->classes;
}

/* Sets `about` and `sync`. ST_BAD_TABLE: the entries cannot be those of a pattern. */
st_status st_dfa_find_facts(st_dfa *dfa);

/* Sets which states are hot, and their rows. */
void st_dfa_find_hot(st_dfa *dfa);

#endif
