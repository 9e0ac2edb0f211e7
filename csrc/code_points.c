#include "code_points.h"

#include <string.h>

#include "portable.h"
#include "tier.h"

static inline uint32_t character(const void *characters, size_t i, unsigned width)
{
    return width == 1   ? ((const uint8_t *)characters)[i]
           : width == 2 ? ((const uint16_t *)characters)[i]
                        : ((const uint32_t *)characters)[i];
}

/* Writes four bytes, of which the returned number count; no branch, because text of many scripts would mispredict it. */
static inline size_t put(uint32_t c, uint8_t *to)
{
    static const uint32_t marks[5] = {0, 0, 0xC080, 0xE08080, 0xF0808080};
    const unsigned size = 1u + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000);
    const uint32_t spread = (c >> 18) << 24 | (c >> 12 & 0x3F) << 16 | (c >> 6 & 0x3F) << 8 | (c & 0x3F);
    const uint32_t bytes = (size == 1 ? c : spread | marks[size]) << (32 - 8 * size);
    to[0] = (uint8_t)(bytes >> 24);
    to[1] = (uint8_t)(bytes >> 16);
    to[2] = (uint8_t)(bytes >> 8);
    to[3] = (uint8_t)bytes;
    return size;
}

ST_FORCE_INLINE size_t convert(const void *characters, size_t n, unsigned width, uint8_t *to)
{
    uint8_t *const first = to;
    uint32_t surrogates = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t c = character(characters, i, width);
        surrogates |= (c & 0xFFFFF800) == 0xD800;
        to += put(c, to);
    }
    return surrogates ? ST_SURROGATE : (size_t)(to - first);
}

size_t st_code_points_portable(const void *characters, size_t n, unsigned width, uint8_t *to)
{
    switch (width) {
    case 1:
        return convert(characters, n, 1, to);
    case 2:
        return convert(characters, n, 2, to);
    default:
        return convert(characters, n, 4, to);
    }
}

static st_code_points_function *const by_tier[ST_TIERS] = {
    [ST_TIER_PORTABLE] = st_code_points_portable,
    [ST_TIER_NEON] = st_code_points_portable,
#if defined(ST_X86)
    [ST_TIER_AVX2] = st_code_points_portable,
    [ST_TIER_AVX512] = st_code_points_avx512,
#endif
};

size_t st_code_points(const void *characters, size_t n, unsigned width, uint8_t *to)
{
    return by_tier[st_tier()](characters, n, width, to);
}
