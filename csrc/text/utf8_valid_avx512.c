/* Valid UTF-8 with AVX-512. */
#include "base/tier.h"
#include "text/utf8_valid.h"

#if defined(ST_X86)
#include <immintrin.h>

#define ST_TARGET "avx512f,avx512bw,bmi,bmi2"
#include "base/target_begin.h"

#include "base/avx512.h"

typedef __m512i block;

static inline block load_block(const uint8_t *text)
{
    return _mm512_loadu_si512(text);
}

static inline block load_rest(const uint8_t *text, size_t n)
{
    return _mm512_maskz_loadu_epi8(first_bytes(n), text);
}

static inline uint64_t at_least(block bytes, uint8_t value)
{
    return _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)value));
}

#define ST_TIER avx512
#include "text/utf8_valid_template.h"
#include "base/target_end.h"
#else
typedef int st_no_valid_avx512; /* a file must hold something */
#endif
