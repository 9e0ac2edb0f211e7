/* block_rows.h - the kinds of characters beyond ASCII as masks, by rows: 64 code points that share all but the last byte.
 * In most scripts a few rows hold a whole block of text, and one look-up (st_vector_kinds, base/vector.h) classifies all
 * characters of a row. */
#ifndef ST_SPLIT_BLOCK_ROWS_H
#define ST_SPLIT_BLOCK_ROWS_H

#include "split/block_ascii.h"

typedef char st_rows; /* nothing is remembered between blocks */

/* Classifies the characters of one row, that of the first of `leads`, at `at`. Sets the masks at their first bytes. Returns the
 * first bytes of the characters of that row that lie in the block as a whole, or 0 if there are too few to be worth it. */
ST_FORCE_INLINE uint64_t st_classify_row(st_split_family family, const uint8_t *text, st_vector v, uint64_t leads,
                                         unsigned at, st_block *found)
{
    unsigned size;
    const uint32_t code_point = st_utf8_decode(text + at, &size);
    uint64_t same = leads & st_vector_is(v, text[at]) & UINT64_MAX >> (size - 1);
    if (size == 3)
        same &= st_vector_is(v, text[at + 1]) >> 1;
    uint64_t beyond_three = same & (same - 1);
    beyond_three &= beyond_three - 1;
    if (size > 3 || !(beyond_three & (beyond_three - 1)))
        return 0;
    const uint32_t place = (uint32_t)st_kind_index[code_point >> ST_KIND_SHIFT] << ST_KIND_SHIFT | (code_point & 0xC0);
    const st_vector kinds = st_vector_kinds(v, st_kind_blocks + place / 2);
    found->letter |= st_vector_in(kinds, ST_KIND_UPPER, 3) >> (size - 1) & same;
    found->number |= st_vector_is(kinds, ST_KIND_NUMBER) >> (size - 1) & same;
    found->white |= st_vector_is(kinds, ST_KIND_SPACE) >> (size - 1) & same;
    if (family == ST_SPLIT_O200K) {
        found->upper |= st_vector_is(kinds, ST_KIND_UPPER) >> (size - 1) & same;
        found->lower |= st_vector_is(kinds, ST_KIND_LOWER) >> (size - 1) & same;
        found->mark |= st_vector_is(kinds, ST_KIND_MARK) >> (size - 1) & same;
    }
    return same;
}

/* First bytes of caseless letters of CJK, which have too many rows to look up: U+4000-9FFF without 4DC0-4DFF, and U+AC00-D77F. At
 * the very end of the block only those that the first byte decides. */
ST_FORCE_INLINE uint64_t st_find_cjk(st_vector v)
{
    const uint64_t e4 = st_vector_is(v, 0xE4) & ~(st_vector_is(v, 0xB7) >> 1) & INT64_MAX;
    const uint64_t ea = st_vector_is(v, 0xEA) & st_vector_in(v, 0xB0, 16) >> 1;
    const uint64_t ed = st_vector_is(v, 0xED) & st_vector_in(v, 0x80, 0x1E) >> 1;
    return st_vector_in(v, 0xE5, 5) | st_vector_in(v, 0xEB, 2) | e4 | ea | ed;
}

/* Extends a mask of first bytes to all bytes of their characters. Continuation bytes at the start of the block get the bit of the
 * last byte of the block before. `third`: the continuation bytes behind another continuation byte. */
ST_FORCE_INLINE uint64_t st_spread(uint64_t leads, uint64_t tail, uint64_t third, uint64_t before)
{
    const uint64_t carry = st_carry_of(before), two = leads | (st_behind(leads, carry) & tail);
    return two | ((two << 2 | carry << 1) & third);
}

static void st_classify_mixed(st_split_family family, const uint8_t *text, st_vector v, st_rows *rows,
                              const st_block *before, st_block *b)
{
    const uint64_t tail = st_vector_in(v, 0x80, 64), third = tail & tail << 1, cjk = st_find_cjk(v);
    uint64_t leads = b->high & ~tail & ~cjk, alone[ST_KIND_BEYOND] = {0};
    st_block found = {.letter = cjk};
    (void)rows;
    st_classify_ascii(v, b);
    b->tail = tail;
    while (leads) {
        const unsigned at = st_first_bit(leads);
        const uint64_t row = st_classify_row(family, text, v, leads, at, &found);
        leads &= row ? ~row : leads - 1;
        if (row)
            continue;
        unsigned size, kind = st_kind_of(st_utf8_decode(text + at, &size));
        alone[kind] |= (uint64_t)1 << at;
    }
    found.letter |= alone[ST_KIND_UPPER] | alone[ST_KIND_LOWER] | alone[ST_KIND_CASELESS];
    b->letter |= st_spread(found.letter, tail, third, before->letter);
    b->number |= st_spread(found.number | alone[ST_KIND_NUMBER], tail, third, before->number);
    b->white |= st_spread(found.white | alone[ST_KIND_SPACE], tail, third, before->white);
    if (family != ST_SPLIT_O200K)
        return;
    b->upper |= st_spread(found.upper | alone[ST_KIND_UPPER], tail, third, before->upper);
    b->lower |= st_spread(found.lower | alone[ST_KIND_LOWER], tail, third, before->lower);
    b->mark |= st_spread(found.mark | alone[ST_KIND_MARK], tail, third, before->mark);
}

#endif
