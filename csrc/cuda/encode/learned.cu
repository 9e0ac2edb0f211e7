/* learned.cu - words that took more than one look, so that the next ones are found at once: a table on the device that all slices and
 * calls of an encoder share.
 *
 * A word learned has an entry in the first table (tables.cu), in a place that no token and no frequent word took. Its number there is
 * the one of a record here, counted behind the entries of the image. The place is that of its hash or, if that is taken, the other one
 * of the same 32 bytes. That of a word that is longer than a key of the first table is by all of its bytes; those behind the key are in
 * its record. What finds no free place, or no free record, is not learned.
 *
 * Kernels of other streams may read a place while it is written, and see any mixture of old and new words of 32 bits. A free place
 * has bytes that no text holds, so that no mixture matches a text but the whole entry; and the record is written before the entry. A
 * record is never changed again, and its memory is not read before it is written. */
#ifndef ST_CUDA_ENCODE_LEARNED_CU
#define ST_CUDA_ENCODE_LEARNED_CU

#include "cuda/encode/tables.cu"

/* A record is one unit of two uint4 or several, numbered by the first: ST_HEAD_IDS ids and a mark (st_mark_of, and above it the
 * number of ids); the other ids; and for a word of more than ST_KEY_BYTES the bytes behind the key. An entry has the number of ids as
 * far as three bits hold it, else ST_MANY_IDS. A word of one id has ST_HOLE for its second one: the first look trusts an entry of one
 * id. In text whose words the vocabulary does not know, white space and characters take an id each: these bounds leave out one in a
 * hundred of the words that code and multilingual text have beyond seven ids. */
#define ST_LEARNED_IDS 47 /* the head and five units */
#define ST_LEARNED_BYTES 76 /* the key of the first table and two units */
#define ST_HEAD_IDS 7
#define ST_MANY_IDS 7u /* this many or more */
#define ST_UNIT 8 /* numbers of 32 bits */
#define ST_MARK_COUNT 24 /* the lowest bit of the number of ids in a mark */
#define ST_LEARNED_WORDS (ST_LEARNED_BYTES / 4)
#define ST_KEY_WORDS (ST_FIRST_BYTES / 4)
#define ST_CLAIMED 1u /* of a place that is being written: no length, and a number */

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

