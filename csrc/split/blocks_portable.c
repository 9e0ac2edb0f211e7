/* The splitter in plain C. */
#define ST_TIER portable
#include "base/vector_portable.h"
#include "split/block_rows_portable.h"

static inline size_t st_put_places(uint64_t mask, uint64_t base, uint64_t *to)
{
    uint64_t *const from = to;
    for (; mask; mask &= mask - 1)
        *to++ = base + st_first_bit(mask);
    return (size_t)(to - from);
}

#include "split/block_template.h"
