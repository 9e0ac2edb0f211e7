/* What words_template.h wants of NEON. */
#include "merge/words.h"

/* Keeps the value of the slot with the wanted key; at most one slot has it. */
static inline uint64x2_t kept_of_two(const uint64_t *slots, uint64x2_t wanted, uint64x2_t low)
{
    const uint64x2_t two = vld1q_u64(slots);
    return vandq_u64(two, vceqq_u64(vorrq_u64(two, low), wanted));
}

/* The same of a bucket: one of both halves is 0. */
static inline uint64x2_t kept_of_bucket(const uint64_t *bucket, uint64_t key)
{
    const uint64x2_t low = vdupq_n_u64(ST_OVERFLOWED | ST_SLOT_MERGED), wanted = vorrq_u64(vdupq_n_u64(key), low);
    const uint64x2_t first = vorrq_u64(kept_of_two(bucket, wanted, low), kept_of_two(bucket + 2, wanted, low));
    return vorrq_u64(first, vorrq_u64(kept_of_two(bucket + 4, wanted, low), kept_of_two(bucket + 6, wanted, low)));
}

static inline uint32_t find_in_bucket(const uint64_t *bucket, uint64_t key)
{
    return (uint32_t)(vaddvq_u64(kept_of_bucket(bucket, key)) & ST_SLOT_MERGED);
}

static inline st_two_found find_two(const uint64_t *const buckets[2], const uint64_t keys[2])
{
    const uint64x2_t both = vpaddq_u64(kept_of_bucket(buckets[0], keys[0]), kept_of_bucket(buckets[1], keys[1]));
    const st_two_found two = {(uint32_t)vgetq_lane_u64(both, 0) & ST_SLOT_MERGED, (uint32_t)vgetq_lane_u64(both, 1) & ST_SLOT_MERGED};
    return two;
}

#include "merge/smallest.h"
