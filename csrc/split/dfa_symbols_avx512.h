/* dfa_symbols_avx512.h - dfa_symbols.h for AVX-512: characters beyond ASCII are looked up together. */
#include "base/bits.h"

#include "split/block_places_avx512.h"
#include "split/code_points_avx512.h"
#include "split/dfa_hot.h"

/* A row is 256 code points. The two rows used last are looked up without a branch, as in block_rows_avx512.h. */
typedef struct st_hot_rows {
    uint32_t numbers[2];      /* code point >> 8, in each of the four bytes */
    const uint8_t *halves[2][2]; /* their classes, 128 each; NULL: no row yet */
} st_hot_rows;

static inline __m512i look_up_half(const uint8_t *half, __m512i low)
{
    return _mm512_permutex2var_epi8(_mm512_loadu_si512(half), low, _mm512_loadu_si512(half + 64));
}

/* The classes of the characters `these`, 0 for others. */
ST_FORCE_INLINE __m512i look_up_classes(const uint8_t *const *halves, __mmask64 these, placed p)
{
    const __m512i classes = _mm512_mask_mov_epi8(look_up_half(halves[0], p.low), _mm512_movepi8_mask(p.low), look_up_half(halves[1], p.low));
    return _mm512_maskz_mov_epi8(these, classes);
}

/* Replaces the row used less recently by that of the character at `text`. */
static inline void enter_hot_row(const st_dfa *dfa, const uint8_t *text, st_hot_rows *rows)
{
    unsigned size;
    const uint32_t number = st_utf8_decode(text, &size) >> 8;
    rows->numbers[1] = rows->numbers[0];
    rows->numbers[0] = number * 0x01010101u;
    for (int i = 0; i < 2; i++) {
        rows->halves[1][i] = rows->halves[0][i];
        rows->halves[0][i] = dfa->blocks + (size_t)dfa->index[2 * number + (unsigned)i] * ST_DFA_BLOCK;
    }
}

/* The classes of characters of two and three bytes. First those of rows that are one class throughout, as most CJK. */
ST_FORCE_INLINE __m512i find_classes(const st_dfa *dfa, const uint8_t *text, placed p, __mmask64 leads, st_hot_rows *rows)
{
    __m512i table[4];
    for (int i = 0; i < 4; i++)
        table[i] = _mm512_loadu_si512(dfa->whole_rows + 64 * i);
    __m512i classes = _mm512_maskz_mov_epi8(leads, look_up_bytes(table, p.rows));
    uint64_t left = leads & _mm512_testn_epi8_mask(classes, classes);
    if (!left)
        return classes;
    if (!rows->halves[1][0]) {
        enter_hot_row(dfa, text + st_first_bit(left), rows);
        enter_hot_row(dfa, text + st_first_bit(left), rows);
    }
    const __mmask64 first = _mm512_mask_cmpeq_epi8_mask(left, p.rows, all(rows->numbers[0]));
    const __mmask64 second = _mm512_mask_cmpeq_epi8_mask(left & ~first, p.rows, all(rows->numbers[1]));
    classes = _mm512_or_si512(classes, look_up_classes(rows->halves[0], first, p));
    classes = _mm512_or_si512(classes, look_up_classes(rows->halves[1], second, p));
    for (left &= ~(first | second); left;) {
        enter_hot_row(dfa, text + st_first_bit(left), rows);
        const __mmask64 these = _mm512_mask_cmpeq_epi8_mask(left, p.rows, all(rows->numbers[0]));
        classes = _mm512_or_si512(classes, look_up_classes(rows->halves[0], these, p));
        left &= ~these;
    }
    return classes;
}

ST_FORCE_INLINE void st_put_symbols(const st_dfa *dfa, const uint8_t *text, st_vector v, uint64_t leads, uint64_t three, uint64_t four,
                                    st_hot_rows *rows, uint8_t *made)
{
    const placed p = place(text, v, leads, three & leads & ~four);
    const __m512i classes = find_classes(dfa, text, p, leads & ~four, rows);
    const __m512i symbols = _mm512_add_epi8(_mm512_min_epu8(classes, every(ST_HOT_LAST_CLASS)), every(ST_HOT_CLASSES));
    st_vector_store(made, _mm512_mask_mov_epi8(v, leads & ~four, symbols));
    for (; four; four &= four - 1) { /* rare */
        const uint8_t *const at = text + st_first_bit(four);
        unsigned size;
        made[at - text] = st_symbol_of(dfa->index, dfa->blocks, st_utf8_decode(at, &size));
    }
}
