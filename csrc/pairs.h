/* The pair table: (left token, right token) -> merged token, one pair for each token that merging can make.
 *
 * Inside the core a token is its INDEX in rank order, so "smaller index" is "merges earlier"; ids appear at the very end.
 * A token's last merge joins the same two tokens wherever it is made (a span that no merge has crossed merges as if it
 * stood alone), so one pair a token is the whole truth, and pairs of indices decide what concatenated bytes would.
 *
 * Look-ups go to a dense N x N grid first, for pairs of early tokens, then to a hash of 8-byte slots. On text most
 * look-ups miss, so a miss must be as cheap as a hit: the hash is at most half full and a miss ends at an empty slot.
 * Thread rule: immutable once built, any number of readers. */
#ifndef ST_PAIRS_H
#define ST_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

#define ST_NONE UINT32_MAX

/* Two indices and a merged one share a 64-bit slot: 21 + 21 + 22 bits. */
#define ST_INDEX_BITS 21
#define ST_MAX_TOKENS (1u << ST_INDEX_BITS)

/* Grid side: benchmarks/bench_pair_grid.py measures 256 to 4096 and docs/design.md shows why this one. */
#define ST_DENSE_DEFAULT 256

typedef struct st_pairs {
    uint32_t byte_token[256]; /* token of each single byte, ST_NONE while building */
    uint32_t dense_side;      /* N */
    uint32_t shift;           /* 64 - log2(slots) */
    uint64_t mask;            /* slots - 1 */
    uint32_t *dense;          /* [left * N + right] = merged + 1, 0 = no pair */
    uint64_t *slots;          /* left << 43 | right << 22 | merged, or ST_EMPTY_SLOT */
} st_pairs;

#define ST_EMPTY_SLOT UINT64_MAX

/* An empty table with room for `count` pairs. dense_side 0 means ST_DENSE_DEFAULT. ST_NO_MEMORY: nothing is held. */
st_status st_pairs_init(st_pairs *pairs, size_t count, uint32_t dense_side);
void st_pairs_free(st_pairs *pairs);
void st_pairs_insert(st_pairs *pairs, uint32_t left, uint32_t right, uint32_t merged);

static inline uint64_t st_pair_slot(const st_pairs *pairs, uint64_t key)
{
    /* Fibonacci hashing: the multiplier is 2^64 / golden ratio, made odd; the high bits are the well mixed ones. */
    return (key * UINT64_C(0x9E3779B97F4A7C15)) >> pairs->shift;
}

/* The look-up in the hash, begun at the pair's own slot. */
static inline uint32_t st_pairs_find_from(const st_pairs *pairs, uint64_t at, uint32_t left, uint32_t right)
{
    uint64_t key = (uint64_t)left << ST_INDEX_BITS | right;
    for (;; at = (at + 1) & pairs->mask) {
        uint64_t slot = pairs->slots[at];
        if (slot >> (64 - 2 * ST_INDEX_BITS) == key && slot != ST_EMPTY_SLOT)
            return (uint32_t)(slot & ((1u << 22) - 1));
        if (slot == ST_EMPTY_SLOT)
            return ST_NONE;
    }
}

/* Where the look-up of this pair begins to read, to prefetch it. */
static inline const void *st_pairs_place(const st_pairs *pairs, uint32_t left, uint32_t right)
{
    uint32_t side = pairs->dense_side;
    if (left < side && right < side)
        return &pairs->dense[(size_t)left * side + right];
    return &pairs->slots[st_pair_slot(pairs, (uint64_t)left << ST_INDEX_BITS | right)];
}

/* The token that left and right merge to, or ST_NONE. */
static inline uint32_t st_pairs_find(const st_pairs *pairs, uint32_t left, uint32_t right)
{
    uint32_t side = pairs->dense_side;
    if (left < side && right < side)
        return pairs->dense[(size_t)left * side + right] - 1; /* 0 - 1 == ST_NONE */
    return st_pairs_find_from(pairs, st_pair_slot(pairs, (uint64_t)left << ST_INDEX_BITS | right), left, right);
}

#endif
