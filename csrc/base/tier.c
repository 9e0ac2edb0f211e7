#include "base/tier.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

static const char *const names[ST_TIERS] = {"portable", "neon", "avx2", "avx512"};

/* NULL: no choice yet; else into `names`. Whoever comes first chooses; all choose alike. */
static void *chosen;

static int runs(st_tier_number tier)
{
#if defined(ST_X86)
    __builtin_cpu_init();
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (tier == ST_TIER_AVX512)
        return avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
    return tier == ST_TIER_PORTABLE || (tier == ST_TIER_AVX2 && avx2);
#elif defined(ST_ARM)
    return tier <= ST_TIER_NEON;
#else
    return tier == ST_TIER_PORTABLE;
#endif
}

static st_tier_number choose(void)
{
    const char *wanted = getenv("STREAMTOK_TIER");
    for (unsigned tier = 0; wanted && tier < ST_TIERS; tier++)
        if (!strcmp(names[tier], wanted) && runs((st_tier_number)tier))
            return (st_tier_number)tier;
    unsigned widest = ST_TIERS - 1;
    while (!runs((st_tier_number)widest))
        widest--;
    return (st_tier_number)widest;
}

st_tier_number st_tier(void)
{
    const char *const *name = st_acquire(&chosen);
    if (!name) {
        name = &names[choose()];
        st_publish(&chosen, (void *)(uintptr_t)name);
    }
    return (st_tier_number)(name - names);
}

const char *st_tier_name(void)
{
    return names[st_tier()];
}
