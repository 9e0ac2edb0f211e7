/* block_rows.h - the kinds of characters beyond ASCII as masks, by rows of the tables: 64 code points that share all but the last byte.
 * In most scripts a few rows hold a whole block of text, and one look-up (st_vector_kinds, base/vector.h) classifies all
 * characters of a row. */
#ifndef ST_SPLIT_BLOCK_ROWS_H
#define ST_SPLIT_BLOCK_ROWS_H

#include "split/block_ascii.h"

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

/* First bytes of letters of Han, which has too many rows to look up: U+4000-9FFF without 4DC0-4DFF. At the very end of the block
 * only those that the first byte decides. */
ST_FORCE_INLINE uint64_t st_find_han(st_vector v)
{
    const uint64_t e4 = st_vector_is(v, 0xE4) & ~(st_vector_is(v, 0xB7) >> 1) & INT64_MAX;
    return st_vector_in(v, 0xE5, 5) | e4;
}

/* The same of Hangul syllables, U+AC00-D77F. */
ST_FORCE_INLINE uint64_t st_find_hangul(st_vector v)
{
    const uint64_t ea = st_vector_is(v, 0xEA) & st_vector_in(v, 0xB0, 16) >> 1;
    const uint64_t ed = st_vector_is(v, 0xED) & st_vector_in(v, 0x80, 0x1E) >> 1;
    return st_vector_in(v, 0xEB, 2) | ea | ed;
}

/* Sets the masks of the characters with the kinds of `alone`, masks by kind. */
ST_FORCE_INLINE void st_add_alone(const st_traits *t, const uint64_t *alone, st_block *found)
{
    found->letter |= alone[ST_FINE_UPPER] | alone[ST_FINE_LOWER] | alone[ST_FINE_CASELESS] | alone[ST_FINE_HAN];
    found->number |= alone[ST_FINE_HAN_NUMBER] | alone[ST_FINE_NUMBER] | (st_late_numbers(t) ? alone[ST_FINE_LATE] : 0);
    found->white |= alone[ST_FINE_SPACE];
    found->mark |= alone[ST_FINE_MARK] | (t->han ? 0 : alone[ST_FINE_HAN_MARK]);
    found->control |= alone[ST_FINE_LATE] | alone[ST_FINE_CONTROL];
    found->upper |= alone[ST_FINE_UPPER];
    found->lower |= alone[ST_FINE_LOWER];
    found->han |= alone[ST_FINE_HAN];
    found->odd |= alone[ST_FINE_HAN_MARK] | alone[ST_FINE_HAN_NUMBER] | alone[ST_FINE_HAN_OTHER];
}

/* Extends the masks of first bytes to the other bytes, as far as the row of traits needs them. */
ST_FORCE_INLINE void st_spread_masks(const st_traits *t, const st_block *found, uint64_t third, const st_block *before,
                                     st_block *b)
{
    const uint64_t tail = b->tail;
    b->letter |= st_spread(found->letter, tail, third, before->letter);
    b->number |= st_spread(found->number, tail, third, before->number);
    b->white |= st_spread(found->white, tail, third, before->white);
    if (st_has_marks(t))
        b->mark |= st_spread(found->mark, tail, third, before->mark);
    if (t->other == ST_OTHER_VISIBLE)
        b->control |= st_spread(found->control, tail, third, before->control);
    if (t->word == ST_WORD_CASE) {
        b->upper |= st_spread(found->upper, tail, third, before->upper);
        b->lower |= st_spread(found->lower, tail, third, before->lower);
    }
    if (t->han) {
        b->han = st_spread(found->han, tail, third, before->han);
        b->odd = st_spread(found->odd, tail, third, before->odd);
    }
}

ST_FORCE_INLINE void st_classify_mixed(const st_traits *t, const uint8_t *text, st_vector v, st_rows *rows,
                                       const st_block *before, st_block *b)
{
    const uint64_t tail = st_vector_in(v, 0x80, 64), han = st_find_han(v), cjk = han | st_find_hangul(v);
    uint64_t leads = b->high & ~tail & ~cjk, alone[ST_FINE_KINDS] = {0};
    st_block found = {.letter = cjk, .han = han};
    (void)rows;
    st_classify_ascii(t, v, b);
    b->tail = tail;
    while (leads) {
        const unsigned at = st_first_bit(leads);
        const uint64_t row = st_classify_row(t, text, v, leads, at, &found);
        leads &= row ? ~row : leads - 1;
        if (row)
            continue;
        unsigned size, kind = st_fine_kind_of(st_utf8_decode(text + at, &size));
        alone[kind] |= (uint64_t)1 << at;
    }
    st_add_alone(t, alone, &found);
    st_spread_masks(t, &found, tail & tail << 1, before, b);
    if (t->apart == ST_APART_KANA)
        b->kana = st_spread(st_find_kana(text, v), tail, tail & tail << 1, before->kana);
}

#endif
