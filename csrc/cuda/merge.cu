/* merge.cu - deferred atoms to tokens: the pair of the smallest token first, the leftmost of equals, until none is left.
 *
 * Work items are taken from one counter, the longest atoms first. Up to 64 parts a thread merges an atom by itself, in shared
 * memory, as many side by side as it holds; a warp merges a longer one. One thread an atom beats a warp an atom by far,
 * because the steps of a merge depend on each other, and atoms are many. */
#include "again.cu"
#include "tables.cu"

#define ST_PARTS 512 /* of all atoms that a warp merges at a time */
#define ST_NO_CANDIDATE 0xFFFFFFFFu

/* Part i of an atom that is one of `lanes` lies at [i * lanes + lane]. A candidate is the token that a part and its next one
 * merge to << 9 | i, so that the smallest is the one to merge. */
typedef struct st_merge_memory {
    uint32_t candidates[ST_PARTS], tokens[ST_PARTS];
    uint32_t alive[ST_PARTS / 32];
} st_merge_memory;

/* ---- pairs ---- */

/* What a bucket (x, y, z, w) says of the pair: 1 + the token that it merges to, 0 for none. */
ST_FORCE_INLINE uint32_t st_in_bucket(uint4 bucket, uint32_t left, uint32_t right)
{
    const uint32_t high = left << 11 | right >> 10, low = right << 22;
    const uint32_t first = bucket.y == high && (bucket.x ^ low) < 1u << 22 ? bucket.x : 0;
    const uint32_t second = bucket.w == high && (bucket.z ^ low) < 1u << 22 ? bucket.z : 0;
    return (first | second) & 0x3FFFFF;
}

/* The same where the bucket is full and does not hold the pair: seldom. */
ST_INLINE uint32_t st_pair_further(const st_job *job, uint32_t place, uint32_t left, uint32_t right)
{
    const uint64_t key = (uint64_t)left << 21 | right;
    for (uint64_t at = 2 * (uint64_t)place + 2;; at++) {
        const uint64_t slot = job->pairs[at & (2 * job->pair_mask + 1)];
        if (slot >> 22 == key)
            return (uint32_t)slot & 0x3FFFFF;
        if (slot == UINT64_MAX)
            return 0;
    }
}

ST_FORCE_INLINE int st_is_full(uint4 bucket)
{
    return (bucket.z & bucket.w) != 0xFFFFFFFFu;
}

/* 1 + the token that the pair merges to, 0: none. */
ST_FORCE_INLINE uint32_t st_pair(const st_job *job, uint32_t left, uint32_t right)
{
    const uint32_t place = st_pair_place(left, right, job->pair_mask);
    const uint4 bucket = ((const uint4 *)job->pairs)[place];
    const uint32_t found = st_in_bucket(bucket, left, right);
    return found || !st_is_full(bucket) ? found : st_pair_further(job, place, left, right);
}

ST_FORCE_INLINE uint32_t st_candidate(uint32_t found, uint32_t place)
{
    return found ? (found - 1) << 9 | place : ST_NO_CANDIDATE;
}

/* ---- a thread an atom ---- */

/* The pairs of the parts. */
ST_FORCE_INLINE void st_begin_pairs(const st_job *job, uint32_t n, uint32_t *candidates, const uint32_t *tokens, unsigned lanes)
{
    const uint32_t side = (uint32_t)job->dense_side;
    uint32_t last = tokens[0];
    for (unsigned i = 1; i < n; i++) {
        const uint32_t token = tokens[i * lanes];
        const uint32_t found = last < side && token < side ? job->dense[last * side + token] : st_pair(job, last, token);
        candidates[(i - 1) * lanes] = st_candidate(found, i - 1);
        last = token;
    }
    candidates[(n - 1) * lanes] = ST_NO_CANDIDATE;
}

/* Merges the part `at` with the one behind it, to `merged`. `mask` has a bit for each part that is left. */
template <typename Mask>
ST_FORCE_INLINE Mask st_merge_at(const st_job *job, Mask mask, unsigned at, uint32_t merged, uint32_t *candidates, uint32_t *tokens,
                                 unsigned lanes)
{
    const Mask behind = mask & ~(Mask)1 << at, further = behind & (behind - 1), before = mask & (((Mask)1 << at) - 1);
    const unsigned gone = st_first_bit(behind), next = further ? st_first_bit(further) : at, last = before ? st_last_bit(before) : at;
    const uint32_t right_token = tokens[next * lanes], left_token = tokens[last * lanes];
    const uint32_t right_place = st_pair_place(merged, right_token, job->pair_mask);
    const uint32_t left_place = st_pair_place(left_token, merged, job->pair_mask);
    const uint4 none = {0, 0, 0xFFFFFFFFu, 0xFFFFFFFFu};
    const uint4 right_bucket = further ? ((const uint4 *)job->pairs)[right_place] : none;
    const uint4 left_bucket = before ? ((const uint4 *)job->pairs)[left_place] : none;
    uint32_t right = st_in_bucket(right_bucket, merged, right_token), left = st_in_bucket(left_bucket, left_token, merged);
    if (!right && st_is_full(right_bucket))
        right = st_pair_further(job, right_place, merged, right_token);
    if (!left && st_is_full(left_bucket))
        left = st_pair_further(job, left_place, left_token, merged);
    tokens[at * lanes] = merged;
    candidates[gone * lanes] = ST_NO_CANDIDATE;
    candidates[last * lanes] = st_candidate(left, last); /* without a part before, this is `at` itself, and comes right next */
    candidates[at * lanes] = st_candidate(right, at);
    return mask & ~((Mask)1 << gone);
}

