/* merge.cu - deferred atoms to tokens: the pair of the smallest token first, the leftmost of equals, until none is left.
 *
 * Work items are taken from one counter, the longest atoms first. An atom of up to 64 symbols is merged by one thread, in
 * shared memory, which holds several atoms side by side. A longer atom is merged by a warp. With many atoms one thread an atom is
 * much faster than a warp an atom, because the steps of a merge depend on each other. With few, as in short texts, a warp finishes
 * an atom sooner. */
#include "cuda/encode/second_look.cu"
#include "cuda/encode/word_piece.cu"

#define ST_SYMBOLS 512 /* of all atoms that a warp merges at a time */
#define ST_NOTHING_MERGES 0xFFFFFFFFu

/* Symbol i of an atom that is one of `lanes` lies at [i * lanes + lane]. A candidate is the token that a symbol and its next one
 * merge to << 9 | i, so that the smallest is the one to merge. */
typedef struct st_merge_memory {
    uint32_t candidates[ST_SYMBOLS], tokens[ST_SYMBOLS];
} st_merge_memory;

/* ---- pairs ---- */

/* Looks the pair up in a bucket (x, y, z, w): 1 + the token that it merges to, 0 for none. */
ST_FORCE_INLINE uint32_t st_in_bucket(uint4 bucket, uint32_t left, uint32_t right)
{
    const uint32_t high = left << 11 | right >> 10, low = right << 22;
    const uint32_t first = bucket.y == high && (bucket.x ^ low) < 1u << 22 ? bucket.x : 0;
    const uint32_t second = bucket.w == high && (bucket.z ^ low) < 1u << 22 ? bucket.z : 0;
    return (first | second) & 0x3FFFFF;
}

/* Looks the pair up behind a full bucket that does not hold it. Seldom. */
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
    return found ? (found - 1) << 9 | place : ST_NOTHING_MERGES;
}

/* ---- learning ---- */

/* Do the tokens, `step` apart, spell the word? */
ST_INLINE int st_spell(const st_job *job, const st_word *word, const uint32_t *tokens, unsigned step, uint32_t count)
{
    unsigned at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t start = job->token_starts[tokens[i * step]], end = job->token_starts[tokens[i * step] + 1];
        for (uint32_t from = start; from < end; from++, at++)
            if (at >= word->n || job->token_bytes[from] != (word->words[at / 4] >> 8 * (at & 3) & 0xFF))
                return 0;
    }
    return at == word->n;
}

/* Is one of the tokens a byte that has no id? Who finds the word later would not see the error. */
ST_INLINE int st_lack_ids(const st_job *job, const uint32_t *tokens, unsigned step, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (st_id_of(job, tokens[i * step]) >= ST_FIRST_FRAGMENT)
            return 1;
    return 0;
}

/* Remembers what an atom was merged to: `count` tokens, `step` apart. The bytes are read anew: they may have changed, if a caller
 * writes to memory of its own while it is encoded, and other texts must not suffer from that. */
ST_INLINE void st_learn(const st_job *job, const st_atom *atom, const uint32_t *tokens, unsigned step, uint32_t count)
{
    if (count < 2 || !st_may_learn(job, atom->n, count) || st_lack_ids(job, tokens, step, count))
        return;
    const st_word word = st_word_at(atom->text, atom->n);
    const st_claim claim = st_claim_place(job, &word);
    if (!claim.place || !st_spell(job, &word, tokens, step, count))
        return; /* in the second case the place stays claimed */
    uint32_t *record = st_new_record(job, &word, count);
    if (!record)
        return;
    for (uint32_t i = 0; i < count; i++)
        st_put_learned(record, i, st_id_of(job, tokens[i * step]));
    st_publish(job, claim, &word, record, count);
}

/* ---- what comes of merging ---- */

/* Writes the id of a token to the slots of an atom that has `count` ids already, or those of its bytes if it is a fragment; and to
 * `kept` the tokens with these ids, `step` apart: no more than there were symbols. Returns how many ids there are then. */
