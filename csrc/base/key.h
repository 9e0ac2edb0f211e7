/* key.h - short byte strings as keys, and the mixing function of all hashes here; one source for the CPU and the GPU. */
#ifndef ST_BASE_KEY_H
#define ST_BASE_KEY_H

#include "base/portable.h"

/* A piece of at most 15 bytes is a 16-byte key: its bytes, zero filled, and its length in the last byte. */
#define ST_KEY_BYTES 15

typedef struct st_key {
    uint64_t low, high;
} st_key;

/* 64 x 64 -> 128 bits, the halves folded: one multiplication mixes all bits of both operands. */
ST_INLINE uint64_t st_fold_multiply(uint64_t a, uint64_t b)
{
#if defined(__CUDACC__)
    return (a * b) ^ __umul64hi(a, b);
#elif defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
    uint64_t high;
    const uint64_t low = _umul128(a, b, &high);
    return low ^ high;
#elif defined(_MSC_VER) && defined(_M_ARM64)
    return (a * b) ^ __umulh(a, b);
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)middle;
    uint64_t high = a1 * b1 + (middle >> 32) + (other >> 32);
    return (other << 32 | (uint32_t)low) ^ high;
#endif
}

/* 2^64 over the golden ratio, made odd: the factor of Fibonacci hashing. The high bits of a product are the well mixed ones. */
#define ST_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/* The constants are digits of pi and of e. */
ST_INLINE uint64_t st_hash_key(st_key key)
{
    return st_fold_multiply(key.low ^ UINT64_C(0x243F6A8885A308D3), key.high ^ UINT64_C(0xB7E151628AED2A6B));
}

/* The hash of a number. */
ST_INLINE uint64_t st_hash_number(uint64_t number)
{
    return st_fold_multiply(number ^ ST_GOLDEN, UINT64_C(0xD1B54A32D192ED03));
}

/* The constants of the hash of any number of bytes: where it begins, each step, the end. */
#define ST_HASH_BEGIN ST_GOLDEN
#define ST_HASH_STEP UINT64_C(0x452821E638D01377)
#define ST_HASH_END UINT64_C(0xBE5466CF34E90C6D)

#endif