ST_FORCE_INLINE uint32_t st_load_new(const uint32_t *at)
{
#ifdef __CUDA_ARCH__
    uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
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

ST_FORCE_INLINE const uint4 *st_record_of(const st_job *job, uint32_t number)
{
    return job->learned + 2 * (number - st_entry_count(job));
}

ST_FORCE_INLINE uint32_t st_load_mark(const uint4 *record)
{
    return st_load_new((const uint32_t *)record + ST_HEAD_IDS);
}

/* The number of ids of an entry or a record, from what the first table says. */
ST_FORCE_INLINE uint32_t st_count_of(const st_job *job, uint32_t known)
{
    const uint32_t count = known >> ST_FIRST_IDS;
    return count == ST_MANY_IDS ? st_load_mark(st_record_of(job, known & ST_FIRST_ID)) >> ST_MARK_COUNT : count;
}

/* Units of a record for its mark and ids, and for the bytes of the word. */
ST_FORCE_INLINE uint32_t st_id_units(uint32_t count)
{
    return 1 + count / ST_UNIT;
}

ST_FORCE_INLINE uint32_t st_byte_units(uint32_t n)
{
    return n > ST_KEY_BYTES ? (n - ST_FIRST_BYTES + 4 * ST_UNIT - 1) / (4 * ST_UNIT) : 0;
}

/* A word of n bytes, at most ST_LEARNED_BYTES, zero filled; its first three numbers always are. */
typedef struct st_word {
    unsigned n;
    uint32_t words[ST_LEARNED_WORDS];
} st_word;

ST_FORCE_INLINE uint32_t st_part(const st_word &word, unsigned k)
{
    return word.words[k];
}

/* What tells words apart that have the same entry: the bytes behind the key, at most three, or for a long word its length. */
template <typename Word> ST_FORCE_INLINE uint32_t st_mark_of(const Word &word)
{
    return word.n > ST_KEY_BYTES ? word.n : word.n > ST_FIRST_BYTES ? st_part(word, ST_KEY_WORDS) : 0;
}

/* Where a word is looked for next: behind the first look, or the place by all of its bytes. */
template <typename Word> ST_FORCE_INLINE uint32_t st_other_place(const Word &word, uint64_t shift)
{
    uint32_t rest = 0;
    for (unsigned k = ST_KEY_WORDS; 4 * k < word.n; k++)
        rest = (rest ^ st_part(word, k)) * ST_FACTOR_LAST;
    const uint32_t hash = st_first_hash(st_part(word, 0) ^ rest ^ rest >> 15, st_part(word, 1), st_part(word, 2));
    return (hash >> shift) ^ (word.n <= ST_FIRST_BYTES);
}

/* Has the entry the first bytes and the length of the word? */
template <typename Word> ST_FORCE_INLINE int st_is_entry_of(uint4 entry, const Word &word)
{
    return !((entry.x ^ st_part(word, 0)) | (entry.y ^ st_part(word, 1)) | (entry.z ^ st_part(word, 2)) |
             ((entry.w >> ST_FIRST_LENGTH & 15) ^ min(word.n, 15u)));
}

/* Has the record the other bytes? */
template <typename Word> ST_INLINE int st_is_record_of(const uint4 *record, const Word &word)
{
    if (word.n <= ST_FIRST_BYTES)
        return 1;
    const uint32_t mark = st_load_mark(record);
    if ((mark ^ st_mark_of(word)) << (32 - ST_MARK_COUNT))
        return 0;
    if (word.n <= ST_KEY_BYTES)
        return 1;
    const uint4 *bytes = record + 2 * st_id_units(mark >> ST_MARK_COUNT);
    for (unsigned k = ST_KEY_WORDS; 4 * k < word.n; k++)
        if (st_load_new((const uint32_t *)bytes + k - ST_KEY_WORDS) != st_part(word, k))
            return 0;
    return 1;
}

/* Looks up a word that the first look did not find: its number and ids as in the first table; 0: it is not there. */
template <typename Word> ST_INLINE uint32_t st_find_learned(const st_job *job, const Word &word)
{
    const uint32_t place = st_other_place(word, job->first_shift);
#pragma unroll 1
    for (uint32_t i = 0; i < (word.n > ST_FIRST_BYTES ? 2 : 1); i++) {
        const uint4 entry = job->first[place ^ i];
        const uint32_t known = entry.w & ~(~0u << ST_FIRST_LENGTH);
        if (st_is_entry_of(entry, word) && st_is_record_of(st_record_of(job, known & ST_FIRST_ID), word))
            return known;
    }
    return 0;
}

/* ---- learning ---- */

/* A place that this thread is to write, NULL: there is none; and the entry's bit that says whether it is crowded. */
typedef struct st_claim {
    uint4 *place;
    uint32_t crowded;
} st_claim;

/* Claims `place` for a word, if it is free. Returns whether that decides: 0 if another word is there. */
ST_INLINE int st_claim_free(uint4 *place, const st_word *word, st_claim *claim)
{
    const uint4 entry = st_load_new(place);
    const uint32_t crowded = entry.w & 1u << ST_FIRST_CROWDED;
    if (entry.w == crowded) {
        claim->place = atomicCAS(&place->w, crowded, crowded | ST_CLAIMED) == crowded ? place : 0;
        claim->crowded = crowded;
        return 1;
    }
    const int is_written = (entry.w >> ST_FIRST_LENGTH & 15) != 0; /* else it may be for this word */
    return !is_written || st_is_entry_of(entry, *word);
}

/* Claims a place for a word, unless it has one. */
ST_INLINE st_claim st_claim_place(const st_job *job, const st_word *word)
{
    uint4 *first = (uint4 *)job->first;
    const uint32_t other = st_other_place(*word, job->first_shift);
    st_claim claim = {0, 0};
    const uint32_t before = word->n <= ST_FIRST_BYTES; /* which of the two is looked at first */
    if (!st_claim_free(&first[other ^ before], word, &claim))
        st_claim_free(&first[other ^ before ^ 1], word, &claim);
    return claim;
}

/* May a word of n bytes and so many ids be learned? */
ST_FORCE_INLINE int st_may_learn(const st_job *job, unsigned n, uint32_t count)
{
    return n >= 2 && n <= ST_LEARNED_BYTES && count <= ST_LEARNED_IDS && *job->learned_count < job->learned_capacity;
}

/* A record for the word and its `count` ids, which are still to be written; NULL: there is no room. The place that was claimed stays
 * so then: as many do as there are threads at most. */
ST_INLINE uint32_t *st_new_record(const st_job *job, const st_word *word, uint32_t count)
{
    const uint32_t id_units = st_id_units(count), units = id_units + st_byte_units(word->n);
    const uint64_t number = atomicAdd(job->learned_count, units);
    if (number + units > job->learned_capacity)
        return 0;
    uint32_t *numbers = (uint32_t *)(job->learned + 2 * number);
    numbers[1] = ST_HOLE; /* for a word of one id */
    numbers[ST_HEAD_IDS] = st_mark_of(*word) | count << ST_MARK_COUNT;
    for (unsigned k = ST_KEY_WORDS; 4 * k < word->n && units > id_units; k++)
        numbers[ST_UNIT * id_units + k - ST_KEY_WORDS] = st_part(*word, k);
    return numbers;
}

/* Writes id number i into a record. */
ST_FORCE_INLINE void st_put_learned(uint32_t *numbers, uint32_t i, uint32_t id)
{
    numbers[i + (i >= ST_HEAD_IDS)] = id;
}

/* Writes the entry, when the record is written. */
ST_INLINE void st_publish(const st_job *job, st_claim claim, const st_word *word, const uint32_t *numbers, uint32_t count)
{
    const uint32_t number = (uint32_t)(((const uint4 *)numbers - job->learned) / 2);
    const uint32_t told = count == 1 ? 2 : min(count, ST_MANY_IDS);
    uint4 entry;
    entry.x = st_part(*word, 0), entry.y = st_part(*word, 1), entry.z = st_part(*word, 2);
    entry.w = (uint32_t)(st_entry_count(job) + number) | told << ST_FIRST_IDS | min(word->n, 15u) << ST_FIRST_LENGTH | claim.crowded;
    __threadfence();
    *claim.place = entry;
}

#endif
