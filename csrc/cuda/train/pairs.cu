/* pairs.cu - pairs of neighbouring tokens: their table, the order among pairs with the same count, and the notes that a merge makes
 * of its neighbours. */
#ifndef ST_CUDA_TRAIN_PAIRS_CU
#define ST_CUDA_TRAIN_PAIRS_CU

#include "cuda/train/job.h"

ST_FORCE_INLINE uint64_t st_pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}

/* The pair, or NULL. */
ST_INLINE st_pair *st_find_pair(const st_learning *job, uint64_t key)
{
    for (uint64_t at = st_hash_number(key) & job->pair_mask;; at = (at + 1) & job->pair_mask) {
        st_pair *pair = &job->pairs[at];
        const uint64_t there = *(const volatile uint64_t *)&pair->key;
        if (there == key)
            return pair;
        if (there == ST_NO_PAIR)
            return NULL;
    }
}

/* The pair, entered if it was not there; NULL: there is no room. Free entries are zero. Threads that enter pairs
 * at the same time may each exceed the limit by one; the table has room for that. */
ST_INLINE st_pair *st_add_pair(const st_learning *job, uint64_t key)
{
    for (uint64_t at = st_hash_number(key) & job->pair_mask;; at = (at + 1) & job->pair_mask) {
        st_pair *pair = &job->pairs[at];
        uint64_t there = *(const volatile uint64_t *)&pair->key;
        if (there == ST_NO_PAIR) {
            if (*(const volatile uint64_t *)&job->learned->pair_count >= job->pair_limit)
                return NULL;
            there = st_swap64(&pair->key, ST_NO_PAIR, key);
            if (there == ST_NO_PAIR) {
                st_add64(&job->learned->pair_count, 1);
                return pair;
            }
        }
        if (there == key)
            return pair;
    }
}

/* Whether the token of two tokens of these lengths is short enough (train/tokens.h). */
ST_FORCE_INLINE int st_may_merge(const st_learning *job, uint64_t left_length, uint64_t right_length)
{
    const uint64_t n = left_length + right_length;
    return job->by_bytes ? n <= job->max_token_bytes : n == 2 || n < job->max_token_bytes;
}

/* ---- ties ---- */

/* Compares the bytes of two tokens like memcmp; a prefix comes before a longer token. */
ST_INLINE int st_compare_tokens(const st_learning *job, uint32_t a, uint32_t b)
{
    const uint32_t n = job->lengths[a], m = job->lengths[b];
    if (job->prefixes[a] != job->prefixes[b])
        return job->prefixes[a] < job->prefixes[b] ? -1 : 1;
    const uint8_t *left = job->bytes + job->starts[a], *right = job->bytes + job->starts[b];
    for (uint32_t i = 0; i < n && i < m; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return n < m ? -1 : n > m;
}

/* Of two different pairs with the same count: does the first go before the second? */
ST_INLINE int st_goes_before(const st_learning *job, uint64_t first, uint64_t second)
{
    if (!job->by_bytes)
        return first < second;
    const uint32_t left = (uint32_t)(first >> 32), other = (uint32_t)(second >> 32);
    if (left != other)
        return st_compare_tokens(job, left, other) > 0;
    return st_compare_tokens(job, (uint32_t)first, (uint32_t)second) > 0;
}

/* ---- the row ---- */

ST_FORCE_INLINE uint64_t st_weight_at(const st_learning *job, uint64_t place)
{
    const uint32_t weight = job->weights[place];
    return weight & ST_HEAVY ? job->heavy[weight & ~ST_HEAVY] : weight;
}

/* The token that ends in front of the place, or ST_BORDER. */
ST_FORCE_INLINE uint32_t st_token_before(const st_learning *job, uint64_t place)
{
    const uint32_t token = job->row[place - 1];
    return token == ST_BORDER ? token : token & ~ST_LAST;
}

/* ---- where the time goes ---- */

/* Adds the cycles since the last call to a stage; for the first thread. */
ST_FORCE_INLINE void st_tick(const st_learning *job, int stage)
{
#ifdef ST_COUNT_CYCLES
    __shared__ long long before;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        const long long now = clock64();
        if (stage >= 0)
            job->learned->cycles[stage] += (uint64_t)(now - before);
        before = now;
    }
#else
    (void)job, (void)stage;
#endif
}

/* ---- threads that do something together ---- */

/* The first block, or all blocks. */
typedef struct st_team {
    uint64_t rank, size;
    int all;
    uint32_t *meetings;
} st_team;

ST_INLINE void st_meet_team(const st_learning *job, const st_team *team)
{
    if (team->all)
        st_meet((uint32_t *)&job->learned->arrived, team->meetings);
    else
        __syncthreads();
}

#endif
