/* Valid UTF-8 with AVX2. */
#include "base/tier.h"
#include "text/utf8_valid.h"

#if defined(ST_X86)
#include <immintrin.h>
#include <string.h>

#define ST_TARGET "avx2,bmi,bmi2"
#include "base/target_begin.h"

typedef struct block {
    __m256i low, high;
} block;

static inline block load_block(const uint8_t *text)
{
    const __m256i *from = (const __m256i *)(const void *)text;
    return (block){_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
}

static inline block load_rest(const uint8_t *text, size_t n)
{
    uint8_t bytes[64] = {0};
    memcpy(bytes, text, n);
    return load_block(bytes);
}

/* There is no comparison without signs, but a maximum. */
static inline uint32_t half_at_least(__m256i bytes, __m256i value)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(bytes, value), bytes));
}

static inline uint64_t at_least(block bytes, uint8_t value)
{
    const __m256i all = _mm256_set1_epi8((char)value);
    return (uint64_t)half_at_least(bytes.high, all) << 32 | half_at_least(bytes.low, all);
}

#define ST_TIER avx2
#include "text/utf8_valid_template.h"
#include "base/target_end.h"
#else
typedef int st_no_valid_avx2; /* a file must hold something */
#endif
