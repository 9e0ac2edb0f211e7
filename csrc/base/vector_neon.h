/* vector.h on NEON: four vectors of 16 bytes, four numbers. Every 64-bit ARM has NEON, so there is no begin_neon.h. */
#include <arm_neon.h>

#include "base/vector.h"

/* ---- 64 bytes ---- */

typedef uint8x16x4_t st_vector;

/* An operation that does the same to each of the four. */
#define ST_EACH_OP(name, arguments, value) \
    static inline st_vector name arguments \
    { \
        st_vector made; \
        for (int i = 0; i < 4; i++) \
            made.val[i] = value; \
        return made; \
    }

ST_OP(st_vector, st_vector_load, (const uint8_t *text),
      ((st_vector){{vld1q_u8(text), vld1q_u8(text + 16), vld1q_u8(text + 32), vld1q_u8(text + 48)}}))

static inline void st_vector_store(uint8_t *to, st_vector v)
{
    for (int i = 0; i < 4; i++)
        vst1q_u8(to + 16 * i, v.val[i]);
}

static inline st_vector st_vector_load_rest(const uint8_t *text, size_t n)
{
    uint8_t bytes[ST_VECTOR_BYTES] = {0};
    memcpy(bytes, text, n);
    return st_vector_load(bytes);
}

/* Turns bytes of 0x00 or 0xFF into bits. Byte number i of each eight keeps bit i only. Adding neighbours three times then joins the
 * eight bits to one byte. */
static inline uint64_t st_mask_of(st_vector v)
{
    static const uint8_t numbers[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t bits = vld1q_u8(numbers);
    const uint8x16_t ab = vpaddq_u8(vandq_u8(v.val[0], bits), vandq_u8(v.val[1], bits));
    const uint8x16_t cd = vpaddq_u8(vandq_u8(v.val[2], bits), vandq_u8(v.val[3], bits));
    const uint8x16_t each = vpaddq_u8(ab, cd);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(each, each)), 0);
}

ST_OP(uint64_t, st_vector_any_high, (st_vector v), vmaxvq_u8(vorrq_u8(vorrq_u8(v.val[0], v.val[1]), vorrq_u8(v.val[2], v.val[3]))) & 0x80)

ST_EACH_OP(st_vector_same, (st_vector v, unsigned byte), vceqq_u8(v.val[i], vdupq_n_u8((uint8_t)byte)))
ST_EACH_OP(st_vector_from, (st_vector v, unsigned byte), vcgeq_u8(v.val[i], vdupq_n_u8((uint8_t)byte)))
ST_EACH_OP(st_in_each, (st_vector v, uint8x16_t first, uint8x16_t n), vcltq_u8(vsubq_u8(v.val[i], first), n))
ST_OP(uint64_t, st_vector_is, (st_vector v, unsigned byte), st_mask_of(st_vector_same(v, byte)))
ST_OP(uint64_t, st_vector_at_least, (st_vector v, unsigned byte), st_mask_of(st_vector_from(v, byte)))
ST_OP(uint64_t, st_vector_high, (st_vector v), st_vector_at_least(v, 0x80))
ST_OP(uint64_t, st_vector_in, (st_vector v, unsigned first, unsigned n),
      st_mask_of(st_in_each(v, vdupq_n_u8((uint8_t)first), vdupq_n_u8((uint8_t)n))))

/* Each byte's eight of the bits, and of those its own. */
static inline uint8x16_t st_pick_bits(uint8x16_t v, uint8x16_t bits)
{
    const uint8x16_t seven = vdupq_n_u8(7), powers = vreinterpretq_u8_u64(vdupq_n_u64(UINT64_C(0x8040201008040201)));
    const uint8x16_t eight = vqtbl1q_u8(bits, vandq_u8(vshrq_n_u8(v, 3), seven));
    return vtstq_u8(eight, vqtbl1q_u8(powers, vandq_u8(v, seven)));
}

ST_EACH_OP(st_bits_each, (st_vector v, uint8x16_t bits), st_pick_bits(v.val[i], bits))
ST_EACH_OP(st_pick_each, (st_vector v, st_vector entries), vqtbl4q_u8(entries, vandq_u8(v.val[i], vdupq_n_u8(63))))
ST_EACH_OP(st_meet_each, (st_vector a, st_vector b), vtstq_u8(a.val[i], b.val[i]))
ST_OP(uint64_t, st_vector_bits, (st_vector v, uint64_t bits), st_mask_of(st_bits_each(v, vreinterpretq_u8_u64(vdupq_n_u64(bits)))))
ST_OP(st_vector, st_vector_pick, (st_vector v, const uint8_t *table), st_pick_each(v, st_vector_load(table)))
ST_OP(uint64_t, st_vector_meet, (st_vector a, st_vector b), st_mask_of(st_meet_each(a, b)))

