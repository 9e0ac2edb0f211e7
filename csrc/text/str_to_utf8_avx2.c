/* Code points to UTF-8 with AVX2: eight are spread to four bytes each, and of every two the bytes that count are shuffled
 * together; 32 that are ASCII lose their zeros. */
#include "base/portable.h"
#include "base/tier.h"
#include "text/str_to_utf8.h"

#if defined(ST_X86)
#include <immintrin.h>
#include <string.h>

#define ST_TARGET "avx2,bmi,bmi2"
#include "base/target_begin.h"

#define STRIDE 8 /* code points in a vector */
#define BLOCK 32 /* that are narrowed together where all are ASCII: `width` vectors */

static inline __m256i all(uint32_t value)
{
    return _mm256_set1_epi32((int)value);
}

ST_FORCE_INLINE __m256i load(const uint8_t *from, unsigned width)
{
    switch (width) {
    case 1:
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
    case 2:
        return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
    default:
        return _mm256_loadu_si256((const __m256i *)(const void *)from);
    }
}

/* ---- bytes of characters ---- */

/* Six bits of the code points from bit number `from` on, as a continuation byte in the byte number `to` of each lane. */
static inline __m256i continuation(__m256i c, int from, int to)
{
    const __m256i bits = _mm256_and_si256(_mm256_srli_epi32(c, from), all(0x3F));
    return _mm256_slli_epi32(_mm256_or_si256(bits, all(0x80)), 8 * to);
}

static inline __m256i lead(__m256i c, int from, uint32_t mark)
{
    return _mm256_or_si256(_mm256_srli_epi32(c, from), all(mark));
}

/* Which code points have so many bytes or more: all ones. */
typedef struct sizes {
    __m256i two, three, four;
} sizes;

static inline sizes sizes_of(__m256i c)
{
    return (sizes){_mm256_cmpgt_epi32(c, all(0x7F)), _mm256_cmpgt_epi32(c, all(0x7FF)), _mm256_cmpgt_epi32(c, all(0xFFFF))};
}

/* The bytes of each, the first lowest; what lies behind them does not count. */
static inline __m256i spread(__m256i c, const sizes *s)
{
    const __m256i two = _mm256_or_si256(lead(c, 6, 0xC0), continuation(c, 0, 1));
    const __m256i three = _mm256_or_si256(_mm256_or_si256(lead(c, 12, 0xE0), continuation(c, 6, 1)), continuation(c, 0, 2));
    const __m256i bytes = _mm256_blendv_epi8(_mm256_blendv_epi8(c, two, s->two), three, s->three);
    if (_mm256_testz_si256(s->four, s->four)) /* nearly always */
        return bytes;
    const __m256i last = _mm256_or_si256(continuation(c, 6, 2), continuation(c, 0, 3));
    const __m256i four = _mm256_or_si256(_mm256_or_si256(lead(c, 18, 0xF0), continuation(c, 12, 1)), last);
    return _mm256_blendv_epi8(bytes, four, s->four);
}

/* ---- pressed together ---- */

/* The places of the first `n` of four bytes, n from 1 to 4, and those of two characters of `a` and `b` bytes. */
#define PLACES(n) (UINT64_C(0x03020100) & (UINT64_MAX >> (64 - 8 * (n))))
#define PAIR(a, b) (PLACES(a) | (PLACES(b) | (UINT64_C(0x04040404) & (UINT64_MAX >> (64 - 8 * (b))))) << 8 * (a))

/* By the number of bytes behind the first one of either, two bits each. */
static const uint64_t kept_bytes[16] = {
    PAIR(1, 1), PAIR(2, 1), PAIR(3, 1), PAIR(4, 1), PAIR(1, 2), PAIR(2, 2), PAIR(3, 2), PAIR(4, 2),
    PAIR(1, 3), PAIR(2, 3), PAIR(3, 3), PAIR(4, 3), PAIR(1, 4), PAIR(2, 4), PAIR(3, 4), PAIR(4, 4),
};

static inline unsigned size_of_pair(unsigned pair)
{
    return 2 + pair % 4 + pair / 4;
}

/* Writes the bytes of eight code points and returns where they end. */
static inline uint8_t *press(__m256i bytes, const sizes *s, uint8_t *to)
{
    const __m256i more = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_add_epi32(_mm256_add_epi32(s->two, s->three), s->four));
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

static inline uint8_t *take_eight(__m256i c, uint8_t *to, uint32_t *wrong)
{
    const sizes s = sizes_of(c);
    const __m256i surrogates = _mm256_cmpeq_epi32(_mm256_and_si256(c, all(0xFFFFF800)), all(0xD800));
    *wrong |= (uint32_t)_mm256_movemask_epi8(surrogates);
    return press(spread(c, &s), &s, to);
}

ST_FORCE_INLINE uint8_t *take(const uint8_t *from, size_t count, unsigned width, uint8_t *to, uint32_t *wrong)
{
    if (count == STRIDE)
        return take_eight(load(from, width), to, wrong);
    uint8_t rest[4 * STRIDE] = {0}; /* zeros behind the text are a byte each, which is not counted */
    memcpy(rest, from, count * width);
    return take_eight(load(rest, width), to, wrong) - (STRIDE - count);
}

/* ---- ASCII ---- */

/* 32 numbers of `width` bytes without their zeros. */
ST_FORCE_INLINE __m256i narrow(const __m256i c[4], unsigned width)
{
    if (width == 1)
        return c[0];
    if (width == 2) /* the halves of both go side by side */
        return _mm256_permute4x64_epi64(_mm256_packus_epi16(c[0], c[1]), 0xD8);
    const __m256i mixed = _mm256_packus_epi16(_mm256_packus_epi32(c[0], c[1]), _mm256_packus_epi32(c[2], c[3]));
    return _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* The next 32 characters, if all are ASCII: most of a text is, where one character beyond it has widened all. */
ST_FORCE_INLINE int take_ascii(const uint8_t *from, unsigned width, uint8_t *to)
{
    __m256i c[4], any = _mm256_setzero_si256();
    for (unsigned i = 0; i < width; i++) {
        c[i] = _mm256_loadu_si256((const __m256i *)(const void *)(from + 32 * i));
        any = _mm256_or_si256(any, c[i]);
    }
    if (!_mm256_testz_si256(any, all(width == 1 ? 0x80808080 : width == 2 ? 0xFF80FF80 : 0xFFFFFF80)))
        return 0;
    _mm256_storeu_si256((__m256i *)(void *)to, narrow(c, width));
    return 1;
}

#define ST_TIER avx2
#include "text/str_to_utf8_template.h"
#include "base/target_end.h"
#else
typedef int st_no_code_points_avx2; /* a file must hold something */
#endif
