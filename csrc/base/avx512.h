/* Constants and masks for the files with AVX-512. begin_avx512.h includes it. */
#ifndef ST_BASE_AVX512_H
#define ST_BASE_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define LANES 16 /* of 32 bits */

static inline __m512i all(uint32_t value)
{
    return _mm512_set1_epi32((int)value);
}

/* Masks of the first `count` lanes of 32 bits, of 64 bits, and of bytes; all lanes where there are fewer than `count`. (The
 * instruction reads eight bits of the count.) */
static inline __mmask16 first_lanes(size_t count)
{
    return (__mmask16)_bzhi_u32(0xFFFF, (uint32_t)(count < 16 ? count : 16));
}

static inline __mmask8 first_wide_lanes(size_t count)
{
    return (__mmask8)_bzhi_u32(0xFF, (uint32_t)(count < 8 ? count : 8));
}

static inline __mmask64 first_bytes(size_t count)
{
    return _bzhi_u64(UINT64_MAX, (uint32_t)(count < 64 ? count : 64));
}

/* 0 to 63, a byte each. */
static inline __m512i byte_numbers(void)
{
    return _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40,
                           39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                           15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
}

/* Looks up each byte of `numbers` in a table of 256 bytes. */
static inline __m512i look_up_bytes(const __m512i table[4], __m512i numbers)
{
    const __m512i low = _mm512_permutex2var_epi8(table[0], numbers, table[1]);
    const __m512i high = _mm512_permutex2var_epi8(table[2], numbers, table[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(numbers), low, high);
}

/* Transposes two matrices of eight by eight numbers: one in the lower halves of the rows, one in the upper halves. */
static inline void transpose_halves(__m512i rows[8])
{
    const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    __m512i two[8], four[8];
    for (int i = 0; i < 8; i += 2) {
        two[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
        two[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = 0; k < 2; k++) {
            four[i + 2 * k] = _mm512_unpacklo_epi64(two[i + k], two[i + k + 2]);
            four[i + 2 * k + 1] = _mm512_unpackhi_epi64(two[i + k], two[i + k + 2]);
        }
    for (int i = 0; i < 4; i++) {
        rows[i] = _mm512_permutex2var_epi64(four[i], even, four[i + 4]);
        rows[i + 4] = _mm512_permutex2var_epi64(four[i], odd, four[i + 4]);
    }
}

#endif
