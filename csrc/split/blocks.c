#include "split/blocks.h"

#include "base/tier.h"

st_split_progress st_split_blocks(st_split_family family, const uint8_t *text, size_t n, uint64_t base, uint64_t *ends,
                                  size_t capacity)
{
    return st_tier()->split_blocks(family, text, n, base, ends, capacity);
}
