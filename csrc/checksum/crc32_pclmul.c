/* CRC-32 by carry-less products: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ" (2009). */
#include "base/tier.h"
#include "checksum/crc32.h"

#if defined(ST_X86)
#include <immintrin.h>

#define ST_TARGET "avx2,pclmul"
#include "base/target_begin.h"

static inline __m128i load(const uint8_t *data)
{
    return _mm_loadu_si128((const __m128i *)(const void *)data);
}

/* Moves 16 bytes by 64 bytes, to where the next 16 bytes of their lane stand, and adds the two. */
static inline __m128i fold(__m128i lane, __m128i shift, __m128i next)
{
    const __m128i moved = _mm_xor_si128(_mm_clmulepi64_si128(lane, shift, 0x00), _mm_clmulepi64_si128(lane, shift, 0x11));
    return _mm_xor_si128(moved, next);
}

size_t st_crc32_fold_products(const uint8_t *data, size_t n, uint32_t before, uint8_t *rest)
{
    /* x^(512 + 32) and x^(512 - 32) modulo the polynomial: 64 bytes on, for the first and the last 8 bytes of a lane. The
     * lowest bit has the highest power; a product of such numbers lies one bit too low, hence 33 bits. */
    const __m128i shift = _mm_set_epi64x(INT64_C(0x1c6e41596), INT64_C(0x154442bd4));
    __m128i lanes[4];
    size_t at = ST_CRC32_REST;
    if (n < ST_CRC32_REST)
        return 0;
    for (int i = 0; i < 4; i++)
        lanes[i] = load(data + 16 * i);
    lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128((int)~before)); /* a checksum is kept inverted */
    for (; at + ST_CRC32_REST <= n; at += ST_CRC32_REST)
        for (int i = 0; i < 4; i++)
            lanes[i] = fold(lanes[i], shift, load(data + at + 16 * i));
    for (int i = 0; i < 4; i++)
        _mm_storeu_si128((__m128i *)(void *)(rest + 16 * i), lanes[i]);
    return at;
}

#include "base/target_end.h"
#endif
