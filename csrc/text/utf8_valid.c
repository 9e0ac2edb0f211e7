#include "text/utf8_valid.h"

#include "base/tier.h"

static st_text_valid_function *const by_tier[ST_TIERS] = {
    [ST_TIER_PORTABLE] = NULL,
#if defined(ST_X86)
    [ST_TIER_AVX2] = st_text_valid_avx2,
    [ST_TIER_AVX512] = st_text_valid_avx512,
#endif
};

size_t st_text_valid(const uint8_t *text, size_t n)
{
    st_text_valid_function *const valid = by_tier[st_tier()];
    return valid ? valid(text, n) : 0;
}
