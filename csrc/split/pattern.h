/* pattern.h - what splits a text: the row of a pattern (rows.h), the table of a compiled pattern, or both. A value, passed by copy.
 *
 * With a row, blocks find the pieces, 64 bytes at a time. What they cannot decide, short texts and open pieces are left to the table,
 * or in the first three rows, where there is none, to the machine of scan_rules.h. */
#ifndef ST_SPLIT_PATTERN_H
#define ST_SPLIT_PATTERN_H

#include "split/scan_state.h"

typedef struct st_dfa st_dfa; /* split/dfa.h */

typedef struct st_pattern {
    st_split_family family;
    const st_dfa *dfa; /* not owned; NULL: none, which only the families with a machine can do without, and ST_SPLIT_NONE */
} st_pattern;

/* The pattern of a family with a machine, or none. */
ST_INLINE st_pattern st_pattern_of(st_split_family family)
{
    const st_pattern pattern = {family, NULL};
    return pattern;
}

/* A compiled pattern. `row`: the row that splits as the table does; ST_SPLIT_TABLE: none. */
ST_INLINE st_pattern st_pattern_of_table(st_split_family row, const st_dfa *dfa)
{
    const st_pattern pattern = {row, dfa};
    return pattern;
}

#endif
