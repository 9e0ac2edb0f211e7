/* block_places_portable.h - block_places.h in plain C. */
#ifndef ST_SPLIT_BLOCK_PLACES_PORTABLE_H
#define ST_SPLIT_BLOCK_PLACES_PORTABLE_H

#include "base/bits.h"

static inline size_t st_put_places(uint64_t mask, uint64_t base, uint64_t *to)
{
    uint64_t *const from = to;
    for (; mask; mask &= mask - 1)
        *to++ = base + st_first_bit(mask);
    return (size_t)(to - from);
}

#endif
