/* pattern.h - what splits a text: the scanner of a family, or the table of a compiled pattern. A value, passed by copy. */
#ifndef ST_SPLIT_PATTERN_H
#define ST_SPLIT_PATTERN_H

#include "split/scan_state.h"

typedef struct st_dfa st_dfa; /* split/dfa.h */

typedef struct st_pattern {
    st_split_family family;
    const st_dfa *dfa; /* the table of ST_SPLIT_TABLE, not owned; NULL in the families that are written by hand */
} st_pattern;

/* The pattern of a family that is written by hand. */
static inline st_pattern st_pattern_of(st_split_family family)
{
    const st_pattern pattern = {family, NULL};
    return pattern;
}

/* A compiled pattern. */
static inline st_pattern st_pattern_of_table(const st_dfa *dfa)
{
    const st_pattern pattern = {ST_SPLIT_TABLE, dfa};
    return pattern;
}

#endif
