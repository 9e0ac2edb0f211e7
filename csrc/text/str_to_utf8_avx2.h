/* What str_to_utf8_template.h wants of AVX2. */

ST_FORCE_INLINE st_lanes points_load(const uint8_t *from, unsigned width)
{
    switch (width) {
    case 1:
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
    case 2:
        return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
    default:
        return st_lanes_load(from);
    }
}

#include "text/str_to_utf8_pairs.h"

static inline uint8_t *points_press(st_lanes bytes, st_where two, st_where three, st_where four, uint8_t *to)
{
    const __m256i more = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_add_epi32(_mm256_add_epi32(two, three), four));
    const __m256i both = _mm256_or_si256(more, _mm256_srli_epi64(more, 30)); /* the second one's bits beside the first one's */
    const unsigned a = (unsigned)_mm256_extract_epi32(both, 0), b = (unsigned)_mm256_extract_epi32(both, 2);
    const unsigned c = (unsigned)_mm256_extract_epi32(both, 4), d = (unsigned)_mm256_extract_epi32(both, 6);
    const __m256i upper = _mm256_set_epi64x(0x0808080808080808, 0, 0x0808080808080808, 0); /* each half has two pairs */
    const __m256i places = _mm256_set_epi64x((long long)kept_bytes[d], (long long)kept_bytes[c], (long long)kept_bytes[b],
                                             (long long)kept_bytes[a]);
    const __m256i pressed = _mm256_shuffle_epi8(bytes, _mm256_or_si256(places, upper));
    const __m128i low = _mm256_castsi256_si128(pressed), high = _mm256_extracti128_si256(pressed, 1);
    _mm_storel_epi64((__m128i *)(void *)to, low);
    to += size_of_pair(a);
    _mm_storel_epi64((__m128i *)(void *)to, _mm_unpackhi_epi64(low, low));
    to += size_of_pair(b);
    _mm_storel_epi64((__m128i *)(void *)to, high);
    to += size_of_pair(c);
    _mm_storel_epi64((__m128i *)(void *)to, _mm_unpackhi_epi64(high, high));
    return to + size_of_pair(d);
}

/* Packing works in halves, which are put in order afterwards. */
ST_FORCE_INLINE void points_narrow(const st_lanes c[4], unsigned width, uint8_t *to)
{
    __m256i bytes = c[0];
    if (width == 2)
        bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(c[0], c[1]), 0xD8);
    if (width == 4) {
        const __m256i mixed = _mm256_packus_epi16(_mm256_packus_epi32(c[0], c[1]), _mm256_packus_epi32(c[2], c[3]));
        bytes = _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    }
    _mm256_storeu_si256((__m256i *)(void *)to, bytes);
}

#define POINTS_ASCII_APART 0
