/* A hint that this cache line will be read soon. It does nothing where the compiler has no intrinsic for it. */
#ifndef ST_BASE_PREFETCH_H
#define ST_BASE_PREFETCH_H

#include "base/portable.h"

static inline void st_prefetch(const void *address)
{
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
    __asm__ volatile(""); /* without it GCC drops calls of a function that only prefetches, as if it had no effect */
#elif defined(_MSC_VER) && defined(_M_X64)
    _mm_prefetch((const char *)address, _MM_HINT_T0);
#elif defined(_MSC_VER) && defined(_M_ARM64)
    __prefetch(address);
#else
    (void)address;
#endif
}

#endif
