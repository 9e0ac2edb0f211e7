/* One byte over and over, as in a rule of dashes or a megabyte of blanks, merged as counted runs of equal tokens: a few
 * dozen steps whatever its length. */
#ifndef ST_MERGE_RUN_H
#define ST_MERGE_RUN_H

#include "buffer.h"
#include "vocab.h"

/* Is text[0..n) one byte over and over? */
int st_is_run(const uint8_t *text, size_t n);

/* Appends the tokens of n times this byte by merging alone. *done = 0, and nothing appended, where the vocabulary does not
 * allow it (not monotone), or where the runs become too many. */
st_status st_merge_run(const st_vocab *vocab, uint8_t byte, size_t n, st_ids *tokens, int *done);

#endif
