/* The pair table: (left token, right token) -> merged token, one pair for each token that merging can make.
 *
 * Inside the core a token is its INDEX in rank order, so "smaller index" is "merges earlier"; ids appear at the very end.
 * The last merge of a token joins the same two tokens wherever it is made, because a span that no merge has crossed merges as if
 * it stood alone. So each token needs one pair, and looking up pairs of indices gives the same as looking up the joined bytes.
 *
 * Pairs of early tokens are looked up in a dense N x N grid. All pairs are also in a hash table of buckets: eight slots in one
 * cache line, compared together without a branch, because on text a miss is as likely as a hit. A bucket that has overflowed is
 * marked. The table is filled so little that few are.
 * Thread rule: immutable once built, any number of readers. */
#ifndef ST_PAIRS_PAIR_TABLE_H
#define ST_PAIRS_PAIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/key.h"
#include "base/status.h"


/* Two indices and a merged one share a 64-bit slot: 21 + 21 + 22 bits, of which the last has one to spare. */
#define ST_INDEX_BITS 21
#define ST_MAX_TOKENS ((1u << ST_INDEX_BITS) - 1)
#define ST_NO_TOKEN ST_MAX_TOKENS /* an index that no token has: pairs with it are in no table */

/* Grid side: benchmarks/encode/bench_pair_grid.py measures 256 to 4096 and docs/stages.md shows why this one. */
#define ST_DENSE_DEFAULT 256

typedef struct st_pairs {
    uint32_t byte_token[256]; /* token of each single byte, ST_NONE while building */
    uint32_t dense_side;      /* N */
    uint32_t shift;           /* 64 - log2(buckets) */
    uint64_t mask;            /* buckets - 1 */
    uint32_t *dense;          /* [left * N + right] = merged + 1, 0 = no pair */
    uint64_t *slots;          /* ST_BUCKET a bucket: left << 43 | right << 22 | (merged + 1), or ST_EMPTY_SLOT */
} st_pairs;

#define ST_BUCKET 8
#define ST_OVERFLOWED ((uint64_t)1 << ST_INDEX_BITS) /* in the first slot of a bucket */
#define ST_SLOT_MERGED (ST_OVERFLOWED - 1)           /* the bits of merged + 1 */
#define ST_EMPTY_SLOT (UINT64_MAX ^ ST_OVERFLOWED)   /* the key of no pair */

/* An empty table with room for `count` pairs. dense_side 0 means ST_DENSE_DEFAULT. ST_NO_MEMORY: nothing is held. */
st_status st_pairs_init(st_pairs *pairs, size_t count, uint32_t dense_side);
void st_pairs_free(st_pairs *pairs);
void st_pairs_insert(st_pairs *pairs, uint32_t left, uint32_t right, uint32_t merged);

/* The key of a pair: its slot without the merged token. */
static inline uint64_t st_pair_key(uint32_t left, uint32_t right)
{
    return ((uint64_t)left << ST_INDEX_BITS | right) << (ST_INDEX_BITS + 1);
}

static inline const uint64_t *st_pair_bucket(const st_pairs *pairs, uint64_t key)
{
    return pairs->slots + ST_BUCKET * (((key >> (ST_INDEX_BITS + 1)) * ST_GOLDEN) >> pairs->shift);
}

/* A bucket without pairs, for look-ups that are not to find anything. */
extern ST_ALIGNED_64 const uint64_t st_empty_bucket[ST_BUCKET];

/* Looks the key up in its bucket: 1 + the token that the pair merges to, 0 for none. At most one slot holds the key, so the results
 * of all slots are ored without a branch. */
static inline uint32_t st_bucket_find(const uint64_t *bucket, uint64_t key)
{
    uint64_t found = 0;
    for (int i = 0; i < ST_BUCKET; i++)
        found |= (bucket[i] | (ST_OVERFLOWED | ST_SLOT_MERGED)) == (key | (ST_OVERFLOWED | ST_SLOT_MERGED)) ? bucket[i] : 0;
    return (uint32_t)(found & ST_SLOT_MERGED);
}

/* The same for a bucket that has overflowed: looks at the buckets behind it, too. */
uint32_t st_pairs_find_further(const st_pairs *pairs, const uint64_t *bucket, uint64_t key);

/* The address that the look-up of this pair reads first, to prefetch it. */
static inline const void *st_pairs_place(const st_pairs *pairs, uint32_t left, uint32_t right)
{
    return st_pair_bucket(pairs, st_pair_key(left, right));
}

/* The token that left and right merge to, or ST_NONE. */
static inline uint32_t st_pairs_find(const st_pairs *pairs, uint32_t left, uint32_t right)
{
    const uint32_t side = pairs->dense_side;
    if (left < side && right < side)
        return pairs->dense[(size_t)left * side + right] - 1; /* 0 - 1 == ST_NONE */
    const uint64_t key = st_pair_key(left, right), *bucket = st_pair_bucket(pairs, key);
    const int overflowed = (bucket[0] & ST_OVERFLOWED) != 0; /* seldom */
    return (overflowed ? st_pairs_find_further(pairs, bucket, key) : st_bucket_find(bucket, key)) - 1;
}

/* Whether a merge across the border of two tokens comes before those that made them. Undoes the latest merge again and again: that
 * of the greater token, of equal ones that of the right one, which was made later. After each step the tokens at the border must
 * not merge to a token below the one just undone; at first, not to one below `limit`. left_of, right_of: token -> its pair;
 * ST_NONE for tokens that are there from the start. */
static inline int st_pairs_cross(const st_pairs *pairs, const uint32_t *left_of, const uint32_t *right_of, uint32_t left,
                                 uint32_t right, uint32_t limit)
{
    for (;;) {
        if (limit && st_pairs_find(pairs, left, right) < limit)
            return 1;
        const int left_starts = left_of[left] == ST_NONE, right_starts = left_of[right] == ST_NONE;
        if (left_starts && right_starts)
            return 0;
        if (right_starts || (!left_starts && left > right)) {
            limit = left;
            left = right_of[left];
        } else {
            limit = right + 1;
            right = left_of[right];
        }
    }
}

#endif
