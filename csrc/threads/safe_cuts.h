/* safe_cuts.h - where a text may be cut so that its slices, each encoded as a text of its own, give the ids of the whole.
 *
 * Such a cut is a sync point (split/scan.h), or, for a text without a pattern, an exact cut (cut/cuts.h) of a vocabulary that has no
 * unreachable tokens: one could be all that is left of a text. It has ordinary, valid text on both sides:
 *
 *   - no name of a special token reaches over it, nor ends within the two characters that a sync point looks back at:
 *     behind an allowed special token a new text begins, and there the two are none of its own;
 *   - bytes that are not UTF-8 are farther away than the longest name, so that what is repaired or dropped there can
 *     neither make nor break a name at the cut, and every fault lies in one slice with all of its bytes.
 *
 * Nothing here allocates or fails; any number of threads may ask. */
#ifndef ST_THREADS_SAFE_CUTS_H
#define ST_THREADS_SAFE_CUTS_H

#include "cut/cuts.h"
#include "special/names.h"

typedef struct st_cut_rules {
    const st_special *allowed, *disallowed; /* NULL = none */
    int trusted;                            /* the text is valid UTF-8 */
    st_vocab *vocab;                        /* of a text without a pattern; NULL: a cut holds in every pattern */
} st_cut_rules;

/* The last such place p in text[0..n), from < p <= until <= n, that is found in the ST_CUT_REACH bytes in front of
 * `until`; 0 if there is none. text[0] need not begin the text, and text[n] need not end it: then keep `from` and
 * `until` st_cut_margin away from the two. */
size_t st_last_cut(const uint8_t *text, size_t n, size_t from, size_t until, const st_cut_rules *rules);

/* How far a cut has to be from the ends of a stretch of a longer text. */
size_t st_cut_margin(const st_cut_rules *rules);

#define ST_CUT_REACH ((size_t)1 << 16)

#endif
