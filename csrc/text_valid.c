#include "text_valid.h"

#include "tier.h"

size_t st_text_valid(const uint8_t *text, size_t n)
{
#if defined(ST_X86)
    if (st_tier() == ST_TIER_AVX512)
        return st_text_valid_avx512(text, n);
    if (st_tier() == ST_TIER_AVX2)
        return st_text_valid_avx2(text, n);
#endif
    (void)text;
    (void)n;
    return 0;
}
