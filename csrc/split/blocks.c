#include "split/blocks.h"

#include "base/tier.h"

static st_split_function *const by_tier[ST_TIERS] = {
    [ST_TIER_PORTABLE] = st_split_blocks_portable,
#if defined(ST_ARM)
    [ST_TIER_NEON] = st_split_blocks_neon,
#endif
#if defined(ST_X86)
    [ST_TIER_AVX2] = st_split_blocks_avx2,
    [ST_TIER_AVX512] = st_split_blocks_avx512,
#endif
};

st_split_progress st_split_blocks(st_split_family family, const uint8_t *text, size_t n, uint64_t base, uint64_t *ends,
                                  size_t capacity)
{
    return by_tier[st_tier()](family, text, n, base, ends, capacity);
}
