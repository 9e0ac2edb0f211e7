/* cut_rule.h - which borders between two characters are exact cuts, and which characters begin as one token: the rules,
 * once for the CPU and the GPU. Vector code (stretch_avx512.h, merge/begin_words_avx512.h) asks the same of many borders at once.
 *
 * A border between the characters X and Y is a cut if no token spans it. A token spans it if it holds X or an end of X, followed
 * by Y or a beginning of Y. Tokens that hold all of X and Y are looked up in one bit set (two ASCII characters in an exact
 * table). Tokens that hold a part of X or Y are looked up in a second one, and only where the two bytes at the border allow
 * such a token. A false hit in a bit set loses a cut; it never changes an id. */
#ifndef ST_CUT_CUT_RULE_H
#define ST_CUT_CUT_RULE_H

#include "base/bits.h"
#include "base/key.h"
#include "cut/cut_tables.h"

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

/* Makes the hashes of one pair of numbers differ by the shape of the token. */
#define ST_CUT_SHAPE_STEP UINT64_C(0xD6E8FEB86659FD93)

/* The hash of what a token holds on the two sides of a border, as st_char_bits gives it. shape: 4 * a + b, as in near[]. */
ST_INLINE uint32_t st_cut_hash(uint32_t x, uint32_t y, uint32_t shape)
{
    uint64_t key = ((uint64_t)x << 32 | y) ^ (uint64_t)shape * ST_CUT_SHAPE_STEP;
    return (uint32_t)((key * ST_GOLDEN) >> 32);
}

ST_INLINE unsigned st_table_bit(const uint8_t *bits, uint32_t at)
{
    return bits[at >> 3] >> (at & 7) & 1;
}

ST_INLINE unsigned st_cut_is_ascii_pair(const st_cut_tables *tables, uint32_t left, uint32_t right)
{
    return tables->ascii[4 * left + right / 32] >> (right & 31) & 1;
}

/* Do the two whole characters, as st_char_bits gives them, stand side by side in a token? */
ST_INLINE unsigned st_cut_is_pair(const st_cut_tables *tables, uint32_t left, uint32_t right)
{
    if ((left | right) < 0x80)
        return st_cut_is_ascii_pair(tables, left, right);
    return st_table_bit(tables->pairs, st_cut_hash(left, right, 0) >> tables->pair_shift);
}

/* The shapes of the tokens that may span the border between these two bytes with a part of a character; 0: none does, the
 * border is CLOSED. */
ST_INLINE unsigned st_cut_shapes(const st_cut_tables *tables, unsigned last, unsigned first)
{
    return tables->near[last << 8 | first];
}

/* Does a token of one of the shapes span the border between the characters text[x..border) and text[border..end) without
 * holding all of both? */
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

/* Is the border between the characters text[x..border) and text[border..end) a cut? `left` and `right` are the two as
 * st_char_bits gives them. */
ST_INLINE unsigned st_cut_is_here(const st_cut_tables *tables, uint32_t left, uint32_t right, const uint8_t *text, size_t x,
                                  size_t border, size_t end)
{
    const unsigned shapes = st_cut_shapes(tables, text[border - 1], text[border]);
    unsigned cut = !st_cut_is_pair(tables, left, right);
    if (shapes & (0 - cut)) /* one branch, seldom taken: one on `cut` alone would be mispredicted often */
        cut = !st_cut_is_partial(tables, shapes, text, x, border, end);
    return cut;
}

/* The token that a character begins as, ST_NONE: it begins as its bytes. `open`: the shapes of both its borders, ored.
 *
 * Between closed borders no token holds a part of the character and something beside it. So its bytes merge with each other
 * first, and it becomes its token whatever stands beside it. That holds where its token is sound (vocab/vocab.h) and comes before
 * every token that it is a part of: characters[] has no others.
 * A border that is not closed counts as open even if st_cut_is_partial would say no: eight or nine of ten are open. */
ST_INLINE uint32_t st_whole_character(const st_cut_tables *tables, uint32_t code_point, unsigned open)
{
    return ((code_point < 0x10000) & !open) ? tables->characters[code_point] : ST_NONE;
}

#endif
