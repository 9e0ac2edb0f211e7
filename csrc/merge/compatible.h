/* compatible(left, right): does merging the concatenated bytes of two tokens give these two tokens back? */
#ifndef ST_MERGE_COMPATIBLE_H
#define ST_MERGE_COMPATIBLE_H

#include "vocab/vocab.h"

/* Answers are kept in a memo of 1 << ST_MEMO_BITS entries, direct mapped by the pair: (pair + 1) << 1 | answer, 0 = free. */
#define ST_MEMO_BITS 15

/* 1 yes, 0 no, -1 memory is short. */
int st_compatible(const st_vocab *vocab, uint64_t *memo, uint32_t left, uint32_t right);

#endif
