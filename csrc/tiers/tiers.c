/* The list of all tiers. A new one has its name here. */
#include "base/tier.h"

extern const st_tier_row st_tier_portable, st_tier_neon, st_tier_avx2, st_tier_avx512;

const st_tier_row *const st_tiers[] = {
    &st_tier_portable,
#if defined(ST_ARM)
    &st_tier_neon,
#endif
#if defined(ST_X86)
    &st_tier_avx2, &st_tier_avx512,
#endif
    NULL};
