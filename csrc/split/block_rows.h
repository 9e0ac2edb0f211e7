/* block_rows.h - the kinds of characters beyond ASCII as masks, by rows of the tables: 64 code points that share all but the last byte.
 * In most scripts a few rows hold a whole block of text. A row is looked up for all bytes of the block; what counts are those that
 * begin a character of that row. The kinds of all rows are collected in one vector, and become masks at the end. */
#ifndef ST_SPLIT_BLOCK_ROWS_H
#define ST_SPLIT_BLOCK_ROWS_H

#include "split/block_masks.h"

typedef char st_rows; /* nothing is remembered between blocks */

/* For each first byte: the second one where the character has three, else 0; and the last one. */
typedef struct st_behind_leads {
    st_vector second, last;
} st_behind_leads;

ST_FORCE_INLINE st_behind_leads st_look_behind(st_vector v)
{
    const st_vector one = st_vector_ahead(v, 1), is_three = st_vector_from(v, 0xE0);
    const st_behind_leads b = {st_vector_and(is_three, one), st_vector_choose(is_three, st_vector_ahead(v, 2), one)};
    return b;
}

/* The 32 bytes of the row of the character at `text`, which has two or three bytes. */
ST_FORCE_INLINE const uint8_t *st_row_of(const uint8_t *text)
{
    const uint32_t lead = text[0], second = text[1] & 0x3Fu, row = lead < 0xE0 ? lead & 0x1F : (lead & 15) << 6 | second;
    const uint32_t place = (uint32_t)st_kind_index[row >> 2] << ST_KIND_SHIFT | (row & 3) << 6;
    return st_kind_blocks + place / 2;
}

/* The kinds of the characters `leads`, at their first bytes. They have two or three bytes, and lie in the block as a whole. */
ST_FORCE_INLINE st_vector st_kinds_by_rows(const uint8_t *text, st_vector v, uint64_t leads)
{
    const st_behind_leads behind = st_look_behind(v);
    const st_vector halves = st_vector_and(st_vector_right(behind.last, 1), st_vector_every(31));
    st_vector pairs = st_vector_every(0); /* a byte of a row has two kinds */
    while (leads) {
        const uint8_t *first = text + st_first_bit(leads);
        const unsigned second = *first < 0xE0 ? 0 : first[1];
        const st_vector same = st_vector_and(st_vector_same(v, *first), st_vector_same(behind.second, second));
        pairs = st_vector_or(pairs, st_vector_and(same, st_vector_entry(halves, st_row_of(first))));
        leads &= ~st_vector_high(same);
    }
    const st_vector odd = st_vector_from(st_vector_left(behind.last, 7), 0x80);
    return st_vector_choose(odd, st_vector_right(pairs, 4), st_vector_and(pairs, st_vector_every(15)));
}

/* Sets the masks of the characters `leads` by their fine kinds. */
ST_FORCE_INLINE void st_add_rows(const st_traits *t, st_vector kinds, uint64_t leads, st_block *found)
{
    st_block row = {0};
    st_masks_of_kinds(t, kinds, &row);
    found->letter |= row.letter & leads;
    found->number |= row.number & leads;
    found->white |= row.white & leads;
    found->mark |= row.mark & leads;
    found->control |= row.control & leads;
    found->upper |= row.upper & leads;
    found->lower |= row.lower & leads;
    found->han |= row.han & leads;
    found->odd |= row.odd & leads;
}

ST_FORCE_INLINE void st_classify_mixed(const st_traits *t, const uint8_t *text, st_vector v, st_rows *rows,
                                       const st_block *before, st_block *b)
{
    const uint64_t tail = st_vector_in(v, 0x80, 64), han = st_find_han(v), cjk = han | st_find_hangul(v);
    const uint64_t leads = b->high & ~tail & ~cjk, three = st_vector_in(v, 0xE0, 16), four = st_vector_in(v, 0xF0, 16);
    const uint64_t whole = leads & ~four & UINT64_MAX >> 1 & ~(three & (uint64_t)1 << 62);
    st_block found = {.letter = cjk, .han = han};
    (void)rows;
    st_classify_ascii(t, v, b);
    b->tail = tail;
    if (whole)
        st_add_rows(t, st_kinds_by_rows(text, v, whole), whole, &found);
    for (uint64_t rest = leads & ~whole; rest; rest &= rest - 1)
        st_add_alone(t, text + st_first_bit(rest), rest & (0 - rest), &found);
    st_spread_masks(t, &found, tail & tail << 1, before, b);
    if (t->apart == ST_APART_KANA)
        b->kana = st_spread(st_find_kana(text, v), tail, tail & tail << 1, before->kana);
}

#endif
