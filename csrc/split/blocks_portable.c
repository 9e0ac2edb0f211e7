/* The splitter in plain C: eight bytes at a time in 64-bit integers. */
#include "base/bits.h"
#include "base/load.h"
#include "split/scan_rules.h"

typedef struct st_vector {
    uint64_t words[8]; /* the first byte of the block lowest in the first word */
} st_vector;

#define EACH(byte) (UINT64_C(0x0101010101010101) * (uint64_t)(byte))
#define HIGH EACH(0x80)

static inline st_vector st_vector_load(const uint8_t *text)
{
    st_vector v;
    for (unsigned i = 0; i < 8; i++)
        v.words[i] = st_load64(text + 8 * i);
    return v;
}

/* The high bits of eight bytes, side by side: the product moves bit 8 k + 7 to bit 56 + k, and nothing else there. */
static inline uint64_t gather(uint64_t high_bits)
{
    return (high_bits >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

static inline uint64_t st_vector_high(st_vector v)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++)
        mask |= gather(v.words[i] & HIGH) << (8 * i);
    return mask;
}

/* first .. first + n - 1 lie on one side of 0x80. Within seven bits, a sum carries into the eighth from the limit on. */
static inline uint64_t st_vector_in(st_vector v, unsigned first, unsigned n)
{
    const uint64_t flip = first & 0x80 ? HIGH : 0, below = EACH(0x80 - (first & 0x7F)), above = EACH(0x80 - (first & 0x7F) - n);
    uint64_t mask = 0;
    for (unsigned i = 0; i < 8; i++) {
        const uint64_t word = v.words[i] ^ flip, seven = word & ~HIGH;
        mask |= gather((seven + below) & ~(seven + above) & ~word & HIGH) << (8 * i);
    }
    return mask;
}

static inline uint64_t st_vector_is(st_vector v, unsigned byte)
{
    return st_vector_in(v, byte, 1);
}

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

static inline size_t st_put_places(uint64_t mask, uint64_t base, uint64_t *to)
{
    uint64_t *const from = to;
    for (; mask; mask &= mask - 1)
        *to++ = base + st_first_bit(mask);
    return (size_t)(to - from);
}

#define ST_TIER portable
#include "split/block_rows.h"
#include "split/block_template.h"
