/* block_ascii.h - the kinds of 64 bytes of ASCII as masks, on the vectors of a tier (base/vector.h), which is included in front. */
#ifndef ST_SPLIT_BLOCK_ASCII_H
#define ST_SPLIT_BLOCK_ASCII_H

#include "split/block.h"
#include "split/scan_rules.h"

/* Bytes that are not ASCII are in none of the masks. */
ST_FORCE_INLINE void st_classify_ascii(st_vector v, st_block *b)
{
    b->upper = st_vector_in(v, 'A', 26);
    b->lower = st_vector_in(v, 'a', 26);
    b->letter = b->upper | b->lower;
    b->number = st_vector_in(v, '0', 10);
    b->white = st_vector_is(v, ST_BLANK) | st_vector_in(v, '\t', 5);
}

#endif
