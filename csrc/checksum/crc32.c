#include "checksum/crc32.h"

#include "base/tier.h"

/* The polynomial, x^0 in the highest bit. */
#define POLYNOMIAL UINT32_C(0xEDB88320)

size_t st_crc32_fold(const uint8_t *data, size_t n, uint32_t before, uint8_t rest[ST_CRC32_REST])
{
    return st_tier()->crc32_fold ? st_tier()->crc32_fold(data, n, before, rest) : 0;
}

/* The product of two polynomials over GF(2), modulo CRC-32's. */
static uint32_t product(uint32_t a, uint32_t b)
{
    uint32_t sum = 0;
    for (int bit = 31; bit >= 0; bit--) {
        sum ^= b & (0 - (a >> bit & 1));
        b = b >> 1 ^ (POLYNOMIAL & (0 - (b & 1)));
    }
    return sum;
}

uint32_t st_crc32_joined(uint32_t first, uint32_t second, uint64_t n)
{
    uint32_t shift = UINT32_C(1) << (31 - 8); /* x^8 moves a checksum by one byte; its squares move it by two, four ... */
    for (; n; n >>= 1, shift = product(shift, shift))
        if (n & 1)
            first = product(shift, first);
    return first ^ second;
}
