#include "merge/words.h"

#include "base/tier.h"

static st_merge_words_function *const by_tier[ST_TIERS] = {
    [ST_TIER_PORTABLE] = st_merge_words_portable,
    [ST_TIER_NEON] = st_merge_words_portable, /* the compiler's own target there */
#if defined(ST_X86)
    [ST_TIER_AVX2] = st_merge_words_avx2,
    [ST_TIER_AVX512] = st_merge_words_avx512,
#endif
};

void st_merge_words(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count)
{
    if (count)
        by_tier[st_tier()](v, cuts, words, count);
}
