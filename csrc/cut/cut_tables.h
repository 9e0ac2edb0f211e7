/* cut_tables.h - the tables behind the exact cuts (cut_rule.h), as the CPU and the GPU read them. */
#ifndef ST_CUT_CUT_TABLES_H
#define ST_CUT_CUT_TABLES_H

#include "base/portable.h"

#define ST_CUT_BITS 20    /* o200k enters 21,000 pairs: 2 % of 128 KB of bits; smaller sets are folded (build_cuts.c) */
#define ST_CUT_SURE 0x80U /* in the classes of both bytes: a token surely spans the border with a part of a character */

/* The tables as they lie in memory and in an image (image/image.h). */
typedef struct st_cut_tables {
    uint8_t pairs[1u << (ST_CUT_BITS - 3)];
    uint8_t partials[1u << (ST_CUT_BITS - 3)];
    /* Indexed by the last byte of X << 8 | the first byte of Y. Bit 4 * a + b, the SHAPE of a token: some token that spans such
     * a border holds a bytes of X and b bytes of Y, 0 meaning all of it. */
    uint16_t near[1u << 16];
    /* Bit y % 32 of number 4 * x + y / 32: the ASCII characters x and y stand side by side in some token. Exact, unlike the
     * bit sets above, and only 2 KB: in ASCII text every border is looked up. */
    uint32_t ascii[128 * 4];
    /* By code point: the token that a character of two or three bytes is, ST_NONE = none. */
    uint32_t characters[1u << 16];
    /* The same as near[], coarser and for many bytes at once: where near[x << 8 | y] is not 0, left_classes[x] and
     * right_classes[y] have a bit in common. */
    uint8_t left_classes[256], right_classes[256];
    uint8_t pair_shift, partial_shift; /* from a hash to a place in either bit set */
    uint8_t unused[62];
} st_cut_tables;

#endif