ST_FORCE_INLINE uint32_t st_put_token(const st_job *job, const st_atom *atom, uint32_t token, uint32_t count, uint32_t *kept,
                                      unsigned step)
{
    const uint32_t id = st_id_of(job, token);
    if (id < ST_FIRST_FRAGMENT) {
        job->slots[atom->slot + count] = id;
        kept[count * step] = token;
        return count + 1;
    }
    for (uint32_t at = job->token_starts[token]; at < job->token_starts[token + 1]; at++, count++) {
        const uint32_t byte = job->byte_tokens[job->token_bytes[at]], own = st_id_of(job, byte);
        job->slots[atom->slot + count] = own;
        kept[count * step] = byte;
        if (own >= ST_FIRST_FRAGMENT) /* no token: the host has the error */
            atomicOr(&job->counts->flags, ST_FLAG_WORD);
    }
    return count;
}

/* ---- a thread an atom ---- */

/* The number of atoms that a warp merges side by side (Lanes) is a template argument, so that offsets in memory are constants.
 * Candidates are read four at a time. */
#define ST_SCAN_STEP 4

/* 1 + the token that two symbols merge to, 0: none; in the dense table, if both are early tokens. */
ST_FORCE_INLINE uint32_t st_first_pair(const st_job *job, uint32_t left, uint32_t right)
{
    const uint32_t side = (uint32_t)job->dense_side;
    return left < side && right < side ? job->dense[left * side + right] : st_pair(job, left, right);
}

/* Looks up the pairs of the symbols, ST_SCAN_STEP at a time, so that their loads overlap. */
template <unsigned Lanes>
ST_FORCE_INLINE void st_begin_pairs(const st_job *job, uint32_t n, uint32_t *candidates, const uint32_t *tokens)
{
    uint32_t last = tokens[0];
    for (unsigned i = 0; i < n; i += ST_SCAN_STEP) {
        uint32_t found[ST_SCAN_STEP];
#pragma unroll
        for (unsigned k = 0; k < ST_SCAN_STEP; k++) {
            const uint32_t token = i + k + 1 < n ? tokens[(i + k + 1) * Lanes] : 0;
            found[k] = i + k + 1 < n ? st_first_pair(job, last, token) : 0;
            last = token;
        }
#pragma unroll
        for (unsigned k = 0; k < ST_SCAN_STEP; k++)
            candidates[(i + k) * Lanes] = st_candidate(found[k], i + k);
    }
}

template <unsigned Lanes> ST_FORCE_INLINE uint32_t st_best(uint32_t n, const uint32_t *candidates)
{
    uint32_t best = ST_NOTHING_MERGES;
    for (unsigned i = 0; i < n; i += ST_SCAN_STEP, candidates += ST_SCAN_STEP * Lanes)
        best = min(min(best, min(candidates[0], candidates[Lanes])), min(candidates[2 * Lanes], candidates[3 * Lanes]));
    return best;
}

/* Merges the symbol `at` with the one behind it, to `merged`. `mask` has a bit for each symbol that is left. */
template <typename Mask, unsigned Lanes>
ST_FORCE_INLINE Mask st_merge_at(const st_job *job, Mask mask, unsigned at, uint32_t merged, uint32_t *candidates, uint32_t *tokens)
{
    const Mask behind = mask & ~(Mask)1 << at, further = behind & (behind - 1), before = mask & (((Mask)1 << at) - 1);
    const unsigned gone = st_first_bit(behind), next = further ? st_first_bit(further) : at;
    const unsigned last = before ? st_last_bit(before) : at;
    const uint32_t right_token = tokens[next * Lanes], left_token = tokens[last * Lanes];
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
    tokens[at * Lanes] = merged;
    candidates[gone * Lanes] = ST_NOTHING_MERGES;
    candidates[last * Lanes] = st_candidate(left, last); /* if there is no symbol in front, the next line overwrites this */
    candidates[at * Lanes] = st_candidate(right, at);
    return mask & ~((Mask)1 << gone);
}

