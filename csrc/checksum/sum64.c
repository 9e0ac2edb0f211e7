#include "checksum/sum64.h"

#include "base/hash.h"
#include "base/prefetch.h"

/* Prefetch distance. The processor's own prefetching stops at the end of a page; with this, 44 MB take 4.5 ms instead of 8. */
#define BYTES_AHEAD 4096

/* Four sums side by side, so that memory is the limit and not the additions. */
uint64_t st_sum64(const uint8_t *data, size_t n)
{
    uint64_t sums[4] = {1, 2, 3, 4};
    for (; n >= 32; n -= 32, data += 32) {
        st_prefetch((const void *)((uintptr_t)data + BYTES_AHEAD));
        for (int i = 0; i < 4; i++)
            sums[i] = st_fold_multiply(sums[i] ^ st_load64(data + 8 * i), ST_GOLDEN) + sums[i];
    }
    return st_fold_multiply(sums[0] ^ sums[1], sums[2] + sums[3]) ^ st_hash_bytes(data, n);
}
