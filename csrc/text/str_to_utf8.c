#include "text/str_to_utf8.h"

#include "base/tier.h"

static st_code_points_function *const by_tier[ST_TIERS] = {
    [ST_TIER_PORTABLE] = NULL,
#if defined(ST_X86)
    [ST_TIER_AVX2] = st_code_points_avx2,
    [ST_TIER_AVX512] = st_code_points_avx512,
#endif
};

int st_code_points_has_tier(void)
{
    return by_tier[st_tier()] != NULL;
}

size_t st_code_points(const void *characters, size_t n, unsigned width, uint8_t *to)
{
    st_code_points_function *const convert = by_tier[st_tier()];
    return convert ? convert(characters, n, width, to) : ST_NOT_CONVERTED;
}
