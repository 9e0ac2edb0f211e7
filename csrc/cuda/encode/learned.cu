/* learned.cu - words that were merged, so that the next ones are looked up: a table on the device that all slices and calls of an
 * encoder share.
 *
 * A word learned has an entry in the first table (tables.cu), in a place that no token and no frequent word took. Its number there is
 * the one of a record here, counted behind the entries of the image. The place is that of its hash or, if that is taken, the other one
 * of the same 32 bytes. A word that is longer than a key of the first table has one place, by all of its bytes; the last ones are in
 * its record. What finds no free place, or no free record, is not learned.
 *
 * Kernels of other streams may read a place while it is written, and see any mixture of old and new words of 32 bits. A free place
 * has bytes that no text holds, so that no mixture matches a text but the whole entry; and the record is written before the entry. A
 * record is never changed again, and its memory is not read before it is written. */
#ifndef ST_CUDA_ENCODE_LEARNED_CU
#define ST_CUDA_ENCODE_LEARNED_CU

#include "cuda/encode/tables.cu"

#define ST_LEARNED_IDS 7 /* of a record: two uint4, the last number of which has the bytes behind those of the entry */
#define ST_CLAIMED 1u    /* of a place that is being written: no length, and a number */

/* Loads what another multiprocessor may have written during this launch. */
ST_FORCE_INLINE uint4 st_load_new(const uint4 *at)
{
#ifdef __CUDA_ARCH__
    uint4 value;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(at)
                 : "memory");
    return value;
#else
    return *at;
#endif
}

/* Entries of the image: the numbers of words learned begin behind them. */
ST_FORCE_INLINE uint64_t st_entry_count(const st_job *job)
{
    return 2 * (job->piece_mask + 1);
}

/* The bytes of a word behind those that its entry holds. */
ST_FORCE_INLINE uint32_t st_tail_of(const st_job *job, uint32_t number)
{
    return st_load_new(job->learned + 2 * (number - st_entry_count(job)) + 1).w;
}

/* The place of a word of n bytes that is not in that of its first bytes. */
ST_FORCE_INLINE uint32_t st_other_place(uint4 key, uint32_t tail, unsigned n, uint64_t shift)
{
    const uint32_t hash = st_first_hash(key.x ^ tail * ST_FACTOR_LAST, key.y, key.z);
    return (hash >> shift) ^ (n <= ST_FIRST_BYTES);
}

/* Has the entry these bytes and this length? */
ST_FORCE_INLINE int st_is_entry_of(uint4 entry, uint4 key, unsigned n)
{
    return !((entry.x ^ key.x) | (entry.y ^ key.y) | (entry.z ^ key.z) | ((entry.w >> ST_FIRST_LENGTH & 15) ^ n));
}

/* A place that this thread is to write, NULL: there is none; and the entry's bit that says whether it is crowded. */
typedef struct st_claim {
    uint4 *place;
    uint32_t crowded;
} st_claim;

/* Claims `place` for a word, if it is free. Returns whether that decides: 0 if another word is there. */
ST_INLINE int st_claim_free(uint4 *place, uint4 key, unsigned n, st_claim *claim)
{
    const uint4 entry = st_load_new(place);
    const uint32_t crowded = entry.w & 1u << ST_FIRST_CROWDED;
    if (entry.w == crowded) {
        claim->place = atomicCAS(&place->w, crowded, crowded | ST_CLAIMED) == crowded ? place : 0;
        claim->crowded = crowded;
        return 1;
    }
    const int is_written = (entry.w >> ST_FIRST_LENGTH & 15) != 0; /* else it may be for this word */
    return !is_written || st_is_entry_of(entry, key, n);
}

ST_FORCE_INLINE uint4 st_entry_key(st_key bytes)
{
    uint4 key;
    key.x = (uint32_t)bytes.low, key.y = (uint32_t)(bytes.low >> 32), key.z = (uint32_t)bytes.high, key.w = 0;
    return key;
}

ST_FORCE_INLINE uint32_t st_key_tail(st_key bytes)
{
    return (uint32_t)(bytes.high >> 32) & 0xFFFFFF;
}

/* Claims a place for a word of n bytes, unless it has one. */
ST_INLINE st_claim st_claim_place(const st_job *job, st_key bytes, unsigned n)
{
    uint4 *first = (uint4 *)job->first;
    const uint4 key = st_entry_key(bytes);
    const uint32_t other = st_other_place(key, st_key_tail(bytes), n, job->first_shift);
    st_claim claim = {0, 0};
    if (n > ST_FIRST_BYTES || !st_claim_free(&first[other ^ 1], key, n, &claim))
        st_claim_free(&first[other], key, n, &claim);
    return claim;
}

/* Writes the word and its `count` ids; zeros follow them. */
ST_INLINE void st_write_word(const st_job *job, st_claim claim, st_key bytes, unsigned n, const uint32_t *ids, uint32_t count)
{
    const uint64_t number = atomicAdd(job->learned_count, 1u);
    if (number >= job->learned_room)
        return; /* the place stays claimed: as many as there are threads at most */
    uint4 low, high, entry = st_entry_key(bytes);
    low.x = ids[0], low.y = ids[1], low.z = ids[2], low.w = ids[3];
    high.x = ids[4], high.y = ids[5], high.z = ids[6], high.w = st_key_tail(bytes);
    job->learned[2 * number] = low;
    job->learned[2 * number + 1] = high;
    entry.w = (uint32_t)(st_entry_count(job) + number) | count << ST_FIRST_IDS | n << ST_FIRST_LENGTH | claim.crowded;
    __threadfence();
    *claim.place = entry;
}

#endif