ST_EACH_OP(st_vector_every, (unsigned byte), vdupq_n_u8((uint8_t)byte))
ST_EACH_OP(st_vector_and, (st_vector a, st_vector b), vandq_u8(a.val[i], b.val[i]))
ST_EACH_OP(st_vector_or, (st_vector a, st_vector b), vorrq_u8(a.val[i], b.val[i]))
ST_EACH_OP(st_vector_left, (st_vector v, int n), v.val[i] << (uint8_t)n)
ST_EACH_OP(st_vector_right, (st_vector v, int n), v.val[i] >> (uint8_t)n)
ST_EACH_OP(st_vector_choose, (st_vector where, st_vector a, st_vector b), vbslq_u8(where.val[i], a.val[i], b.val[i]))

/* The intrinsic takes a constant alone. */
ST_FORCE_INLINE st_vector st_vector_ahead(st_vector v, int n)
{
    const uint8x16_t none = vdupq_n_u8(0);
    st_vector made;
    for (int i = 0; i < 4; i++) {
        const uint8x16_t next = i < 3 ? v.val[(i + 1) & 3] : none;
        made.val[i] = n == 1 ? vextq_u8(v.val[i], next, 1) : vextq_u8(v.val[i], next, 2);
    }
    return made;
}

ST_EACH_OP(st_entry_each, (st_vector v, uint8x16x2_t entries), vqtbl2q_u8(entries, v.val[i]))
ST_OP(st_vector, st_vector_entry, (st_vector v, const uint8_t *table),
      st_entry_each(v, ((uint8x16x2_t){{vld1q_u8(table), vld1q_u8(table + 16)}})))
ST_OP(uint64_t, st_mask_count, (uint64_t mask), vaddv_u8(vcnt_u8(vcreate_u8(mask))))

/* NEON and the base instructions have no count of trailing zeros. The compiler reverses the bits and counts leading zeros. */
ST_OP(uint64_t, st_mask_first, (uint64_t mask), mask ? (uint64_t)__builtin_ctzll(mask) : 64)

/* ---- maps ---- */

#define ST_MAP_SIZE 16

typedef uint8x16_t st_map, st_sixteen;

ST_OP(st_map, st_map_load, (const uint8_t *from), vld1q_u8(from))
ST_OP(st_map, st_map_all, (uint8_t byte), vdupq_n_u8(byte))
ST_OP(uint8_t, st_map_first, (st_map map), vgetq_lane_u8(map, 0))

/* A number above 15 would pick nothing. */
ST_OP(st_map, st_map_after, (st_map map, st_map first), vqtbl1q_u8(map, vandq_u8(first, vdupq_n_u8(15))))
ST_OP(st_sixteen, st_no_sixteen, (void), vdupq_n_u8(0))

ST_FORCE_INLINE st_sixteen st_map_put(st_sixteen v, st_map map, int i)
{
    return vorrq_u8(v, vandq_u8(map, vld1q_u8(st_one_byte + 15 - i)));
}

ST_OP(st_vector, st_join_sixteens, (const st_sixteen *four), ((st_vector){{four[0], four[1], four[2], four[3]}}))

static inline uint64_t st_vector_bit(st_vector v, int n)
{
    const uint8x16_t bit = vdupq_n_u8((uint8_t)(1 << n));
    const st_vector bits = {{bit, bit, bit, bit}};
    return st_vector_meet(v, bits);
}

/* ---- numbers of 32 bits ---- */

#define ST_LANES 4

typedef uint32x4_t st_lanes, st_where; /* st_where: all bits of a lane are set for yes */

ST_OP(st_lanes, st_lanes_load, (const void *from), vreinterpretq_u32_u8(vld1q_u8(from)))
ST_OP(st_lanes, st_lanes_all, (uint32_t value), vdupq_n_u32(value))
ST_OP(st_lanes, st_lanes_or, (st_lanes a, st_lanes b), vorrq_u32(a, b))
ST_OP(st_lanes, st_lanes_and, (st_lanes a, st_lanes b), vandq_u32(a, b))
ST_OP(st_lanes, st_lanes_min, (st_lanes a, st_lanes b), vminq_u32(a, b))

