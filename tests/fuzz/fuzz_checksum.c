/* Checksums (csrc/checksum) against CRC-32 by its definition, a bit at a time: of folded data, which ends where the readable memory
 * does, and of two stretches that are joined. */
#include "fuzz.h"
#include "base/tier.h"
#include "checksum/crc32.h"
#include "checksum/sum64.h"

#include <stdio.h>
#include <stdlib.h>

#define DATA_MOST 1500

static struct {
    uint64_t folded, joined;
} counts;

static uint32_t crc32_of(uint32_t before, const uint8_t *data, size_t n)
{
    uint32_t crc = ~before;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & (0 - (crc & 1)));
    }
    return ~crc;
}

static void check_fold(const uint8_t *data, size_t n, uint32_t before)
{
    uint8_t *rest = take(ST_CRC32_REST);
    const uint32_t wanted = crc32_of(before, data, n);
    const size_t folded = st_crc32_fold(data, n, before, rest);
    CHECK(st_tier()->crc32_fold && n >= ST_CRC32_REST ? n - folded < ST_CRC32_REST : !folded);
    if (folded)
        CHECK(crc32_of(crc32_of(UINT32_MAX, rest, ST_CRC32_REST), data + folded, n - folded) == wanted);
    counts.folded += folded > 0;
    free(rest);
}

static void check_joined(const uint8_t *data, size_t n, size_t cut)
{
    const uint32_t first = crc32_of(0, data, cut), second = crc32_of(0, data + cut, n - cut);
    CHECK(st_crc32_joined(first, second, n - cut) == crc32_of(0, data, n));
    counts.joined++;
}

static void check_sum64(rng *r, uint8_t *data, size_t n)
{
    const uint64_t sum = st_sum64(data, n);
    CHECK(st_sum64(guarded(data, n, 1), n) == sum);
    if (!n)
        return;
    const size_t at = rng_below(r, n);
    data[at] ^= (uint8_t)(1 + rng_below(r, 255));
    CHECK(st_sum64(data, n) != sum);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t input_size)
{
    rng r = rng_of(input, input_size);
    const size_t n = rng_one_in(&r, 4) ? ST_CRC32_REST * rng_below(&r, 5) : rng_below(&r, DATA_MOST);
    uint8_t *data = take(n);
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)rng_next(&r);
    check_fold(guarded(data, n, 0), n, rng_one_in(&r, 2) ? 0 : (uint32_t)rng_next(&r));
    check_joined(data, n, rng_below(&r, n + 1));
    check_sum64(&r, data, n);
    free(data);
    return 0;
}

void harness_close(void)
{
    printf("fuzz_checksum: %llu times folded, %llu times joined: no difference\n", (unsigned long long)counts.folded,
           (unsigned long long)counts.joined);
}
