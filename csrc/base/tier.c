#include "base/tier.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

#if defined(ST_X86) && !defined(_MSC_VER)
#include <cpuid.h>
#endif

void *st_tier_chosen;

static int has_all(uint64_t set, uint64_t wanted)
{
    return (set & wanted) == wanted;
}

#if defined(ST_X86)
/* One leaf of CPUID: registers eax, ebx, ecx, edx. All 0 where the processor has no such leaf. */
static void ask_processor(unsigned leaf, unsigned registers[4])
{
#if defined(_MSC_VER)
    int found[4];
    __cpuid(found, 0);
    memset(registers, 0, 4 * sizeof *registers);
    if ((unsigned)found[0] < leaf)
        return;
    __cpuidex(found, (int)leaf, 0);
    memcpy(registers, found, sizeof found);
#else
    memset(registers, 0, 4 * sizeof *registers);
    __get_cpuid_count(leaf, 0, &registers[0], &registers[1], &registers[2], &registers[3]);
#endif
}

/* Which registers the system saves for a program: bits 1 and 2 for AVX, 5 to 7 for AVX-512. The processor must have AVX. */
static uint64_t kept_registers(void)
{
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
#endif
}

#define BIT(n) (UINT64_C(1) << (n))

/* The numbers of the bits are those of Intel's manual, volume 2, under CPUID. */
static uint64_t find_features(void)
{
    unsigned one[4], seven[4];
    ask_processor(1, one);
    ask_processor(7, seven);
    const uint64_t saves_and_avx = BIT(27) | BIT(28), carry_less_products = BIT(1); /* of leaf 1, ecx */
    const uint64_t kept = has_all(one[2], saves_and_avx) ? kept_registers() : 0;
    const uint64_t bmi_avx2_bmi2 = BIT(3) | BIT(5) | BIT(8); /* of leaf 7, ebx; then F, DQ, CD, BW and VL */
    const uint64_t avx512 = BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31);
    uint64_t features = 0;
    if (has_all(kept, BIT(1) | BIT(2)) && has_all(seven[1], bmi_avx2_bmi2) && has_all(one[2], carry_less_products)) {
        features |= ST_HAS_AVX2;
        if (has_all(kept, BIT(5) | BIT(6) | BIT(7)) && has_all(seven[1], avx512) && has_all(seven[2], BIT(1) | BIT(6)))
            features |= ST_HAS_AVX512; /* the last two are VBMI and VBMI2 */
    }
    return features;
}
#else
static uint64_t find_features(void)
{
    return 0;
}
#endif

int st_processor_has(uint64_t features)
{
    static uint64_t known; /* 0: not asked yet. Every thread that asks gets the same answer. */
    uint64_t found = st_number_read(&known);
    if (!found) {
        found = find_features() | ST_ASKED;
        st_number_write(&known, found);
    }
    return has_all(found, features);
}

const st_tier_row *st_tier_choose(void)
{
    const char *wanted = getenv("STREAMTOK_TIER");
    const st_tier_row *widest = st_tiers[0], *named = NULL;
    for (const st_tier_row *const *row = st_tiers; *row; row++) {
        if (!st_processor_has((*row)->needs))
            continue;
        widest = *row;
        if (wanted && !strcmp(widest->name, wanted))
            named = widest;
    }
    const st_tier_row *chosen = named ? named : widest;
    st_publish(&st_tier_chosen, (void *)(uintptr_t)chosen);
    return chosen;
}

const char *st_tier_name(void)
{
    return st_tier()->name;
}
