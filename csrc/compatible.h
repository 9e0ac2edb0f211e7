/* compatible(left, right): does merging the concatenated bytes of two tokens give these two tokens back? */
#ifndef ST_COMPATIBLE_H
#define ST_COMPATIBLE_H

#include "vocab.h"

/* 1 yes, 0 no, -1 memory is short. memo has 1 << ST_MEMO_BITS entries (long_piece.h). */
int st_compatible(const st_vocab *vocab, uint64_t *memo, uint32_t left, uint32_t right);

#endif
