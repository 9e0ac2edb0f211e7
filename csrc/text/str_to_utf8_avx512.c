/* Code points to UTF-8 with AVX-512: sixteen are spread to four bytes each, and those that count pressed together; 64 that
 * are ASCII lose their zeros. */
#include "base/portable.h"
#include "base/tier.h"
#include "text/str_to_utf8.h"

#if defined(ST_X86)
#include <immintrin.h>

#define ST_TARGET "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt,lzcnt"
#include "base/target_begin.h"

#include "base/avx512.h"

#define STRIDE LANES
#define BLOCK 64

static inline __m512i load(const uint8_t *from, __mmask16 lanes, unsigned width)
{
    switch (width) {
    case 1:
        return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, from));
    case 2:
        return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, from));
    default:
        return _mm512_maskz_loadu_epi32(lanes, from);
    }
}

/* Six bits of the code points from bit number `from` on, as a continuation byte in the byte number `to` of each lane. */
static inline __m512i continuation(__m512i c, unsigned from, unsigned to)
{
    const __m512i bits = _mm512_and_si512(_mm512_srli_epi32(c, from), all(0x3F));
    return _mm512_slli_epi32(_mm512_or_si512(bits, all(0x80)), 8 * to);
}

static inline __m512i lead(__m512i c, unsigned from, uint32_t mark)
{
    return _mm512_or_si512(_mm512_srli_epi32(c, from), all(mark));
}

/* The bytes of each, the first lowest, zero behind them. */
static inline __m512i spread(__m512i c)
{
    const __m512i two = _mm512_or_si512(lead(c, 6, 0xC0), continuation(c, 0, 1));
    const __m512i three = _mm512_or_si512(_mm512_or_si512(lead(c, 12, 0xE0), continuation(c, 6, 1)), continuation(c, 0, 2));
    __m512i bytes = _mm512_mask_mov_epi32(c, _mm512_cmpge_epu32_mask(c, all(0x80)), two);
    bytes = _mm512_mask_mov_epi32(bytes, _mm512_cmpge_epu32_mask(c, all(0x800)), three);
    const __mmask16 beyond = _mm512_cmpge_epu32_mask(c, all(0x10000));
    if (beyond) { /* seldom */
        const __m512i last = _mm512_or_si512(continuation(c, 6, 2), continuation(c, 0, 3));
        const __m512i four = _mm512_or_si512(_mm512_or_si512(lead(c, 18, 0xF0), continuation(c, 12, 1)), last);
        bytes = _mm512_mask_mov_epi32(bytes, beyond, four);
    }
    return bytes;
}

/* The next 64 characters, if all are ASCII: most of a text is, where one character beyond it has widened all. */
ST_FORCE_INLINE int take_ascii(const uint8_t *from, unsigned width, uint8_t *to)
{
    __m512i c[4], any = _mm512_setzero_si512();
    for (unsigned i = 0; i < width; i++) {
        c[i] = _mm512_loadu_si512(from + 64 * i);
        any = _mm512_or_si512(any, c[i]);
    }
    if (_mm512_test_epi32_mask(any, all(width == 1 ? 0x80808080 : width == 2 ? 0xFF80FF80 : 0xFFFFFF80)))
        return 0;
    for (unsigned i = 0; i < width; i++)
        if (width == 1)
            _mm512_storeu_si512(to, c[i]);
        else if (width == 2)
            _mm256_storeu_si256((__m256i *)(void *)(to + 32 * i), _mm512_cvtepi16_epi8(c[i]));
        else
            _mm_storeu_si128((__m128i *)(void *)(to + 16 * i), _mm512_cvtepi32_epi8(c[i]));
    return 1;
}

ST_FORCE_INLINE uint8_t *take(const uint8_t *from, size_t count, unsigned width, uint8_t *to, uint32_t *wrong)
{
    const __m512i c = load(from, first_lanes(count), width);
    if (!_mm512_cmpge_epu32_mask(c, all(0x80))) {
        _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(c));
        return to + count;
    }
    *wrong |= _mm512_cmpeq_epi32_mask(_mm512_and_si512(c, all(0xFFFFF800)), all(0xD800));
    const __m512i bytes = spread(c);
    const uint64_t firsts = UINT64_C(0x1111111111111111); /* a zero counts as a byte there */
    const uint64_t kept = _bzhi_u64(firsts | _mm512_test_epi8_mask(bytes, bytes), (uint32_t)(4 * count));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(kept, bytes));
    return to + _mm_popcnt_u64(kept);
}

#define ST_TIER avx512
#include "text/str_to_utf8_template.h"
#include "base/target_end.h"
#else
typedef int st_no_code_points_avx512; /* a file must hold something */
#endif
