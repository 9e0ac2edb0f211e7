/* choose.cu - the pair to merge next: the best of the front, which holds all pairs seen front_least times or more.
 *
 * Counts only fall once the merge that made a pair is done, so only pairs that merges make are added to the front. Pairs that
 * have fallen below front_least are skipped. When no other pair is left, the front is filled anew from the table with a lower
 * front_least, chosen by a histogram so that it has about front_wish pairs. Only counts and the rule for ties decide, so the choice
 * does not depend on the order of the front. */
#include "cuda/train/pairs.cu"

#define ST_BUCKETS 1024 /* by the highest bit of a count and the four behind it */

/* Shared memory of the first block. */
typedef struct st_lead_memory {
    uint64_t best[32]; /* by warp */
    uint32_t tied[1024];
    uint32_t histogram[ST_BUCKETS];
    uint32_t tied_count, winner, decision, unused;
} st_lead_memory;

/* ---- the front ---- */

ST_FORCE_INLINE unsigned st_bucket_of(uint64_t count)
{
    const unsigned high = 63 - (unsigned)__clzll((long long)count); /* number of the highest bit; count > 0 */
    return high < 4 ? (unsigned)count : 16 * (high - 3) + ((unsigned)(count >> (high - 4)) & 15);
}

/* The least count in the bucket. */
ST_FORCE_INLINE uint64_t st_bucket_least(unsigned bucket)
{
    return bucket < 32 ? bucket : (uint64_t)(16 + bucket % 16) << (bucket / 16 - 1);
}

ST_FORCE_INLINE int st_is_frequent(const st_pair *pair, uint64_t least)
{
    return pair->key != ST_NO_PAIR && pair->count >= least;
}

/* Counts the pairs by bucket, first in each block, then in all of them together. */
ST_INLINE void st_fill_histogram(const st_learning *job, const st_team *team, st_lead_memory *m)
{
    for (unsigned i = threadIdx.x; i < ST_BUCKETS; i += blockDim.x)
        m->histogram[i] = 0;
    __syncthreads();
    for (uint64_t i = team->rank; i <= job->pair_mask; i += team->size)
        if (st_is_frequent(&job->pairs[i], job->learned->least))
            atomicAdd(&m->histogram[st_bucket_of(job->pairs[i].count)], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < ST_BUCKETS; i += blockDim.x)
        if (m->histogram[i])
            atomicAdd(&job->histogram[i], m->histogram[i]);
}

/* Sets the greatest front_least with which the front has as many pairs as wished; by one warp, lane 0 with the greatest counts. */
ST_INLINE void st_set_front_least(const st_learning *job, unsigned lane)
{
    const unsigned own = ST_BUCKETS / 32, last = ST_BUCKETS - 1 - own * lane;
    uint32_t sum = 0;
    for (unsigned i = 0; i < own; i++)
        sum += job->histogram[last - i];
    const uint64_t before = st_take_for_warp(&job->learned->front_count, sum, lane); /* front_count is 0 before */
    uint64_t total = before;
    for (unsigned i = 0; i < own && before < job->front_wish; i++) {
        total += job->histogram[last - i];
        if (total >= job->front_wish) {
            const uint64_t least = st_bucket_least(last - i);
            job->learned->front_least = least > job->learned->least ? least : job->learned->least;
            break;
        }
    }
}

ST_INLINE void st_fill_front(const st_learning *job, const st_team *team, st_lead_memory *m)
{
    const unsigned lane = threadIdx.x & 31;
    if (team->rank == 0) {
        job->learned->front_count = 0;
        job->learned->front_least = job->learned->least;
        job->learned->fronts++;
    }
    for (uint64_t i = team->rank; i < ST_BUCKETS; i += team->size)
        job->histogram[i] = 0;
    st_meet_team(job, team);
    st_fill_histogram(job, team, m);
    st_meet_team(job, team);
    if (team->rank < 32)
        st_set_front_least(job, lane);
    st_meet_team(job, team);
    if (team->rank == 0)
        job->learned->front_count = 0;
    st_meet_team(job, team);
    for (uint64_t i = team->rank; i <= job->pair_mask; i += team->size) {
        const int in = st_is_frequent(&job->pairs[i], job->learned->front_least);
        const uint64_t at = st_take_for_warp(&job->learned->front_count, (uint64_t)in, lane);
        if (in)
            job->front[at] = (uint32_t)i;
    }
    st_meet_team(job, team);
    if (team->rank == 0)
        job->learned->front_filled = job->learned->front_count;
}

/* ---- the best ---- */

ST_FORCE_INLINE uint64_t st_greatest_of_warp(uint64_t count)
{
    for (int step = 16; step; step /= 2) {
        const uint64_t other = __shfl_xor_sync(0xFFFFFFFFu, count, step);
        count = other > count ? other : count;
    }
    return count;
}

/* The better of two places in the table whose pairs are seen equally often; UINT32_MAX: none. */
ST_INLINE uint32_t st_better(const st_learning *job, uint32_t a, uint32_t b)
{
    if (a == b || b == UINT32_MAX)
        return a;
    return a == UINT32_MAX || st_goes_before(job, job->pairs[b].key, job->pairs[a].key) ? b : a;
}

/* The best of this thread's pairs of the front. */
ST_INLINE uint32_t st_best_of_thread(const st_learning *job, uint64_t *count)
{
    const uint64_t size = job->learned->front_count;
    uint32_t best = UINT32_MAX;
    *count = 0;
    for (uint64_t i = threadIdx.x; i < size; i += blockDim.x) {
        const uint32_t at = job->front[i];
        const uint64_t other = *(const volatile uint64_t *)&job->pairs[at].count;
        if (other > *count)
            best = at, *count = other;
        else if (other == *count && other)
            best = st_better(job, best, at);
    }
    return best;
}

/* The best of the tied pairs, by the first warp. */
ST_INLINE uint32_t st_best_of_tied(const st_learning *job, const st_lead_memory *m, unsigned lane)
{
    uint32_t best = UINT32_MAX;
    for (unsigned i = lane; i < m->tied_count; i += 32)
        best = st_better(job, best, m->tied[i]);
    for (int step = 16; step && m->tied_count > 1; step /= 2) {
        const uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, best, step);
        best = st_better(job, best, other);
    }
    return best;
}

/* The place in the table of the best pair of the front, UINT32_MAX for none; the same for all threads of the first block. */
ST_INLINE uint32_t st_choose(const st_learning *job, st_lead_memory *m)
{
    uint64_t count, greatest;
    const unsigned lane = threadIdx.x & 31, warps = blockDim.x / 32;
    const uint32_t best = st_best_of_thread(job, &count);
    greatest = st_greatest_of_warp(count);
    if (lane == 0)
        m->best[threadIdx.x / 32] = greatest;
    if (threadIdx.x == 0)
        m->tied_count = 0;
    __syncthreads();
    greatest = st_greatest_of_warp(lane < warps ? m->best[lane] : 0);
    if (greatest < job->learned->front_least || greatest == 0)
        return UINT32_MAX; /* all threads meet before `best` is written again */
    if (count == greatest)
        m->tied[atomicAdd(&m->tied_count, 1u)] = best;
    __syncthreads();
    if (threadIdx.x < 32) {
        const uint32_t winner = st_best_of_tied(job, m, lane);
        if (lane == 0)
            m->winner = winner;
    }
    __syncthreads();
    return m->winner;
}
