/* Merging side by side with AVX-512. */
#include "merge_words.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define ST_TARGET "avx512f,avx512bw,avx512vl,bmi,bmi2,popcnt,lzcnt"
#include "target_begin.h"

/* The slots that hold the key, one bit each: at most one. */
static inline uint32_t find_in_bucket(const uint64_t *bucket, uint64_t key)
{
    const __m512i low = _mm512_set1_epi64((long long)(ST_OVERFLOWED | ST_SLOT_MERGED));
    const __m512i differs = _mm512_xor_si512(_mm512_loadu_si512(bucket), _mm512_set1_epi64((long long)key));
    const uint32_t same = _mm512_testn_epi64_mask(_mm512_andnot_si512(low, differs), _mm512_set1_epi64(-1));
    return (uint32_t)(bucket[_tzcnt_u32(same) & 7] & ST_SLOT_MERGED & (0 - (uint64_t)(same != 0)));
}

static inline uint32_t smallest(const uint32_t *candidates, uint32_t rows)
{
    __m512i least = _mm512_loadu_si512(candidates);
    for (uint32_t row = 1; row < rows; row++)
        least = _mm512_min_epu32(least, _mm512_loadu_si512(candidates + ST_ROW * row));
    return _mm512_reduce_min_epu32(least);
}

#define ST_TIER avx512
#include "merge_words_template.h"
#include "target_end.h"
#else
typedef int st_no_merge_avx512; /* a file must hold something */
#endif
