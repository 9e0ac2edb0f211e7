/* Keys and hashes of byte strings. Not cryptographic: tables are bounded or immutable, so a flood of collisions can
 * cost time within a table's bounds but never ids. */
#ifndef ST_BASE_HASH_H
#define ST_BASE_HASH_H

#include <string.h>

#include "base/key.h"
#include "base/load.h"

/* The key of 1 <= n <= ST_KEY_BYTES bytes, read one by one: for places where 16 bytes may not be readable. */
static inline st_key st_key_of(const uint8_t *text, size_t n)
{
    uint8_t block[16] = {0};
    memcpy(block, text, n);
    block[15] = (uint8_t)n;
    return (st_key){st_load64(block), st_load64(block + 8)};
}

/* The same where text[0..16) is readable. */
static inline st_key st_key_of_padded(const uint8_t *text, size_t n)
{
#define BYTES(n) (UINT64_MAX >> (64 - 8 * (n)))
#define SHORT(n) {BYTES(n), 0, (uint64_t)(n) << 56}
#define LONG(n) {UINT64_MAX, BYTES((n) - 8), (uint64_t)(n) << 56}
    static const struct {
        uint64_t low, high, length;
    } keep[ST_KEY_BYTES + 1] = {
        {0, 0, 0}, SHORT(1), SHORT(2), SHORT(3), SHORT(4), SHORT(5), SHORT(6), SHORT(7), SHORT(8),
        LONG(9), LONG(10), LONG(11), LONG(12), LONG(13), LONG(14), LONG(15),
    };
#undef LONG
#undef SHORT
#undef BYTES
    return (st_key){st_load64(text) & keep[n].low, (st_load64(text + 8) & keep[n].high) | keep[n].length};
}

/* Whether n bytes are equal. Does not call memcmp: n is mostly small, and the call would take longer than the comparison. */
static inline int st_same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    uint64_t differ = 0;
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8)
            differ |= st_load64(a + i) ^ st_load64(b + i);
        return !(differ | (st_load64(a + n - 8) ^ st_load64(b + n - 8)));
    }
    if (n >= 4)
        return !((st_load32(a) ^ st_load32(b)) | (st_load32(a + n - 4) ^ st_load32(b + n - 4)));
    for (size_t i = 0; i < n; i++)
        differ |= (uint64_t)(a[i] ^ b[i]);
    return !differ;
}

/* Is one of these bytes not ASCII? */
static inline int st_has_high_bytes(const uint8_t *text, size_t n)
{
    uint64_t high = 0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        high |= st_load64(text + i);
    for (; i < n; i++)
        high |= text[i];
    return (high & UINT64_C(0x8080808080808080)) != 0;
}

/* Hash of any number of bytes, eight at a time. */
static inline uint64_t st_hash_bytes(const uint8_t *text, size_t n)
{
    uint64_t hash = ST_HASH_BEGIN ^ n, tail;
    uint8_t few[8] = {0};
    size_t i = 0;
    for (; i + 8 < n; i += 8)
        hash = st_fold_multiply(hash ^ st_load64(text + i), ST_HASH_STEP);
    if (n >= 8) {
        tail = st_load64(text + n - 8); /* overlaps what was hashed; n is hashed too, so nothing is lost */
    } else {
        memcpy(few, text, n);
        tail = st_load64(few);
    }
    return st_fold_multiply(hash ^ tail, ST_HASH_END);
}

/* The hash of n > 0 bytes that a miss of a look-up has anyway (lookup/round.h): that of the key where they have one. */
static inline uint64_t st_hash_span(const uint8_t *text, size_t n)
{
    return n <= ST_KEY_BYTES ? st_hash_key(st_key_of(text, n)) : st_hash_bytes(text, n);
}

#endif
