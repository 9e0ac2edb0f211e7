/* tables.cu - the pair table as the GPU wants it: one load a look-up. The image's buckets of eight are for vectors. */
#include "job.h"

/* Enters token number `token`, the merge of left and right; slots are UINT64_MAX where free. */
ST_INLINE void st_enter_pair(uint64_t *pairs, uint64_t shift, uint64_t mask, uint32_t left, uint32_t right, uint32_t token)
{
    const uint64_t key = (uint64_t)left << 21 | right, slot = key << 22 | (token + 1);
    if (left == 0xFFFFFFFFu) /* a single byte, or a token that merging does not make */
        return;
    uint64_t at = key * UINT64_C(0x9E3779B97F4A7C15) >> shift;
    while (atomicCAS((unsigned long long *)&pairs[at], (unsigned long long)UINT64_MAX, (unsigned long long)slot) != UINT64_MAX)
        at = (at + 1) & mask;
}
