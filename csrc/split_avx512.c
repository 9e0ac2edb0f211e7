/* The splitter on AVX-512: compares make the masks themselves. Ice Lake, Zen 4 and later. */
#include "split_rules.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define ST_TARGET "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt,lzcnt"
#include "target_begin.h"

#include "lanes_avx512.h"

typedef __m512i st_vector;

static inline st_vector st_vector_load(const uint8_t *text)
{
    return _mm512_loadu_si512(text);
}

static inline uint64_t st_vector_high(st_vector v)
{
    return _mm512_movepi8_mask(v);
}

static inline uint64_t st_vector_is(st_vector v, unsigned byte)
{
    return _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)byte));
}

static inline uint64_t st_vector_in(st_vector v, unsigned first, unsigned n)
{
    const __m512i from_first = _mm512_sub_epi8(v, _mm512_set1_epi8((char)first));
    return _mm512_cmplt_epu8_mask(from_first, _mm512_set1_epi8((char)n));
}

/* Two kinds a byte become one; a byte of text picks by its low six bits, the only ones that the permutation reads. */
static inline st_vector st_vector_kinds(st_vector v, const uint8_t *row)
{
    const __m256i packed = _mm256_loadu_si256((const __m256i *)(const void *)row);
    const __m512i wide = _mm512_cvtepu8_epi16(packed);
    const __m512i kinds = _mm512_and_si512(_mm512_or_si512(wide, _mm512_slli_epi16(wide, 4)), _mm512_set1_epi8(15));
    return _mm512_permutexvar_epi8(v, kinds);
}

/* The numbers of the set bits are pressed together in a register, then widened eight at a time. */
static inline size_t st_put_places(uint64_t mask, uint64_t base, uint64_t *to)
{
    const __m512i bases = _mm512_set1_epi64((long long)base);
    const size_t count = (size_t)_mm_popcnt_u64(mask);
    __m512i places = _mm512_maskz_compress_epi8(mask, byte_numbers());
    for (size_t i = 0; i < count; i += 8) {
        const __m512i wide = _mm512_cvtepu8_epi64(_mm512_castsi512_si128(places));
        _mm512_storeu_si512(to + i, _mm512_add_epi64(wide, bases));
        places = _mm512_alignr_epi64(places, places, 1);
    }
    return count;
}

#define ST_TIER avx512
#include "block_template.h"
#include "target_end.h"
#else
typedef int st_no_avx512; /* a file must hold something */
#endif