/* Merges the n parts in `tokens`; returns which are left. */
template <typename Mask>
ST_FORCE_INLINE Mask st_merge_parts(const st_job *job, uint32_t n, uint32_t *candidates, uint32_t *tokens, unsigned lanes)
{
    Mask mask = ~(Mask)0 >> (8 * sizeof(Mask) - n);
    st_begin_pairs(job, n, candidates, tokens, lanes);
    for (;;) {
        uint32_t best = ST_NO_CANDIDATE;
        for (unsigned i = 0; i < n; i++)
            best = min(best, candidates[i * lanes]);
        if (best == ST_NO_CANDIDATE)
            return mask;
        mask = st_merge_at<Mask>(job, mask, best & 511, best >> 9, candidates, tokens, lanes);
    }
}

template <typename Mask>
ST_FORCE_INLINE void st_put_tokens(const st_job *job, const st_atom *atom, Mask mask, const uint32_t *tokens, unsigned lanes)
{
    uint32_t count = 0;
    for (; mask; mask &= mask - 1)
        job->slots[atom->slot + count++] = st_id_of(job, tokens[st_first_bit(mask) * lanes]);
    st_account(job, atom, count);
}

/* ---- a warp an atom ---- */

ST_INLINE uint32_t st_warp_min(uint32_t value)
{
    for (int step = 16; step; step /= 2)
        value = min(value, __shfl_xor_sync(0xFFFFFFFFu, value, step));
    return value;
}

/* The next part alive behind `at`, ST_PARTS if there is none. */
ST_INLINE unsigned st_next_alive(const uint32_t *alive, unsigned at)
{
    for (unsigned word = at / 32; word < ST_PARTS / 32; word++) {
        const uint32_t bits = alive[word] & (word == at / 32 ? 0xFFFFFFFEu << (at & 31) : 0xFFFFFFFFu);
        if (bits)
            return 32 * word + __ffs((int)bits) - 1;
    }
    return ST_PARTS;
}

ST_INLINE unsigned st_last_alive(const uint32_t *alive, unsigned at)
{
    for (int word = (int)(at / 32); word >= 0; word--) {
        const uint32_t bits = alive[word] & (word == (int)(at / 32) ? (1u << (at & 31)) - 1 : 0xFFFFFFFFu);
        if (bits)
            return 32 * (unsigned)word + st_last_bit(bits);
    }
    return ST_PARTS;
}

ST_INLINE void st_begin_warp(const st_job *job, const st_atom *atom, st_merge_memory *m, unsigned lane)
{
    const unsigned n = atom->n;
    for (unsigned i = lane; i < n; i += 32)
        m->tokens[i] = job->byte_tokens[atom->text[i]];
    if (lane < ST_PARTS / 32)
        m->alive[lane] = n >= 32 * lane + 32 ? 0xFFFFFFFFu : n > 32 * lane ? (1u << (n - 32 * lane)) - 1 : 0;
    __syncwarp();
    for (unsigned i = lane; i < n; i += 32)
        m->candidates[i] = i + 1 < n ? st_candidate(st_pair(job, m->tokens[i], m->tokens[i + 1]), i) : ST_NO_CANDIDATE;
    __syncwarp();
}

/* One step: the pair that begins at `at` becomes `merged`; two lanes look up the pairs of it. */
ST_INLINE void st_warp_step(const st_job *job, st_merge_memory *m, unsigned lane, unsigned at, uint32_t merged)
{
    const unsigned gone = st_next_alive(m->alive, at), next = st_next_alive(m->alive, gone), last = st_last_alive(m->alive, at);
    __syncwarp();
    if (lane == 0) {
        m->alive[gone / 32] &= ~(1u << (gone & 31));
        m->candidates[gone] = ST_NO_CANDIDATE;
        m->tokens[at] = merged;
        m->candidates[at] = next < ST_PARTS ? st_candidate(st_pair(job, merged, m->tokens[next]), at) : ST_NO_CANDIDATE;
    }
    if (lane == 1 && last < ST_PARTS)
        m->candidates[last] = st_candidate(st_pair(job, m->tokens[last], merged), last);
    __syncwarp();
}

