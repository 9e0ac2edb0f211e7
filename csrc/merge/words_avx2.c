/* Merging side by side with AVX2. */
#include "merge/words.h"

#include "base/tier.h"

#if defined(ST_X86)
#define ST_TIER avx2
#include "base/begin_avx2.h"

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

#include "merge/smallest.h"
#include "merge/words_template.h"

void st_shorten_words_avx2(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count, uint32_t enough)
{
    merge_until(v, cuts, words, count, enough);
}

#include "base/target_end.h"
#endif
