/* scan_state.h - the state of a resumable scan, shared by the C interface (scan.h) and the rules (scan_rules.h). */
#ifndef ST_SPLIT_SCAN_STATE_H
#define ST_SPLIT_SCAN_STATE_H

#include "split/rows.h"

/* Between two characters a scan is in one of these states. What is open is the text since the last final end. */
typedef enum st_scan_state {
    ST_IN_NOTHING,    /* nothing open; 0 */
    ST_IN_WORD,       /* letters may follow; in o200k, a lower-case letter was the last cased one */
    ST_IN_CAPS,       /* o200k: no lower-case letter yet; the point is behind the last caseless letter or mark */
    ST_IN_TICK,       /* o200k: a word (to the point), "'" and perhaps l, v or r: contraction or not */
    ST_IN_FIRST_TICK, /* r50k, cl100k: "'" and perhaps l, v or r: contraction or not */
    ST_IN_NUMBER,     /* numbers may follow */
    ST_IN_ONE,        /* one other character: prefix of a word, first of a run, or alone */
    ST_IN_PUNCT,      /* a run of other characters */
    ST_IN_TAIL,       /* cl100k, o200k: the CR and LF behind such a run */
    ST_IN_WHITE       /* white space; the point is behind the last CR or LF (not in r50k, which has no use for it) */
} st_scan_state;

/* Registers of a compiled pattern: more than any known one needs, which is one.. */
#define ST_SCAN_MARKS 8

/* Plain data: copy it, or write out the fields and read them back. */
typedef struct st_scan {
    uint64_t length; /* bytes since the start of the open piece; 0: nothing open */
    uint64_t point;  /* remembered end inside the open piece, in bytes from its start; 0: none */
    uint32_t state;  /* st_scan_state */
    uint32_t memo;   /* TICK, FIRST_TICK: the last byte, so 0x27 or a letter. NUMBER: how many so far (r50k: 0).
                      * WHITE: bytes of the last character, with ST_LAST_IS_BLANK. Else 0. */
    uint64_t marks[ST_SCAN_MARKS]; /* With a table, whose state is then `state`, and `memo` the bytes of the last character: places inside
                                    * the open piece that are still read. Else 0. */
} st_scan;

/* One character can make this many pieces final: white space that ends behind a line break gives up to two, and the
 * word begun by its last character two more. */
#define ST_SCAN_MIN_CAPACITY 4

/* Set in the end of a piece that is dropped: one of text that no alternative of a compiled pattern matches. */
#define ST_DROPPED ((uint64_t)1 << 63)

#define ST_LAST_IS_BLANK 0x10u /* the last character of the white space is U+0020 */

#endif
