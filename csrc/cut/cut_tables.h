/* cut_tables.h - the tables behind the exact cuts (cut_rule.h), as the CPU and the GPU read them. */
#ifndef ST_CUT_CUT_TABLES_H
#define ST_CUT_CUT_TABLES_H

#include "base/portable.h"

#define ST_CUT_BITS 20    /* o200k enters 21,000 pairs: 2 % of 128 KB of bits; smaller sets are folded (build_cuts.c) */
#define ST_CUT_SURE 0x80U /* of the classes of two bytes: a token does reach over the border with a part of a character */

/* The tables as they lie in memory and in an image (image/image.h). */
typedef struct st_cut_tables {
    uint8_t pairs[1u << (ST_CUT_BITS - 3)];
    uint8_t partials[1u << (ST_CUT_BITS - 3)];
    /* Bit 4 * a + b: some token that reaches over a border holds a bytes of X and b of Y, 0 meaning all of it. Indexed by
     * the last byte of X and the first of Y. */
    uint16_t near[1u << 16];
    /* Bit y % 32 of word 4 * x + y / 32: the ASCII characters x and y stand side by side in some token. Exact, unlike the
     * bit sets above, and 2 KB: in ASCII text every border is asked for. */
    uint32_t ascii[128 * 4];
    /* Token that a character of two or three bytes is by itself, ST_NONE = none; by code point. */
    uint32_t characters[1u << 16];
    /* The same as near[], coarser and for many bytes at once: where near[x << 8 | y] is not 0, left_classes[x] and
     * right_classes[y] have a bit in common. */
    uint8_t left_classes[256], right_classes[256];
    uint8_t pair_shift, partial_shift; /* what is left of a hash is a place in the two bit sets */
    uint8_t unused[62];
} st_cut_tables;

#endif
