/* str_to_utf8_pairs.h - what the tiers share that shuffle the bytes of each two spread code points together
 * (str_to_utf8_template.h): which of them count. It is included behind points_load. */
#include <stdint.h>
#include <string.h>

ST_FORCE_INLINE st_lanes points_load_some(const uint8_t *from, size_t count, unsigned width)
{
    uint8_t some[4 * ST_LANES] = {0};
    memcpy(some, from, count * width);
    return points_load(some, width);
}

/* The places of the first `n` of four bytes, n from 1 to 4, and those of two code points of `a` and `b` bytes. */
#define PLACES(n) (UINT64_C(0x03020100) & (UINT64_MAX >> (64 - 8 * (n))))
#define PAIR(a, b) (PLACES(a) | (PLACES(b) | (UINT64_C(0x04040404) & (UINT64_MAX >> (64 - 8 * (b))))) << 8 * (a))

/* By the number of bytes behind the first one of either, two bits each. */
static const uint64_t kept_bytes[16] = {
    PAIR(1, 1), PAIR(2, 1), PAIR(3, 1), PAIR(4, 1), PAIR(1, 2), PAIR(2, 2), PAIR(3, 2), PAIR(4, 2),
    PAIR(1, 3), PAIR(2, 3), PAIR(3, 3), PAIR(4, 3), PAIR(1, 4), PAIR(2, 4), PAIR(3, 4), PAIR(4, 4),
};

static inline unsigned size_of_pair(unsigned pair)
{
    return 2 + pair % 4 + pair / 4;
}
