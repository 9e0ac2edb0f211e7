/* sure_pairs_avx512.h - the pairs of bytes of a word that surely merge, eight at a time. Include it after base/begin_avx512.h. */
#ifndef ST_MERGE_SURE_PAIRS_AVX512_H
#define ST_MERGE_SURE_PAIRS_AVX512_H

#include "merge/sure_pairs.h"

/* What is known of the pairs of a word. */
typedef struct sure_pairs {
    uint64_t pairs; /* a bit for the first byte of each that surely merges */
    __m512i merged; /* the tokens of those that begin in the first sixteen bytes */
} sure_pairs;

/* The numbers of sixteen pairs in the table, by their first and second bytes. */
static inline __m512i pair_numbers(__m128i left, __m128i right)
{
    const __m512i row = _mm512_cvtepu8_epi32(left), column = _mm512_cvtepu8_epi32(right);
    return _mm512_add_epi32(_mm512_slli_epi32(row, 8), _mm512_add_epi32(_mm512_slli_epi32(row, 3), column));
}

static inline __m512i sure_entries(const st_sure_pairs *sure, __mmask8 there, __m256i numbers)
{
    const __m512i nothing = _mm512_set1_epi64((long long)ST_SURE_NOTHING);
    return _mm512_mask_i32gather_epi64(nothing, there, numbers, sure->entries, 8);
}

/* st_sure_is for eight pairs: `left` and `right` are the entries a byte before and a byte behind. */
static inline __mmask8 sure_of(__m512i left, __m512i entries, __m512i right)
{
    const __m512i token = _mm512_set1_epi64(ST_NO_TOKEN), merged = _mm512_and_si512(entries, token);
    const __m512i before = _mm512_and_si512(_mm512_srli_epi64(left, ST_SURE_LEFT), token);
    const __mmask8 earlier = _mm512_cmplt_epu64_mask(merged, before);
    return _mm512_mask_cmplt_epu64_mask(earlier, merged, _mm512_srli_epi64(right, ST_SURE_RIGHT));
}

/* The tokens of the pairs in the mask, which begin in text[0..16); n bytes can be read. */
static inline __m512i merged_of(const st_sure_pairs *sure, const uint8_t *text, size_t n, __mmask16 pairs)
{
    if (!pairs)
        return _mm512_setzero_si512();
    const __mmask16 there = first_lanes(n), behind = first_lanes(n - 1);
    const __m512i numbers = pair_numbers(_mm_maskz_loadu_epi8(there, text), _mm_maskz_loadu_epi8(behind, text + 1));
    const __m512i entries = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), pairs, numbers, sure->entries, 8);
    return _mm512_and_si512(entries, all(ST_NO_TOKEN));
}

/* The pairs of text[0..n) that surely merge, 1 <= n <= 60. `bytes` holds the text, and zeros behind it. */
static inline sure_pairs sure_pairs_of(const st_sure_pairs *sure, const uint8_t *text, __m512i bytes, size_t n)
{
    const __m128i first = _mm512_castsi512_si128(bytes), second = _mm512_extracti32x4_epi32(bytes, 1);
    const __m512i numbers = pair_numbers(first, _mm_alignr_epi8(second, first, 1));
    const __m512i nothing = _mm512_set1_epi64((long long)ST_SURE_NOTHING);
    const __mmask16 there = first_lanes(n - 1);
    const __m512i low = sure_entries(sure, (__mmask8)there, _mm512_castsi512_si256(numbers));
    const __m512i high = sure_entries(sure, (__mmask8)(there >> 8), _mm512_extracti64x4_epi64(numbers, 1));
    const __mmask8 low_pairs = sure_of(_mm512_alignr_epi64(low, nothing, 7), low, _mm512_alignr_epi64(high, low, 1));
    const __mmask8 high_pairs = sure_of(_mm512_alignr_epi64(high, low, 7), high, _mm512_alignr_epi64(nothing, high, 1));
    const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(low)), _mm512_cvtepi64_epi32(high), 1);
    sure_pairs found = {low_pairs | (uint32_t)high_pairs << 8, _mm512_and_si512(both, all(ST_NO_TOKEN))};
    if (n > 17)
        found.pairs = st_sure_find(sure, text, n);
    return found;
}

#endif
