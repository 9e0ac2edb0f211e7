/* Few bytes, each over and over, as in a ruler of dashes or a megabyte of blanks, merged as counted runs of equal tokens: a few
 * dozen steps whatever their length. */
#ifndef ST_MERGE_RUNS_H
#define ST_MERGE_RUNS_H

#include "base/buffer.h"
#include "vocab/vocab.h"

/* Appends the tokens of text[0..n), n > 0, by merging alone. *done = 0, and nothing appended, where the text has more than a few
 * runs, where the vocabulary does not allow it (not monotone), or where the runs become too many. */
st_status st_merge_runs(const st_vocab *vocab, const uint8_t *text, size_t n, st_ids *tokens, int *done);

#endif
