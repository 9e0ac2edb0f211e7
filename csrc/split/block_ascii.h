/* block_ascii.h - the kinds of 64 bytes as masks, on the vectors of a tier (base/vector.h), which is included in front: those of
 * ASCII, and from kinds that were looked up. */
#ifndef ST_SPLIT_BLOCK_ASCII_H
#define ST_SPLIT_BLOCK_ASCII_H

#include "split/block.h"
#include "split/char_kind.h"
#include "split/rows.h"

/* Bytes that are not ASCII are in none of the masks. */
ST_FORCE_INLINE void st_classify_ascii(const st_traits *t, st_vector v, st_block *b)
{
    b->upper = st_vector_in(v, 'A', 26);
    b->lower = st_vector_in(v, 'a', 26);
    b->letter = b->upper | b->lower;
    b->number = st_vector_in(v, '0', 10);
    b->white = st_vector_is(v, ST_BLANK) | st_vector_in(v, '\t', 5);
    if (t->other == ST_OTHER_VISIBLE)
        b->control = (st_vector_in(v, 0, 0x20) & ~b->white) | st_vector_is(v, 0x7F);
}

/* The masks that the row needs, of the bytes whose fine kinds are in `kinds`. Other masks are left alone. */
ST_FORCE_INLINE void st_masks_of_kinds(const st_traits *t, st_vector kinds, st_block *b)
{
    b->letter = st_vector_in(kinds, ST_FINE_UPPER, 4);
    b->number = st_vector_in(kinds, ST_FINE_HAN_NUMBER, st_late_numbers(t) ? 3 : 2);
    b->white = st_vector_in(kinds, ST_FINE_SPACE, 2);
    if (t->word == ST_WORD_CASE) {
        b->upper = st_vector_is(kinds, ST_FINE_UPPER);
        b->lower = st_vector_is(kinds, ST_FINE_LOWER);
    }
    if (st_has_marks(t)) /* marks of Han are in no word where Han is apart */
        b->mark = t->han ? st_vector_is(kinds, ST_FINE_MARK) : st_vector_in(kinds, ST_FINE_MARK, 2);
    if (t->other == ST_OTHER_VISIBLE)
        b->control = st_vector_in(kinds, ST_FINE_LATE, 2);
    if (t->han) {
        b->han = st_vector_is(kinds, ST_FINE_HAN);
        b->odd = st_vector_in(kinds, ST_FINE_HAN_MARK, 2) | st_vector_is(kinds, ST_FINE_HAN_OTHER);
    }
}

/* First bytes of U+4E00-9FA5 and U+3040-30FF. Two bytes may be read behind the block where a character goes on there. */
ST_FORCE_INLINE uint64_t st_find_kana(const uint8_t *text, st_vector v)
{
    const uint64_t whole = UINT64_MAX >> 2; /* a character that starts here ends in the block */
    const uint64_t e3 = st_vector_is(v, 0xE3), e4 = st_vector_is(v, 0xE4), e9 = st_vector_is(v, 0xE9);
    const uint64_t be = st_vector_is(v, 0xBE) >> 1 & st_vector_in(v, 0x80, 0x26) >> 2;
    uint64_t found = st_vector_in(v, 0xE5, 4) | (whole & ((e3 & st_vector_in(v, 0x81, 3) >> 1) |
                                                          (e4 & st_vector_in(v, 0xB8, 8) >> 1) |
                                                          (e9 & (st_vector_in(v, 0x80, 0x3E) >> 1 | be))));
    for (uint64_t rest = (e3 | e4 | e9) & ~whole; rest; rest &= rest - 1) {
        unsigned size;
        const unsigned at = st_first_bit(rest);
        const uint32_t point = st_utf8_decode(text + at, &size);
        if ((point >= 0x3040 && point <= 0x30FF) || (point >= 0x4E00 && point <= 0x9FA5))
            found |= (uint64_t)1 << at;
    }
    return found;
}

#endif
