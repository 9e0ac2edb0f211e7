#include "split/blocks.h"

#include "base/dispatch.h"

ST_STAGE(st_split_function, split_in_use, st_split_blocks_portable, st_split_blocks_neon, st_split_blocks_avx2,
         st_split_blocks_avx512)

st_split_progress st_split_blocks(st_split_family family, const uint8_t *text, size_t n, uint64_t base, uint64_t *ends,
                                  size_t capacity)
{
    return split_in_use()(family, text, n, base, ends, capacity);
}
