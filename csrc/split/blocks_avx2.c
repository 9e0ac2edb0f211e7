/* The splitter on AVX2: two vectors of 32 bytes. Haswell, Zen and later. */
#include "base/tier.h"
#include "split/scan_rules.h"

#if defined(ST_X86)
#include <immintrin.h>

#define ST_TARGET "avx2,bmi,bmi2,popcnt,lzcnt"
#include "base/target_begin.h"

typedef struct st_vector {
    __m256i low, high;
} st_vector;

static inline st_vector st_vector_load(const uint8_t *text)
{
    const st_vector v = {_mm256_loadu_si256((const __m256i *)(const void *)text),
                         _mm256_loadu_si256((const __m256i *)(const void *)(text + 32))};
    return v;
}

static inline uint64_t to_mask(__m256i low, __m256i high)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 | (uint32_t)_mm256_movemask_epi8(low);
}

static inline uint64_t st_vector_high(st_vector v)
{
    return to_mask(v.low, v.high);
}

static inline uint64_t st_vector_is(st_vector v, unsigned byte)
{
    const __m256i bytes = _mm256_set1_epi8((char)byte);
    return to_mask(_mm256_cmpeq_epi8(v.low, bytes), _mm256_cmpeq_epi8(v.high, bytes));
}

/* Compares are signed: the difference is moved so that the range lies at the bottom. */
static inline uint64_t st_vector_in(st_vector v, unsigned first, unsigned n)
{
    const __m256i shift = _mm256_set1_epi8((char)(0x80 - first)), limit = _mm256_set1_epi8((char)(0x80 + n));
    return to_mask(_mm256_cmpgt_epi8(limit, _mm256_add_epi8(v.low, shift)),
                   _mm256_cmpgt_epi8(limit, _mm256_add_epi8(v.high, shift)));
}

/* One quarter of the row: 16 kinds, picked by the low four bits where the two above say so. */
static inline __m256i pick(__m256i v, __m256i quarters, __m128i eight, int quarter)
{
    const __m256i packed = _mm256_broadcastsi128_si256(_mm_cvtepu8_epi16(eight));
    const __m256i kinds = _mm256_and_si256(_mm256_or_si256(packed, _mm256_slli_epi16(packed, 4)), _mm256_set1_epi8(15));
    const __m256i mine = _mm256_cmpeq_epi8(quarters, _mm256_set1_epi8((char)(quarter << 4)));
    return _mm256_and_si256(mine, _mm256_shuffle_epi8(kinds, v));
}

static inline __m256i pick_all(__m256i v, const uint8_t *row)
{
    const __m256i quarters = _mm256_and_si256(v, _mm256_set1_epi8(0x30)), low = _mm256_and_si256(v, _mm256_set1_epi8(15));
    __m256i kinds = _mm256_setzero_si256();
    for (int i = 0; i < 4; i++)
        kinds = _mm256_or_si256(kinds, pick(low, quarters, _mm_loadl_epi64((const __m128i *)(const void *)(row + 8 * i)), i));
    return kinds;
}

static inline st_vector st_vector_kinds(st_vector v, const uint8_t *row)
{
    const st_vector kinds = {pick_all(v.low, row), pick_all(v.high, row)};
    return kinds;
}

/* Four at a time, so that the branch that ends the loop is mostly foreseen. */
static inline size_t st_put_places(uint64_t mask, uint64_t base, uint64_t *to)
{
    const size_t count = (size_t)_mm_popcnt_u64(mask);
    for (size_t i = 0; i < count; i += 4)
        for (size_t k = 0; k < 4; k++) {
            to[i + k] = base + _tzcnt_u64(mask);
            mask = _blsr_u64(mask);
        }
    return count;
}

#define ST_TIER avx2
#include "split/block_rows.h"
#include "split/block_template.h"
#include "base/target_end.h"
#else
typedef int st_no_avx2; /* a file must hold something */
#endif
