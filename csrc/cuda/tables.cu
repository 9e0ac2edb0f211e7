/* tables.cu - tables as the GPU wants them, made of the image's: one load a look-up. The image's lines and buckets are for a
 * CPU's vectors and cache lines.
 *
 * The first table has one place a hash and no second one: a piece that is not in its place is looked for in the image's
 * table later, by again.cu. Of pieces with one place the token of the lowest id has it, which is the most frequent one;
 * words come after all tokens. */
#ifndef ST_CUDA_TABLES_CU
#define ST_CUDA_TABLES_CU

#include "job.h"

/* ---- pairs ---- */

/* Two slots a bucket, one load: left << 43 | right << 22 | (merged + 1); UINT64_MAX where free. `mask` is that of the
 * buckets. */
ST_FORCE_INLINE uint32_t st_pair_place(uint32_t left, uint32_t right, uint64_t mask)
{
    uint32_t hash = left * 0x9E3779B1u ^ right * 0x85EBCA77u;
    hash ^= hash >> 15;
    return (hash * 0x27D4EB2Fu >> 3) & (uint32_t)mask;
}

/* Enters token number `token`, the merge of left and right. */
ST_INLINE void st_enter_pair(uint64_t *pairs, uint64_t mask, uint32_t left, uint32_t right, uint32_t token)
{
    const unsigned long long slot = (uint64_t)left << 43 | (uint64_t)right << 22 | (token + 1), free_slot = UINT64_MAX;
    if (left == 0xFFFFFFFFu) /* a single byte, or a token that merging does not make */
        return;
    for (uint64_t at = 2 * (uint64_t)st_pair_place(left, right, mask);; at = (at + 1) & (2 * mask + 1))
        if (atomicCAS((unsigned long long *)&pairs[at], free_slot, slot) == free_slot)
            return;
}

/* ---- the first table ---- */

/* Pieces of up to 12 bytes: the bytes, zero filled, in three words; in the fourth the id or the image's entry (21 bits),
 * the length (4 bits, 0: free) and the number of ids (3 bits; of more than one the entry is given). */
#define ST_FIRST_BYTES 12
#define ST_FIRST_ID 0x1FFFFFu

ST_FORCE_INLINE uint32_t st_first_hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t hash = a * 0x9E3779B1u ^ b * 0x85EBCA77u ^ c * 0xC2B2AE3Du;
    hash ^= hash >> 15;
    return hash * 0x27D4EB2Fu;
}

/* The place of an entry that belongs into the first table, and what decides who gets it; 0: it does not belong there. */
ST_INLINE int st_first_place(const st_piece_entry *entry, uint64_t shift, uint64_t *place, uint32_t *order)
{
    const unsigned n = (unsigned)(entry->key.high >> 56) & 15, count = st_piece_count(entry);
    if (!count || count > ST_INLINE_IDS || n > ST_FIRST_BYTES || (count == 1 && entry->ids[0] > ST_FIRST_ID))
        return 0;
    const uint32_t hash = st_first_hash((uint32_t)entry->key.low, (uint32_t)(entry->key.low >> 32), (uint32_t)entry->key.high);
    *place = hash >> shift;
    *order = count == 1 ? entry->ids[0] : 0x80000000u | (uint32_t)(st_hash_key(entry->key) >> 33);
    return 1;
}

/* The first round: who comes first in each place. `orders` are UINT32_MAX where nobody did. */
ST_INLINE void st_claim_place(const st_piece_entry *entry, uint64_t shift, uint32_t *orders)
{
    uint64_t place;
    uint32_t order;
    if (st_first_place(entry, shift, &place, &order))
        atomicMin(&orders[place], order);
}

/* The second: who did, moves in. Two words of one order may both: that of the last writer stays, and both are whole. */
ST_INLINE void st_take_place(const st_piece_entry *entries, uint64_t number, uint64_t shift, const uint32_t *orders, uint4 *first)
{
    const st_piece_entry *entry = &entries[number];
    uint64_t place;
    uint32_t order;
    if (!st_first_place(entry, shift, &place, &order) || orders[place] != order)
        return;
    const uint32_t n = (uint32_t)(entry->key.high >> 56) & 15, count = st_piece_count(entry);
    uint4 taken;
    taken.x = (uint32_t)entry->key.low;
    taken.y = (uint32_t)(entry->key.low >> 32);
    taken.z = (uint32_t)entry->key.high;
    taken.w = (count == 1 ? entry->ids[0] : (uint32_t)number) | n << 21 | count << 25;
    first[place] = taken;
}

#endif