/* Merges the n symbols in `tokens` and writes the result to the atom's slots. */
template <typename Mask, unsigned Lanes>
ST_INLINE void st_merge_symbols(const st_job *job, const st_atom *atom, uint32_t n, uint32_t *candidates, uint32_t *tokens)
{
    Mask mask = ~(Mask)0 >> (8 * sizeof(Mask) - n);
    uint32_t best, count = 0;
    st_begin_pairs<Lanes>(job, n, candidates, tokens);
    while ((best = st_best<Lanes>(n, candidates)) != ST_NOTHING_MERGES)
        mask = st_merge_at<Mask, Lanes>(job, mask, best & 511, best >> 9, candidates, tokens);
    for (; mask; mask &= mask - 1) /* the candidates' memory keeps the tokens for st_learn */
        count = st_put_token(job, atom, tokens[st_first_bit(mask) * Lanes], count, candidates, Lanes);
    st_account(job, atom, count);
    st_learn(job, atom, candidates, Lanes, count);
}

template <typename Mask, unsigned Lanes>
ST_INLINE void st_merge_alone(const st_job *job, const st_atom *atom, uint32_t *candidates, uint32_t *tokens)
{
    const uint32_t symbols = st_put_symbols<Lanes>(job, atom, tokens);
    st_merge_symbols<Mask, Lanes>(job, atom, symbols, candidates, tokens);
}

/* ---- a warp an atom ---- */

ST_INLINE uint32_t st_warp_min(uint32_t value)
{
    for (int step = 16; step; step /= 2)
        value = min(value, __shfl_xor_sync(0xFFFFFFFFu, value, step));
    return value;
}

/* Candidates are plain tokens here: what symbol i and the next one merge to. */
ST_FORCE_INLINE uint32_t st_merged(const st_job *job, uint32_t left, uint32_t right)
{
    return st_pair(job, left, right) - 1; /* 0 - 1 == ST_NOTHING_MERGES */
}

ST_INLINE void st_begin_warp(const st_job *job, const st_atom *atom, st_merge_memory *m, unsigned lane)
{
    for (unsigned i = lane; i < atom->n; i += 32)
        m->tokens[i] = job->byte_tokens[atom->text[i]];
    __syncwarp();
    for (unsigned i = lane; i < atom->n; i += 32)
        m->candidates[i] = i + 1 < atom->n ? st_merged(job, m->tokens[i], m->tokens[i + 1]) : ST_NOTHING_MERGES;
    __syncwarp();
}

/* All `places` would merge to the same token. Of a run of neighbours every second one does, from the leftmost on. */
ST_FORCE_INLINE uint32_t st_every_second(uint32_t places)
{
    uint32_t taken = 0;
    while (places) {
        const uint32_t first = places & (0u - places), run = places & ~(places + first);
        const uint32_t even = first & 0x55555555u ? 0x55555555u : 0xAAAAAAAAu;
        taken |= run & even;
        places &= ~run;
    }
    return taken;
}

/* Merges every pair that gives `merged`, the smallest token, and closes the gaps; returns how many symbols are left. All such
 * pairs merge before any other, from left to right, because a token comes after the two that it is made of: no new pair gives
 * a smaller one. In a vocabulary where that does not hold, only the first pair is merged. */
ST_INLINE unsigned st_warp_round(const st_job *job, st_merge_memory *m, unsigned lane, unsigned n, uint32_t merged)
{
    uint32_t gone_before = 0, count = 0;
    int done = 0;
    for (unsigned first = 0; first < n; first += 32) {
        const unsigned i = first + lane;
        const uint32_t token = i < n ? m->tokens[i] : 0, candidate = i < n ? m->candidates[i] : ST_NOTHING_MERGES;
        uint32_t places = __ballot_sync(0xFFFFFFFFu, candidate == merged) & ~gone_before;
        if (!job->ordered)
            places = done ? 0 : places & (0u - places);
        done |= places != 0;
        const uint32_t taken = st_every_second(places), gone = taken << 1 | gone_before, kept = ~gone;
        const unsigned to = count + (unsigned)__popc(kept & ((1u << lane) - 1));
        __syncwarp(); /* all lanes have read what is overwritten now */
        if (i < n && kept >> lane & 1) {
            m->tokens[to] = taken >> lane & 1 ? merged : token;
            m->candidates[to] = candidate;
        }
        count += (uint32_t)__popc(n - first < 32 ? kept & ((1u << (n - first)) - 1) : kept);
        gone_before = taken >> 31;
        __syncwarp();
    }
    return count;
}

