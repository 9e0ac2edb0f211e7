/* Which instructions the inner loops use. A tier is chosen once, at the first call: the widest that this machine runs, or
 * the one that the environment variable STREAMTOK_TIER names ("portable", "neon", "avx2", "avx512"); a name that does not
 * run here is passed over. All tiers give the same ids. */
#ifndef ST_BASE_TIER_H
#define ST_BASE_TIER_H

#if defined(__x86_64__) && defined(__GNUC__)
#define ST_X86 1
#elif defined(__aarch64__) && defined(__ARM_NEON) && defined(__GNUC__)
#define ST_ARM 1
#endif

typedef enum st_tier_number { ST_TIER_PORTABLE, ST_TIER_NEON, ST_TIER_AVX2, ST_TIER_AVX512, ST_TIERS } st_tier_number;

st_tier_number st_tier(void);
const char *st_tier_name(void);

#endif
