/* What str_to_utf8_template.h wants of NEON. */

ST_FORCE_INLINE st_lanes points_load(const uint8_t *from, unsigned width)
{
    switch (width) {
    case 1:
        return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(st_load32(from)))));
    case 2:
        return vmovl_u16(vcreate_u16(st_load64(from)));
    default:
        return st_lanes_load(from);
    }
}

#include "text/str_to_utf8_pairs.h"

static inline uint8_t *points_press(st_lanes bytes, st_where two, st_where three, st_where four, uint8_t *to)
{
    const uint32x4_t more = vsubq_u32(vdupq_n_u32(0), vaddq_u32(vaddq_u32(two, three), four));
    const uint64x2_t more_of_pairs = vreinterpretq_u64_u32(more);
    const uint64x2_t both = vsraq_n_u64(more_of_pairs, more_of_pairs, 30); /* the second one's bits beside the first one's */
    const unsigned a = (unsigned)vgetq_lane_u64(both, 0), b = (unsigned)vgetq_lane_u64(both, 1);
    const uint8x16_t places = vreinterpretq_u8_u64(
        vcombine_u64(vcreate_u64(kept_bytes[a]), vcreate_u64(kept_bytes[b] + UINT64_C(0x0808080808080808))));
    const uint64x2_t pressed = vreinterpretq_u64_u8(vqtbl1q_u8(vreinterpretq_u8_u32(bytes), places));
    st_store64(to, vgetq_lane_u64(pressed, 0));
    to += size_of_pair(a);
    st_store64(to, vgetq_lane_u64(pressed, 1));
    return to + size_of_pair(b);
}

/* The lowest byte of each number: every second one, once or twice. */
ST_FORCE_INLINE void points_narrow(const st_lanes c[4], unsigned width, uint8_t *to)
{
    uint8x16_t bytes = vreinterpretq_u8_u32(c[0]);
    if (width == 2)
        bytes = vuzp1q_u8(bytes, vreinterpretq_u8_u32(c[1]));
    if (width == 4) {
        const uint8x16_t low = vuzp1q_u8(bytes, vreinterpretq_u8_u32(c[1]));
        bytes = vuzp1q_u8(low, vuzp1q_u8(vreinterpretq_u8_u32(c[2]), vreinterpretq_u8_u32(c[3])));
    }
    vst1q_u8(to, bytes);
}

#define POINTS_ASCII_APART 0