ST_INLINE void st_merge_together(const st_job *job, const st_atom *atom, st_merge_memory *m, unsigned lane)
{
    const unsigned n = atom->n;
    uint32_t count = 0;
    st_begin_warp(job, atom, m, lane);
    for (;;) {
        uint32_t best = ST_NO_CANDIDATE;
        for (unsigned i = lane; i < n; i += 32)
            best = min(best, m->candidates[i]);
        best = st_warp_min(best);
        if (best == ST_NO_CANDIDATE)
            break;
        st_warp_step(job, m, lane, best & 511, best >> 9);
    }
    for (unsigned word = 0; 32 * word < n; word++) {
        const uint32_t alive = m->alive[word];
        if (alive >> lane & 1)
            job->slots[atom->slot + count + __popc(alive & ((1u << lane) - 1))] = st_id_of(job, m->tokens[32 * word + lane]);
        count += (uint32_t)__popc(alive);
    }
    if (lane == 0)
        st_account(job, atom, count);
    __syncwarp();
}

/* ---- work items ---- */

/* Atoms of a class that a warp takes at a time: as many as ST_PARTS are room for. */
ST_FORCE_INLINE unsigned st_atoms_at_once(unsigned kind)
{
    return kind <= ST_SHORT_CLASSES ? 32 : kind == ST_SHORT_CLASSES + 1 ? 16 : kind == ST_SHORT_CLASSES + 2 ? 8 : 1;
}

ST_FORCE_INLINE uint32_t st_listed(const st_job *job, unsigned kind)
{
    const uint64_t room = job->list_starts[kind + 1] - job->list_starts[kind];
    return job->counts->lists[kind] < room ? job->counts->lists[kind] : (uint32_t)room;
}

ST_INLINE void st_merge_item(const st_job *job, st_merge_memory *m, unsigned lane, unsigned kind, uint32_t item)
{
    const unsigned lanes = st_atoms_at_once(kind);
    const uint32_t at = item * lanes + (lanes == 1 ? 0 : lane);
    if (at >= st_listed(job, kind) || (lanes > 1 && lane >= lanes))
        return;
    const uint64_t record = job->lists[job->list_starts[kind] + at];
    uint32_t *candidates = m->candidates + lane, *tokens = m->tokens + lane, parts = (uint32_t)record & 0x7FF;
    st_atom atom;
    st_find_atom(job, (uint32_t)(record >> 32), (uint32_t)(record >> 21) & 0x7FF, (uint32_t)(record >> 11) & 0x3FF, &atom);
    if (lanes == 1) {
        st_merge_together(job, &atom, m, lane);
    } else if (kind < ST_SHORT_CLASSES) {
        parts = st_put_parts(job, &atom, tokens, lanes);
        st_put_tokens<uint32_t>(job, &atom, st_merge_parts<uint32_t>(job, parts, candidates, tokens, lanes), tokens, lanes);
    } else {
        for (unsigned i = 0; i < parts; i++)
            tokens[i * lanes] = job->slots[atom.slot + i];
        st_put_tokens<uint64_t>(job, &atom, st_merge_parts<uint64_t>(job, parts, candidates, tokens, lanes), tokens, lanes);
    }
}

/* Merges until no work is left. */
ST_INLINE void st_merge_all(const st_job *job, st_merge_memory *m, unsigned lane)
{
    for (;;) {
        uint32_t item = lane == 0 ? atomicAdd(&job->counts->next, 1u) : 0;
        int kind = ST_CLASSES - 1;
        item = __shfl_sync(0xFFFFFFFFu, item, 0);
        for (; kind >= 0; kind--) {
            const unsigned lanes = st_atoms_at_once((unsigned)kind);
            const uint32_t items = (st_listed(job, (unsigned)kind) + lanes - 1) / lanes;
            if (item < items)
                break;
            item -= items;
        }
        if (kind < 0)
            return;
        st_merge_item(job, m, lane, (unsigned)kind, item);
        __syncwarp();
    }
}

/* ---- pieces for the host ---- */

/* Where huge piece number `number` ends, found by a warp. */
ST_INLINE void st_measure_huge(const st_job *job, unsigned lane, uint32_t number)
{
    const uint64_t start = job->huge_starts[number], words = 2 * job->blocks;
    uint64_t word = start / 32, end = job->size;
    for (; word < words; word += 32) {
        uint32_t bits = word + lane < words ? ((const uint32_t *)job->atoms)[word + lane] : 0;
        if (word + lane == start / 32)
            bits &= 0xFFFFFFFEu << (start & 31);
        const uint32_t some = __ballot_sync(0xFFFFFFFFu, bits != 0);
        if (!some)
            continue;
        const unsigned from = __ffs((int)some) - 1;
        end = 32 * (word + from) + __ffs((int)__shfl_sync(0xFFFFFFFFu, bits, (int)from)) - 1;
        break;
    }
    if (lane == 0)
        job->huge_ends[number] = end < job->size ? end : job->size;
}

ST_INLINE void st_measure_all(const st_job *job, unsigned lane, uint64_t warp, uint64_t warps)
{
    const uint64_t count = job->counts->huge < job->huge_room ? job->counts->huge : job->huge_room;
    for (uint64_t i = warp; i < count; i += warps)
        st_measure_huge(job, lane, (uint32_t)i);
}
