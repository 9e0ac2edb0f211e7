/* tables.cu - tables for the GPU, made of the image's, with one load a look-up. The lines and buckets of the image are made for a
 * CPU's vectors and cache lines.
 *
 * In the first table a hash has one place. Of the pieces with the same place the token of the lowest id gets it, which is the most
 * frequent one; frequent words come after all tokens. A place that was refused to another piece is marked as crowded: a piece that
 * is not found there is then looked up in the image's table, by second_look.cu. */
#ifndef ST_CUDA_ENCODE_TABLES_CU
#define ST_CUDA_ENCODE_TABLES_CU

#include "cuda/job.h"

/* Primes of 32 bits with irregular bits: a factor for each uint32 of a key, and one for the sum. */
#define ST_FACTOR_A 0x9E3779B1u
#define ST_FACTOR_B 0x85EBCA77u
#define ST_FACTOR_C 0xC2B2AE3Du
#define ST_FACTOR_LAST 0x27D4EB2Fu

/* ---- pairs ---- */

/* Two slots a bucket, one load: left << 43 | right << 22 | (merged + 1); UINT64_MAX where free. `mask` is that of the
 * buckets. */
ST_FORCE_INLINE uint32_t st_pair_place(uint32_t left, uint32_t right, uint64_t mask)
{
    uint32_t hash = left * ST_FACTOR_A ^ right * ST_FACTOR_B;
    hash ^= hash >> 15;
    return (hash * ST_FACTOR_LAST >> 3) & (uint32_t)mask;
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

/* Pieces of up to 12 bytes: the bytes, zero filled, in three words; in the fourth the id or the image's entry (21 bits), the
 * number of ids (3 bits; of more than one the entry is given), the length (4 bits, 0: free), and whether others go without
 * (1 bit). */
#define ST_FIRST_BYTES 12
#define ST_FIRST_ID 0x1FFFFFu
#define ST_FIRST_IDS 21 /* the numbers of the bits */
#define ST_FIRST_LENGTH 24
#define ST_FIRST_CROWDED 28

ST_FORCE_INLINE uint32_t st_first_hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t hash = a * ST_FACTOR_A ^ b * ST_FACTOR_B ^ c * ST_FACTOR_C;
    hash ^= hash >> 15;
    return hash * ST_FACTOR_LAST;
}

/* The bytes of an entry and their number, or of a blank and these bytes: where words are looked up with the blank in front. */
ST_INLINE uint4 st_bytes_of(const st_piece_entry *entry, int blank)
{
    uint4 key;
    key.x = (uint32_t)entry->key.low;
    key.y = (uint32_t)(entry->key.low >> 32);
    key.z = (uint32_t)entry->key.high;
    key.w = (uint32_t)(entry->key.high >> 56) & 15;
    if (blank) {
        key.z = key.z << 8 | key.y >> 24;
        key.y = key.y << 8 | key.x >> 24;
        key.x = key.x << 8 | ' ';
        key.w++;
    }
    return key;
}

/* The place of an entry in the first table, and its order: the lowest one gets the place, UINT32_MAX never does. Returns 0 if the
 * entry is not looked up in the first table. */
ST_INLINE int st_first_place(const st_piece_entry *entry, int blank, uint64_t shift, uint64_t *place, uint32_t *order)
{
    const uint4 key = st_bytes_of(entry, blank);
    const unsigned count = st_piece_count(entry);
    if (!count || key.w > ST_FIRST_BYTES)
        return 0;
    *place = st_first_hash(key.x, key.y, key.z) >> shift;
    *order = count == 1 ? entry->ids[0] : 0x80000000u | (uint32_t)(st_hash_key(entry->key) >> 33);
    if (count > ST_INLINE_IDS || (count == 1 && entry->ids[0] > ST_FIRST_ID))
        *order = UINT32_MAX;
    return 1;
}

/* First pass: finds the lowest order for each place, and the places that more than one entry has. `orders` must be UINT32_MAX and
 * `crowded` 0 before. */
ST_INLINE void st_claim_place(const st_job *job, uint64_t number, uint32_t *orders, uint32_t *crowded)
{
    for (int blank = 0; blank <= (job->most != 0); blank++) {
        uint64_t place;
        uint32_t order;
        if (st_first_place(&job->entries[number], blank, job->first_shift, &place, &order) &&
            (atomicMin(&orders[place], order) != UINT32_MAX || order == UINT32_MAX))
            crowded[place] = 1;
    }
}

/* Second pass: writes the entries that got a place. `first` must be UINT32_MAX before. Two frequent words may have the same order; the one written last stays. */
ST_INLINE void st_take_place(const st_job *job, uint64_t number, const uint32_t *orders, uint4 *first)
{
    const st_piece_entry *entry = &job->entries[number];
    for (int blank = 0; blank <= (job->most != 0); blank++) {
        uint64_t place;
        uint32_t order;
        if (!st_first_place(entry, blank, job->first_shift, &place, &order) || order == UINT32_MAX || orders[place] != order)
            continue;
        const uint32_t count = st_piece_count(entry);
        uint4 taken = st_bytes_of(entry, blank);
        taken.w = (count == 1 ? entry->ids[0] : (uint32_t)number) | count << ST_FIRST_IDS | taken.w << ST_FIRST_LENGTH;
        first[place] = taken;
    }
}

/* Third pass: marks the crowded places. A place that nothing took has 0 for its length then, and bytes that no text holds. */
ST_INLINE void st_mark_place(uint64_t place, const uint32_t *crowded, uint4 *first)
{
    const uint32_t taken = first[place].w == UINT32_MAX ? 0 : first[place].w;
    first[place].w = taken | crowded[place] << ST_FIRST_CROWDED;
}

/* ---- long tokens ---- */

/* A bit set by the first eight bytes and the length of each token that is longer than a key. Nearly all long atoms are no tokens;
 * most of them need not be hashed as a whole. */
#define ST_FILTER_BITS 20

ST_FORCE_INLINE uint32_t st_filter_place(uint64_t first_eight, unsigned n)
{
    return (uint32_t)(((first_eight ^ n) * ST_GOLDEN) >> (64 - ST_FILTER_BITS));
}

ST_INLINE void st_enter_filter(const uint8_t *token, uint64_t n, uint32_t *filter)
{
    uint64_t first_eight = 0;
    if (n <= ST_KEY_BYTES)
        return;
    for (int i = 0; i < 8; i++)
        first_eight |= (uint64_t)token[i] << 8 * i;
    const uint32_t place = st_filter_place(first_eight, (unsigned)n);
    atomicOr(&filter[place / 32], 1u << (place & 31));
}

#endif
