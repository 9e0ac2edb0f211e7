/* block_rows_avx512.h - block_rows.h for AVX-512: the kinds of characters beyond ASCII are looked up before they become masks. */
#include "base/bits.h"
#include "split/block.h"
#include "split/char_kind.h"
#include "split/rows.h"
#include "split/block_ascii.h"
#include "split/block_places_avx512.h"
#include "split/code_points_avx512.h"

/* Characters beyond ASCII are looked up in the blocks of unicode_tables.h, here called rows, of 256 code points. Most texts need
 * two rows, for a script and its punctuation, so the two rows used last are looked up without a branch. */
typedef struct st_rows {
    uint32_t numbers[2]; /* code point >> 8, in each of the four bytes */
    uint32_t blocks[2];  /* of st_kind_blocks */
    __m512i last;        /* the kind of the last byte of the block before, in each byte */
} st_rows;

/* The kinds of the characters `these`, two in each byte, of which the lowest bit of the code point selects one; 0 for others. */
ST_FORCE_INLINE __m512i look_up(uint32_t block, __mmask64 these, placed p)
{
    const uint8_t *row = st_kind_blocks + ((size_t)block << (ST_KIND_SHIFT - 1));
    return _mm512_maskz_permutex2var_epi8(these, _mm512_loadu_si512(row), _mm512_srli_epi16(p.low, 1),
                                          _mm512_loadu_si512(row + 64));
}

/* Replaces the row used less recently by that of the character at `text`. */
static inline void enter_row(const uint8_t *text, st_rows *rows)
{
    unsigned size;
    const uint32_t number = st_utf8_decode(text, &size) >> ST_KIND_SHIFT;
    rows->numbers[1] = rows->numbers[0];
    rows->blocks[1] = rows->blocks[0];
    rows->numbers[0] = number * 0x01010101u;
    rows->blocks[0] = st_kind_index[number];
}

ST_FORCE_INLINE __m512i kinds_by_rows(const uint8_t *text, placed p, uint64_t leads, st_rows *rows)
{
    const __mmask64 first = _mm512_mask_cmpeq_epi8_mask(leads, p.rows, all(rows->numbers[0]));
    const __mmask64 second = _mm512_mask_cmpeq_epi8_mask(leads, p.rows, all(rows->numbers[1]));
    __m512i pairs = _mm512_or_si512(look_up(rows->blocks[0], first, p), look_up(rows->blocks[1], second, p));
    for (uint64_t rest = leads & ~(first | second); rest;) {
        enter_row(text + st_first_bit(rest), rows);
        const __mmask64 these = _mm512_mask_cmpeq_epi8_mask(rest, p.rows, all(rows->numbers[0]));
        pairs = _mm512_or_si512(pairs, look_up(rows->blocks[0], these, p));
        rest &= ~these;
    }
    const __mmask64 odd = _mm512_test_epi8_mask(p.low, every(1));
    return _mm512_and_si512(_mm512_mask_mov_epi8(pairs, odd, _mm512_srli_epi16(pairs, 4)), every(15));
}

/* Copies the kinds at first bytes to the second and third bytes. Continuation bytes at the start of the block get the kind of the
 * last byte of the block before. */
ST_FORCE_INLINE __m512i spread_kinds(__m512i kinds, uint64_t tail, st_rows *rows)
{
    const __m512i one = every(1);
    __m512i from = _mm512_mask_sub_epi8(byte_numbers(), tail, byte_numbers(), one);
    from = _mm512_mask_sub_epi8(from, tail & tail << 1, from, one);
    return _mm512_mask_mov_epi8(_mm512_permutexvar_epi8(from, kinds), tail & ~(tail + 1), rows->last);
}

/* Characters of four bytes, one by one: they are rare. */
ST_FORCE_INLINE __m512i add_fours(const uint8_t *text, __m512i kinds, uint64_t leads)
{
    for (; leads; leads &= leads - 1) {
        unsigned size;
        const unsigned at = st_first_bit(leads), kind = st_fine_kind_of(st_utf8_decode(text + at, &size));
        kinds = _mm512_mask_mov_epi8(kinds, (uint64_t)15 << at, every(kind));
    }
    return kinds;
}

/* Rows that have only caseless letters, of which CJK text would need many: U+4E00-9EFF, all Han, and U+AC00-D6FF. */
static inline __mmask64 is_han(__m512i rows)
{
    return st_vector_in(rows, 0x4E, 0x9F - 0x4E);
}

static inline __mmask64 is_hangul(__m512i rows)
{
    return st_vector_in(rows, 0xAC, 0xD7 - 0xAC);
}

ST_FORCE_INLINE void st_classify_mixed(const st_traits *t, const uint8_t *text, st_vector v, st_rows *rows,
                                       const st_block *before, st_block *b)
{
    b->tail = st_vector_in(v, 0x80, 64);
    const uint64_t leads = b->high & ~b->tail, four = st_vector_in(v, 0xF0, 16);
    const placed p = place(text, v, leads, st_vector_in(v, 0xE0, 32));
    const uint64_t han = is_han(p.rows), cjk = han | is_hangul(p.rows);
    __m512i kinds = kinds_by_rows(text, p, leads & ~cjk & ~four, rows);
    kinds = _mm512_mask_mov_epi8(kinds, cjk, every(ST_FINE_CASELESS));
    if (t->han)
        kinds = _mm512_mask_mov_epi8(kinds, han, every(ST_FINE_HAN));
    kinds = spread_kinds(kinds, b->tail, rows);
    if (four)
        kinds = add_fours(text, kinds, four);
    rows->last = _mm512_permutexvar_epi8(every(63), kinds);
    const __m512i ascii = _mm512_permutex2var_epi8(_mm512_loadu_si512(st_ascii_fine), v, _mm512_loadu_si512(st_ascii_fine + 64));
    kinds = _mm512_mask_mov_epi8(ascii, b->high, kinds);
    st_masks_of_kinds(t, kinds, b);
    if (t->apart == ST_APART_KANA)
        b->kana = st_spread(st_find_kana(text, v), b->tail, b->tail & b->tail << 1, before->kana);
}