/* The intrinsics for shifts by a constant take no variable, and vshrq_n_u32 does not take 0. */
ST_OP(st_lanes, st_lanes_left, (st_lanes v, int n), v << (uint32_t)n)
ST_OP(st_lanes, st_lanes_right, (st_lanes v, int n), v >> (uint32_t)n)
ST_OP(uint32_t, st_lanes_least, (st_lanes v), vminvq_u32(v))
ST_OP(st_where, st_where_or, (st_where a, st_where b), vorrq_u32(a, b))
ST_OP(int, st_where_any, (st_where where), vmaxvq_u32(where) != 0)
ST_OP(int, st_lanes_meet, (st_lanes a, st_lanes b), st_where_any(vandq_u32(a, b)))
ST_OP(st_where, st_lanes_over, (st_lanes v, uint32_t limit), vcgtq_u32(v, vdupq_n_u32(limit)))
ST_OP(st_where, st_lanes_same, (st_lanes a, st_lanes b), vceqq_u32(a, b))
ST_OP(st_lanes, st_lanes_pick, (st_where where, st_lanes a, st_lanes b), vbslq_u32(where, a, b))
ST_OP(st_lanes, st_lanes_plus, (st_lanes a, st_lanes b), vaddq_u32(a, b))
ST_OP(st_lanes, st_lanes_times, (st_lanes a, st_lanes b), vmulq_u32(a, b))

static inline st_lanes st_lanes_times_high(st_lanes a, st_lanes b)
{
    const uint64x2_t low = vmull_u32(vget_low_u32(a), vget_low_u32(b)), high = vmull_high_u32(a, b);
    return vuzp2q_u32(vreinterpretq_u32_u64(low), vreinterpretq_u32_u64(high));
}

ST_OP(st_lanes, st_lanes_reversed, (st_lanes v), vreinterpretq_u32_u8(vrev32q_u8(vreinterpretq_u8_u32(v))))
ST_OP(st_lanes, st_lanes_right_each, (st_lanes v, st_lanes n), v >> n)

/* A byte above 15 picks 0. */
static inline st_lanes st_lanes_entry(st_lanes v, const uint8_t *table)
{
    const uint8x16_t which = vreinterpretq_u8_u32(vorrq_u32(v, vdupq_n_u32(0x80808000)));
    return vreinterpretq_u32_u8(vqtbl1q_u8(vld1q_u8(table), which));
}

ST_OP(st_lanes, st_lanes_after, (st_lanes before, st_lanes v), vextq_u32(before, v, 3))

static inline st_lanes st_lanes_gather(const void *from, st_lanes n)
{
    const uint32_t *all = (const uint32_t *)from;
    st_lanes found = vdupq_n_u32(all[vgetq_lane_u32(n, 0)]);
    found = vld1q_lane_u32(all + vgetq_lane_u32(n, 1), found, 1);
    found = vld1q_lane_u32(all + vgetq_lane_u32(n, 2), found, 2);
    return vld1q_lane_u32(all + vgetq_lane_u32(n, 3), found, 3);
}

static inline uint32_t st_lanes_bit(st_lanes v, st_lanes n)
{
    static const uint32_t places[4] = {0, 1, 2, 3};
    const uint32x4_t bit = v >> vandq_u32(n, vdupq_n_u32(31)) & vdupq_n_u32(1);
    return vaddvq_u32(bit << vld1q_u32(places));
}

/* ---- numbers of 64 bits ---- */

#define ST_LONGS 2

typedef uint64x2_t st_longs;

ST_OP(st_longs, st_longs_load, (const uint64_t *from), vld1q_u64(from))
ST_OP(st_longs, st_longs_all, (uint64_t value), vdupq_n_u64(value))
ST_OP(st_longs, st_longs_or, (st_longs a, st_longs b), vorrq_u64(a, b))
ST_OP(st_longs, st_longs_minus, (st_longs a, st_longs b), vsubq_u64(a, b))

/* The instruction reads eight bits of the shift, and shifts to the right by what is below 0. */
static inline st_longs st_longs_bit(st_longs v)
{
    const uint64x2_t fits = vcltq_u64(v, vdupq_n_u64(64));
    return vandq_u64(fits, vshlq_u64(vdupq_n_u64(1), vreinterpretq_s64_u64(v)));
}

ST_OP(uint64_t, st_longs_fold, (st_longs v), vgetq_lane_u64(v, 0) | vgetq_lane_u64(v, 1))
ST_OP(size_t, st_longs_up_to, (st_longs v, uint64_t limit), (size_t)vaddvq_u64(vshrq_n_u64(vcleq_u64(v, vdupq_n_u64(limit)), 63)))
