/* Which instructions the inner loops use. A tier is chosen once, at the first call: the widest that this machine runs, or
 * the one that the environment variable STREAMTOK_TIER names ("portable", "neon", "avx2", "avx512"); a name that does not
 * run here is passed over. All tiers give the same ids. */
#ifndef ST_BASE_TIER_H
#define ST_BASE_TIER_H

#include "base/portable.h"

/* The one guard of code for a kind of machine: ST_X86 or ST_ARM, where the compiler has its intrinsics.
 *
 * Microsoft's compiler, if new enough, accepts the intrinsics of every tier without an option. Its names for ARM vectors differ,
 * so on ARM it builds the portable tier alone. */
#if defined(__x86_64__) && defined(__GNUC__)
#define ST_X86 1
#elif defined(_M_X64) && !defined(_M_ARM64EC) && _MSC_VER >= 1930
#define ST_X86 1
#elif defined(__aarch64__) && defined(__ARM_NEON) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
#define ST_ARM 1
#endif

typedef enum st_tier_number { ST_TIER_PORTABLE, ST_TIER_NEON, ST_TIER_AVX2, ST_TIER_AVX512, ST_TIERS } st_tier_number;

/* What the processor has and the system lets programs use: all instructions of the tier of that name. */
#define ST_HAS_AVX2 UINT64_C(1)
#define ST_HAS_AVX512 UINT64_C(2)
#define ST_ASKED UINT64_C(4) /* for tier.c */

int st_processor_has(uint64_t features);

st_tier_number st_tier(void);
const char *st_tier_name(void);

#endif
