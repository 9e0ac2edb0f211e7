/* block_masks.h - what all tiers but AVX-512 share of characters beyond ASCII (block_rows.h, block_rows_portable.h). */
#ifndef ST_SPLIT_BLOCK_MASKS_H
#define ST_SPLIT_BLOCK_MASKS_H

#include "split/block_ascii.h"

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

/* Sets the masks of one character, whose first byte is that bit. */
ST_FORCE_INLINE void st_add_alone(const st_traits *t, const uint8_t *text, uint64_t bit, st_block *found)
{
    unsigned size;
    const unsigned kind = st_fine_kind_of(st_utf8_decode(text, &size)), set = 1u << kind;
    const unsigned letters = ST_SET(ST_FINE_UPPER) | ST_SET(ST_FINE_LOWER) | ST_SET(ST_FINE_CASELESS) | ST_SET(ST_FINE_HAN);
    const unsigned numbers = ST_SET(ST_FINE_HAN_NUMBER) | ST_SET(ST_FINE_NUMBER) | (st_late_numbers(t) ? ST_SET(ST_FINE_LATE) : 0);
    found->letter |= set & letters ? bit : 0;
    found->number |= set & numbers ? bit : 0;
    found->white |= kind == ST_FINE_SPACE ? bit : 0;
    found->mark |= set & (ST_SET(ST_FINE_MARK) | (t->han ? 0 : ST_SET(ST_FINE_HAN_MARK))) ? bit : 0;
    found->control |= set & (ST_SET(ST_FINE_LATE) | ST_SET(ST_FINE_CONTROL)) ? bit : 0;
    found->upper |= kind == ST_FINE_UPPER ? bit : 0;
    found->lower |= kind == ST_FINE_LOWER ? bit : 0;
    found->han |= kind == ST_FINE_HAN ? bit : 0;
    found->odd |= set & (ST_SET(ST_FINE_HAN_MARK) | ST_SET(ST_FINE_HAN_NUMBER) | ST_SET(ST_FINE_HAN_OTHER)) ? bit : 0;
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

#endif
