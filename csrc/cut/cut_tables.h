/* cut_tables.h - the tables behind the exact cuts (cuts.h), as the CPU and the GPU read them. */
#ifndef ST_CUT_CUT_TABLES_H
#define ST_CUT_CUT_TABLES_H

#include "base/bits.h"
#include "base/key.h"

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

/* A character, or a part of one, as its bytes in one number; distinct ones differ. 1 <= n <= 4. */
ST_INLINE uint32_t st_char_bits(const uint8_t *text, size_t n)
{
    switch (n) { /* the compiler makes straight code of each */
    case 1: return text[0];
    case 2: return (uint32_t)text[0] << 8 | text[1];
    case 3: return (uint32_t)text[0] << 16 | (uint32_t)text[1] << 8 | text[2];
    default: return (uint32_t)text[0] << 24 | (uint32_t)text[1] << 16 | (uint32_t)text[2] << 8 | text[3];
    }
}

ST_INLINE uint32_t st_cut_hash(uint32_t x, uint32_t y, uint32_t shape)
{
    uint64_t key = ((uint64_t)x << 32 | y) ^ (uint64_t)shape * UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)((key * ST_GOLDEN) >> 32);
}

ST_INLINE unsigned st_table_bit(const uint8_t *bits, uint32_t at)
{
    return bits[at >> 3] >> (at & 7) & 1;
}

/* Do the two characters, as st_char_bits gives them, stand side by side in a token? */
ST_INLINE unsigned st_cut_is_pair(const st_cut_tables *tables, uint32_t left, uint32_t right)
{
    return st_table_bit(tables->pairs, st_cut_hash(left, right, 0) >> tables->pair_shift);
}

ST_INLINE unsigned st_cut_is_ascii_pair(const st_cut_tables *tables, uint32_t left, uint32_t right)
{
    return tables->ascii[4 * left + right / 32] >> (right & 31) & 1;
}

/* Which shapes of partial tokens the bytes on the two sides of a border allow; 0: none reaches over it. */
ST_INLINE unsigned st_cut_shapes(const st_cut_tables *tables, const uint8_t *text, size_t border)
{
    return tables->near[(size_t)text[border - 1] << 8 | text[border]];
}

/* Does a token of one of the shapes reach over the border between the characters text[x..border) and text[border..end)
 * without covering all of both? */
ST_INLINE unsigned st_cut_is_partial(const st_cut_tables *tables, unsigned shapes, const uint8_t *text, size_t x,
                                     size_t border, size_t end)
{
    for (; shapes; shapes &= shapes - 1) {
        const unsigned shape = st_first_bit(shapes);
        size_t a = shape / 4, b = shape % 4;
        if (a >= border - x || b >= end - border)
            continue; /* not a proper part of this character */
        a = a ? a : border - x;
        b = b ? b : end - border;
        const uint32_t hash = st_cut_hash(st_char_bits(text + border - a, a), st_char_bits(text + border, b), shape);
        if (st_table_bit(tables->partials, hash >> tables->partial_shift))
            return 1;
    }
    return 0;
}

/* Is the border between the characters text[x..border) and text[border..end) a cut: one that no token reaches over? */
ST_INLINE int st_cut_is_here(const st_cut_tables *tables, const uint8_t *text, size_t x, size_t border, size_t end)
{
    const uint32_t left = st_char_bits(text + x, border - x), right = st_char_bits(text + border, end - border);
    if ((left | right) < 0x80)
        return !st_cut_is_ascii_pair(tables, left, right);
    if (st_cut_is_pair(tables, left, right))
        return 0;
    const unsigned shapes = st_cut_shapes(tables, text, border);
    return !shapes || !st_cut_is_partial(tables, shapes, text, x, border, end);
}

#endif
