/* dfa_build.h - the parts of st_dfa_new (dfa.h): a table is read (dfa_read.c), and what follows from it found (dfa_facts.c,
 * dfa_hot.c). */
#ifndef ST_SPLIT_DFA_BUILD_H
#define ST_SPLIT_DFA_BUILD_H

#include "base/status.h"
#include "split/dfa_table.h"

/* The effect of an entry, if it is one of flags alone, too. */
st_dfa_effect st_dfa_effect_at(const st_dfa *dfa, size_t entry);

static inline uint32_t st_dfa_next_at(const st_dfa *dfa, size_t entry)
{
    return (dfa->entries[entry] & ST_DFA_ROW) / dfa->classes;
}

/* Sets `about` and `sync`. ST_BAD_TABLE: the entries cannot be those of a pattern. */
st_status st_dfa_find_facts(st_dfa *dfa);

/* Sets which states are hot, and their rows. */
void st_dfa_find_hot(st_dfa *dfa);

#endif
