/* The splitter on NEON: four vectors of 16 bytes. Every 64-bit ARM has it. */
#include "base/tier.h"
#include "split/scan_rules.h"

#if defined(ST_ARM)
#include <arm_neon.h>

typedef uint8x16x4_t st_vector;

static inline st_vector st_vector_load(const uint8_t *text)
{
    const st_vector v = {{vld1q_u8(text), vld1q_u8(text + 16), vld1q_u8(text + 32), vld1q_u8(text + 48)}};
    return v;
}

/* Bytes of 0x00 or 0xFF to bits: each keeps the bit of its number, then neighbours are added three times. */
static inline uint64_t to_mask(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    static const uint8_t numbers[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t bits = vld1q_u8(numbers);
    const uint8x16_t ab = vpaddq_u8(vandq_u8(a, bits), vandq_u8(b, bits));
    const uint8x16_t cd = vpaddq_u8(vandq_u8(c, bits), vandq_u8(d, bits));
    const uint8x16_t all = vpaddq_u8(ab, cd);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

static inline uint64_t st_vector_in(st_vector v, unsigned first, unsigned n)
{
    const uint8x16_t from = vdupq_n_u8((uint8_t)first), size = vdupq_n_u8((uint8_t)n);
    return to_mask(vcltq_u8(vsubq_u8(v.val[0], from), size), vcltq_u8(vsubq_u8(v.val[1], from), size),
                   vcltq_u8(vsubq_u8(v.val[2], from), size), vcltq_u8(vsubq_u8(v.val[3], from), size));
}

static inline uint64_t st_vector_is(st_vector v, unsigned byte)
{
    return st_vector_in(v, byte, 1);
}

static inline uint64_t st_vector_high(st_vector v)
{
    return st_vector_in(v, 0x80, 0x80);
}

/* Two kinds a byte become one, in the four registers from which a byte of text picks by its low six bits. */
static inline st_vector st_vector_kinds(st_vector v, const uint8_t *row)
{
    uint8x16x4_t kinds, picked;
    for (int i = 0; i < 2; i++) {
        const uint8x16_t packed = vld1q_u8(row + 16 * i);
        const uint8x16x2_t pair = vzipq_u8(vandq_u8(packed, vdupq_n_u8(15)), vshrq_n_u8(packed, 4));
        kinds.val[2 * i] = pair.val[0];
        kinds.val[2 * i + 1] = pair.val[1];
    }
    for (int i = 0; i < 4; i++)
        picked.val[i] = vqtbl4q_u8(kinds, vandq_u8(v.val[i], vdupq_n_u8(63)));
    return picked;
}

/* Four at a time, so that the branch that ends the loop is mostly foreseen. */
static inline size_t st_put_places(uint64_t mask, uint64_t base, uint64_t *to)
{
    const size_t count = (size_t)__builtin_popcountll(mask);
    for (size_t i = 0; i < count; i += 4)
        for (size_t k = 0; k < 4; k++) {
            to[i + k] = base + (mask ? (uint64_t)__builtin_ctzll(mask) : 0);
            mask &= mask - 1;
        }
    return count;
}

#define ST_TIER neon
#include "split/block_rows.h"
#include "split/block_template.h"
#else
typedef int st_no_neon; /* a file must hold something */
#endif
