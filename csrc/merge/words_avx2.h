/* What words_template.h wants of AVX2. */
#include "merge/words.h"

/* The slots that hold the key, one bit each: at most one. */
static inline uint32_t find_in_bucket(const uint64_t *bucket, uint64_t key)
{
    const __m256i low = _mm256_set1_epi64x((long long)(ST_OVERFLOWED | ST_SLOT_MERGED));
    const __m256i wanted = _mm256_or_si256(_mm256_set1_epi64x((long long)key), low);
    const __m256i first = _mm256_loadu_si256((const __m256i *)(const void *)bucket);
    const __m256i second = _mm256_loadu_si256((const __m256i *)(const void *)(bucket + 4));
    const __m256i same_1 = _mm256_cmpeq_epi64(_mm256_or_si256(first, low), wanted);
    const __m256i same_2 = _mm256_cmpeq_epi64(_mm256_or_si256(second, low), wanted);
    const uint32_t same = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same_1)) |
                          (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(same_2)) << 4;
    return (uint32_t)(bucket[_tzcnt_u32(same) & 7] & ST_SLOT_MERGED & (0 - (uint64_t)(same != 0)));
}

/* Of four slots those that have the key, of which one at most is not 0. */
static inline __m256i kept_of_four(const uint64_t *slots, __m256i wanted, __m256i low)
{
    const __m256i four = _mm256_loadu_si256((const __m256i *)(const void *)slots);
    return _mm256_and_si256(four, _mm256_cmpeq_epi64(_mm256_or_si256(four, low), wanted));
}

static inline __m256i kept_of_bucket(const uint64_t *bucket, uint64_t key, __m256i low)
{
    const __m256i wanted = _mm256_or_si256(_mm256_set1_epi64x((long long)key), low);
    return _mm256_or_si256(kept_of_four(bucket, wanted, low), kept_of_four(bucket + 4, wanted, low));
}

/* The slots of both are ored side by side. */
static inline st_two_found find_two(const uint64_t *const buckets[2], const uint64_t keys[2])
{
    const __m256i low = _mm256_set1_epi64x((long long)(ST_OVERFLOWED | ST_SLOT_MERGED));
    const __m256i first = kept_of_bucket(buckets[0], keys[0], low), second = kept_of_bucket(buckets[1], keys[1], low);
    const __m256i both = _mm256_or_si256(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second));
    const __m128i found = _mm_or_si128(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    const st_two_found two = {(uint32_t)_mm_cvtsi128_si32(found) & ST_SLOT_MERGED, (uint32_t)_mm_extract_epi32(found, 2) & ST_SLOT_MERGED};
    return two;
}

#include "merge/smallest.h"
