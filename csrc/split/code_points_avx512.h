/* code_points_avx512.h - the code points of 64 bytes of text, on AVX-512. */
#ifndef ST_SPLIT_CODE_POINTS_AVX512_H
#define ST_SPLIT_CODE_POINTS_AVX512_H

/* Characters of two and three bytes, at their first bytes: their row, and their place in it. */
typedef struct placed {
    __m512i rows, low; /* code point >> 8, code point & 255 */
} placed;

/* Reads bytes behind the block only if a character of the block continues there. */
ST_FORCE_INLINE placed place(const uint8_t *text, __m512i v, __mmask64 leads, __mmask64 three)
{
    const __m512i second = _mm512_maskz_loadu_epi8(leads, text + 1), third = _mm512_maskz_loadu_epi8(three, text + 2);
    const __m512i last = _mm512_mask_mov_epi8(second, three, third), last_but_one = _mm512_mask_mov_epi8(v, three, second);
    const __m512i six = every(0x3F), high = _mm512_slli_epi16(v, 4);
    const __m512i bits = _mm512_mask_mov_epi8(every(0x07), three, every(0x0F));
    /* 0xCA: where the first has ones, the second, else the third */
    const placed p = {_mm512_ternarylogic_epi64(bits, _mm512_srli_epi16(last_but_one, 2), _mm512_maskz_mov_epi8(three, high), 0xCA),
                      _mm512_ternarylogic_epi64(six, last, _mm512_slli_epi16(last_but_one, 6), 0xCA)};
    return p;
}

#endif
