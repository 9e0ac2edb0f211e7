/* bits.h - bit positions in a 64-bit mask, with one instruction where the compiler has an intrinsic for it. */
#ifndef ST_BASE_BITS_H
#define ST_BASE_BITS_H

#include "base/portable.h"

/* Number of the lowest bit that is set; mask != 0. */
ST_FORCE_INLINE unsigned st_first_bit(uint64_t mask)
{
#if defined(__CUDACC__)
    return (unsigned)__ffsll((long long)mask) - 1;
#elif defined(__GNUC__)
    return (unsigned)__builtin_ctzll(mask);
#elif defined(_MSC_VER)
    unsigned long at;
    _BitScanForward64(&at, mask);
    return (unsigned)at;
#else
    unsigned at = 0;
    while (!(mask >> at & 1))
        at++;
    return at;
#endif
}

/* Number of the highest bit that is set; mask != 0. */
ST_FORCE_INLINE unsigned st_last_bit(uint64_t mask)
{
#if defined(__CUDACC__)
    return 63u - (unsigned)__clzll((long long)mask);
#elif defined(__GNUC__)
    return 63u - (unsigned)__builtin_clzll(mask);
#elif defined(_MSC_VER)
    unsigned long at;
    _BitScanReverse64(&at, mask);
    return (unsigned)at;
#else
    unsigned at = 63;
    while (!(mask >> at & 1))
        at--;
    return at;
#endif
}

#endif
