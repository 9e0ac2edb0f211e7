/* block_rows_portable.h - block_rows.h in plain C, where looking up a row takes so long that a few characters are looked up one by
 * one. */
#ifndef ST_SPLIT_BLOCK_ROWS_PORTABLE_H
#define ST_SPLIT_BLOCK_ROWS_PORTABLE_H

#include "split/block_masks.h"

typedef char st_rows; /* nothing is remembered between blocks */

/* Classifies the characters of one row, that of the first of `leads`, at `at`. Sets the masks at their first bytes. Returns the
 * first bytes of the characters of that row that lie in the block as a whole, or 0 if there are too few to be worth it. */
ST_FORCE_INLINE uint64_t st_classify_row(const st_traits *t, const uint8_t *text, st_vector v, uint64_t leads, unsigned at,
                                         st_block *found)
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
    st_block row = {0};
    st_masks_of_kinds(t, kinds, &row);
    found->letter |= row.letter >> (size - 1) & same;
    found->number |= row.number >> (size - 1) & same;
    found->white |= row.white >> (size - 1) & same;
    found->mark |= row.mark >> (size - 1) & same;
    found->control |= row.control >> (size - 1) & same;
    found->upper |= row.upper >> (size - 1) & same;
    found->lower |= row.lower >> (size - 1) & same;
    found->han |= row.han >> (size - 1) & same;
    found->odd |= row.odd >> (size - 1) & same;
    return same;
}

ST_FORCE_INLINE void st_classify_mixed(const st_traits *t, const uint8_t *text, st_vector v, st_rows *rows,
                                       const st_block *before, st_block *b)
{
    const uint64_t tail = st_vector_in(v, 0x80, 64), han = st_find_han(v), cjk = han | st_find_hangul(v);
    uint64_t leads = b->high & ~tail & ~cjk;
    st_block found = {.letter = cjk, .han = han};
    (void)rows;
    st_classify_ascii(t, v, b);
    b->tail = tail;
    while (leads) {
        const unsigned at = st_first_bit(leads);
        const uint64_t row = st_classify_row(t, text, v, leads, at, &found);
        if (!row)
            st_add_alone(t, text + at, (uint64_t)1 << at, &found);
        leads &= row ? ~row : leads - 1;
    }
    st_spread_masks(t, &found, tail & tail << 1, before, b);
    if (t->apart == ST_APART_KANA)
        b->kana = st_spread(st_find_kana(text, v), tail, tail & tail << 1, before->kana);
}

#endif