/* Looks up the pairs of which one symbol is new. */
ST_INLINE void st_warp_renew(const st_job *job, st_merge_memory *m, unsigned lane, unsigned n, uint32_t merged)
{
    for (unsigned i = lane; i < n; i += 32) {
        const uint32_t token = m->tokens[i], next = i + 1 < n ? m->tokens[i + 1] : 0;
        if (i + 1 == n)
            m->candidates[i] = ST_NOTHING_MERGES;
        else if (token == merged || next == merged)
            m->candidates[i] = st_merged(job, token, next);
    }
    __syncwarp();
}

/* Writes the ids of the n tokens and returns how many there are; m->tokens are then the tokens with these ids. */
ST_INLINE unsigned st_put_together(const st_job *job, const st_atom *atom, st_merge_memory *m, unsigned lane, unsigned n)
{
    uint32_t fragments = 0, count = 0;
    for (unsigned i = lane; i < n; i += 32) {
        const uint32_t id = st_id_of(job, m->tokens[i]);
        job->slots[atom->slot + i] = id;
        fragments |= id >= ST_FIRST_FRAGMENT;
    }
    if (!__any_sync(0xFFFFFFFFu, fragments != 0))
        return n;
    if (lane == 0)
        for (unsigned i = 0; i < n; i++)
            count = st_put_token(job, atom, m->tokens[i], count, m->candidates, 1);
    count = __shfl_sync(0xFFFFFFFFu, count, 0);
    for (unsigned i = lane; i < count; i += 32)
        m->tokens[i] = m->candidates[i];
    __syncwarp();
    return count;
}

ST_INLINE void st_merge_together(const st_job *job, const st_atom *atom, st_merge_memory *m, unsigned lane)
{
    unsigned n = atom->n;
    st_begin_warp(job, atom, m, lane);
    for (;;) {
        uint32_t best = ST_NOTHING_MERGES;
        for (unsigned i = lane; i < n; i += 32)
            best = min(best, m->candidates[i]);
        best = st_warp_min(best);
        if (best == ST_NOTHING_MERGES)
            break;
        n = st_warp_round(job, m, lane, n, best);
        st_warp_renew(job, m, lane, n, best);
    }
    n = st_put_together(job, atom, m, lane, n);
    if (lane == 0) {
        atomicAdd(&job->tokens[atom->stretch], n);
        if (n == 0)
            atomicOr(&job->counts->flags, ST_FLAG_WORD);
        st_learn(job, atom, m->tokens, 1, n);
    }
    __syncwarp();
}

/* ---- work items ---- */

/* Atoms of a class that a warp takes at a time: as many as ST_SYMBOLS are room for; one, if there are warps to spare. */
ST_FORCE_INLINE unsigned st_atoms_at_once(unsigned kind, uint32_t listed, uint64_t warps)
{
    if (2 * (uint64_t)listed <= warps)
        return 1;
    return kind <= ST_SHORT_CLASSES ? 32 : kind == ST_SHORT_CLASSES + 1 ? 16 : kind == ST_SHORT_CLASSES + 2 ? 8 : 1;
}

ST_FORCE_INLINE uint32_t st_listed(const st_job *job, unsigned kind)
{
    const uint64_t capacity = job->list_starts[kind + 1] - job->list_starts[kind];
    return job->counts->lists[kind] < capacity ? job->counts->lists[kind] : (uint32_t)capacity;
}

/* Where the items of a class are among all: lane i knows it of class ST_CLASSES - 1 - i. */
typedef struct st_agenda {
    uint32_t end, items, listed, lanes; /* lanes: atoms at once */
} st_agenda;

