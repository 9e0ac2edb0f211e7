/* scan_state.h - the state of a resumable scan. */
#ifndef ST_SPLIT_SCAN_STATE_H
#define ST_SPLIT_SCAN_STATE_H

#include "split/rows.h"

/* Registers of a compiled pattern: more than any known one needs, which is one. */
#define ST_SCAN_MARKS 8

/* Between two characters. Plain data: copy it, or write out the fields and read them back. Without a pattern all but the length is
 * 0. */
typedef struct st_scan {
    uint64_t length; /* bytes since the start of the open piece; 0: nothing open */
    uint32_t state;  /* of the table (dfa.h) */
    uint32_t memo;   /* bytes of the last character, if it is in the open piece; else 0 */
    uint64_t marks[ST_SCAN_MARKS]; /* places inside the open piece that are still read; else 0 */
} st_scan;

/* One character can make this many pieces final: one at each mark, one in front of the last character, one in front of this one. */
#define ST_SCAN_STEP_ENDS (ST_SCAN_MARKS + 2)
#define ST_SCAN_MIN_CAPACITY (ST_SCAN_STEP_ENDS + 1)

/* Set in the end of a piece that is dropped: one of text that no alternative of a compiled pattern matches. */
#define ST_DROPPED ((uint64_t)1 << 63)

#endif
