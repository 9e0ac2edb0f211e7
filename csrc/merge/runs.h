/* Text of few runs of equal bytes, like a ruler of dashes or a megabyte of blanks, is merged as counted runs of equal tokens. That
 * takes a few dozen steps, whatever its length. */
#ifndef ST_MERGE_RUNS_H
#define ST_MERGE_RUNS_H

#include "base/buffer.h"
#include "vocab/vocab.h"

/* Appends the tokens of text[0..n), n > 0, by merging alone. *done = 0, and nothing is appended, if the text has more than a few
 * runs, if the vocabulary is not monotone, or if merging makes too many runs. */
st_status st_merge_runs(const st_vocab *vocab, const uint8_t *text, size_t n, st_ids *tokens, int *done);

#endif