ST_INLINE st_agenda st_make_agenda(const st_job *job, unsigned lane, uint64_t warps)
{
    st_agenda agenda = {0, 0, 0, 1};
    uint32_t total;
    if (lane < ST_CLASSES) {
        const unsigned kind = ST_CLASSES - 1 - lane;
        agenda.listed = st_listed(job, kind);
        agenda.lanes = st_atoms_at_once(kind, agenda.listed, warps);
        agenda.items = (agenda.listed + agenda.lanes - 1) / agenda.lanes;
    }
    agenda.end = st_prefix(agenda.items, lane, &total) + agenda.items;
    return agenda;
}

/* A work item: its atoms at once, 0: there is none, and this lane's record in it, 0: none. */
typedef struct st_item {
    uint32_t lanes;
    uint64_t record;
} st_item;

ST_FORCE_INLINE st_item st_find_item(const st_job *job, unsigned lane, st_agenda agenda, uint32_t number)
{
    st_item item = {0, 0};
    const uint32_t those = __ballot_sync(0xFFFFFFFFu, number < agenda.end);
    if (!those)
        return item;
    const int place = __ffs((int)those) - 1;
    const uint32_t first = __shfl_sync(0xFFFFFFFFu, agenda.end - agenda.items, place);
    const uint32_t listed = __shfl_sync(0xFFFFFFFFu, agenda.listed, place);
    const uint32_t lanes = item.lanes = __shfl_sync(0xFFFFFFFFu, agenda.lanes, place);
    const uint32_t at = (number - first) * lanes + (lanes == 1 ? 0 : lane);
    if (at < listed && (lanes == 1 || lane < lanes))
        item.record = job->lists[job->list_starts[ST_CLASSES - 1 - place] + at];
    return item;
}

ST_INLINE void st_merge_item(const st_job *job, st_merge_memory *m, unsigned lane, st_item item)
{
    uint32_t *candidates = m->candidates + lane, *tokens = m->tokens + lane;
    st_atom atom;
    if (!item.record)
        return;
    st_find_atom(job, item.record, &atom);
    if (ST_FAMILY == ST_SPLIT_TABLE && job->most) {
        if (item.lanes > 1 || lane == 0)
            st_match_word(job, &atom, (uint8_t *)m + (item.lanes > 1 ? lane * (sizeof *m / item.lanes) : 0));
        return;
    }
    if (item.lanes == 1)
        st_merge_together(job, &atom, m, lane);
    else if (item.lanes == 32)
        st_merge_alone<uint32_t, 32>(job, &atom, candidates, tokens);
    else if (item.lanes == 16)
        st_merge_alone<uint32_t, 16>(job, &atom, candidates, tokens);
    else
        st_merge_alone<uint64_t, 8>(job, &atom, candidates, tokens);
}

/* Merges until no work is left. While a warp has one item, the record of the next one and the number of that behind it are
 * on their way. */
ST_INLINE void st_merge_all(const st_job *job, st_merge_memory *m, unsigned lane, uint64_t warps)
{
    const st_agenda agenda = st_make_agenda(job, lane, warps);
    uint32_t number = lane == 0 ? atomicAdd(&job->counts->next, 1u) : 0;
    st_item item = st_find_item(job, lane, agenda, __shfl_sync(0xFFFFFFFFu, number, 0));
    if (lane == 0)
        number = atomicAdd(&job->counts->next, 1u);
    while (item.lanes) {
        const st_item next = st_find_item(job, lane, agenda, __shfl_sync(0xFFFFFFFFu, number, 0));
        if (lane == 0)
            number = atomicAdd(&job->counts->next, 1u);
        st_merge_item(job, m, lane, item);
        __syncwarp();
        item = next;
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
    const uint64_t count = job->counts->huge < job->huge_capacity ? job->counts->huge : job->huge_capacity;
    for (uint64_t i = warp; i < count; i += warps)
        st_measure_huge(job, lane, (uint32_t)i);
}
