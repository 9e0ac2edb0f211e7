/* vector.h in plain C: eight bytes at a time in 64-bit integers. It has no st_lanes. */
#include "base/vector.h"

typedef struct st_vector {
    uint64_t words[8]; /* little-endian: the first byte of the block is the lowest of words[0] */
} st_vector;

#define ST_EACH_BYTE(byte) (UINT64_C(0x0101010101010101) * (uint64_t)(byte))
#define ST_HIGH_BITS ST_EACH_BYTE(0x80)

static inline st_vector st_vector_load(const uint8_t *text)
{
    st_vector v;
    for (unsigned i = 0; i < 8; i++)
        v.words[i] = st_load64(text + 8 * i);
    return v;
}

/* The high bits of eight bytes, side by side. The product moves bit 8 k (k = 0 .. 7) to bit 56 + k, and no other bit there. */
ST_OP(uint64_t, st_gather_high, (uint64_t high_bits), (high_bits >> 7) * UINT64_C(0x0102040810204080) >> 56)

static inline uint64_t st_vector_high(st_vector v)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= st_gather_high(v.words[i] & ST_HIGH_BITS) << (8 * i);
    return mask;
}

/* first .. first + n - 1 lie on one side of 0x80. The sum of the low seven bits of a byte and 0x80 - limit carries into the eighth
 * bit if they are `limit` or more. */
static inline uint64_t st_vector_in(st_vector v, unsigned first, unsigned n)
{
    const uint64_t flip = first & 0x80 ? ST_HIGH_BITS : 0, below = ST_EACH_BYTE(0x80 - (first & 0x7F));
    const uint64_t above = ST_EACH_BYTE(0x80 - (first & 0x7F) - n);
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++) {
        const uint64_t word = v.words[i] ^ flip, seven = word & ~ST_HIGH_BITS;
        mask |= st_gather_high((seven + below) & ~(seven + above) & ~word & ST_HIGH_BITS) << (8 * i);
    }
    return mask;
}

ST_OP(uint64_t, st_vector_is, (st_vector v, unsigned byte), st_vector_in(v, byte, 1))

static inline st_vector st_vector_kinds(st_vector v, const uint8_t *row)
{
    st_vector kinds;
    for (unsigned i = 0; i < 8; i++) {
        kinds.words[i] = 0;
        for (unsigned k = 0; k < 64; k += 8) {
            const unsigned six = v.words[i] >> k & 63;
            kinds.words[i] |= (uint64_t)(row[six >> 1] >> (six & 1) * 4 & 15) << k;
        }
    }
    return kinds;
}
