/* pattern.h - what splits a text: the table of a compiled pattern (dfa.h), and its row (rows.h) if it has one. A value, passed by copy.
 *
 * With a row, blocks find the pieces, 64 bytes at a time. What they cannot decide, short texts and open pieces are left to the
 * table. */
#ifndef ST_SPLIT_PATTERN_H
#define ST_SPLIT_PATTERN_H

#include "split/scan_state.h"

typedef struct st_dfa st_dfa; /* split/dfa.h */

typedef struct st_pattern {
    st_split_family family; /* the row that splits as the table does; ST_SPLIT_TABLE: none; ST_SPLIT_NONE: no pattern */
    const st_dfa *dfa;      /* not owned; NULL without a pattern */
} st_pattern;

ST_INLINE st_pattern st_pattern_of(st_split_family family, const st_dfa *dfa)
{
    const st_pattern pattern = {family, dfa};
    return pattern;
}

#endif
