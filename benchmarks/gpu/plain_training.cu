/* plain_training.cu - training as most GPU trainers do it, to compare with: the running text is one row of symbols, a bit of
 * each says whether a piece begins with it, and every merge looks through all of it. All else is the engine's
 * own code: pairs with exact counts, the front, the choice, the notes of a merge.
 *
 * A merge leaves a hole where its second symbol was. When one symbol in eight is a hole, the rest is moved together. */
#include "cuda/starts.cu"
#include "cuda/train/choose.cu"
#include "cuda/train/merge.cu"

#define PLAIN_START 0x80000000u
#define PLAIN_HOLE 0x7FFFFFFFu
#define PLAIN_CHUNK 4096 /* symbols that a warp moves together */

typedef struct plain_job {
    st_learning learning;
    uint32_t *symbols, *moved;
    uint64_t *length; /* symbols, holes too; and holes */
    uint32_t *matches;
    uint64_t *match_count;
    uint32_t *chunk_sizes;
    uint64_t *chunk_starts;
    const uint8_t *text;
    const uint64_t *starts;
} plain_job;

ST_KERNEL st_kernel_spread(const __grid_constant__ plain_job plain)
{
    for (uint64_t i = ST_THREAD; i < plain.length[0]; i += ST_THREADS) {
        const uint32_t begins = (uint32_t)(plain.starts[i / 64] >> (i & 63) & 1);
        plain.symbols[i] = plain.text[i] >= ST_PAD ? PLAIN_HOLE : plain.text[i] | (begins ? PLAIN_START : 0);
    }
}

/* The place of the symbol behind, or the row's length. */
ST_INLINE uint64_t plain_next(const plain_job *p, uint64_t at)
{
    const uint64_t length = p->length[0];
    do
        at++;
    while (at < length && p->symbols[at] == PLAIN_HOLE);
    return at;
}

/* The symbol behind in the same piece, or ST_BORDER. */
ST_INLINE uint32_t plain_behind(const plain_job *p, uint64_t at, uint64_t *next)
{
    *next = plain_next(p, at);
    if (*next >= p->length[0] || p->symbols[*next] & PLAIN_START)
        return ST_BORDER;
    return p->symbols[*next];
}

ST_INLINE uint32_t plain_before(const plain_job *p, uint64_t at)
{
    if (p->symbols[at] & PLAIN_START)
        return ST_BORDER;
    do
        at--;
    while (p->symbols[at] == PLAIN_HOLE);
    return p->symbols[at] & ~PLAIN_START;
}

ST_KERNEL st_kernel_tally(const __grid_constant__ plain_job plain)
{
    for (uint64_t i = ST_THREAD; i < plain.length[0]; i += ST_THREADS) {
        uint64_t next;
        if (plain.symbols[i] == PLAIN_HOLE)
            continue;
        const uint32_t behind = plain_behind(&plain, i, &next);
        if (behind != ST_BORDER)
            st_add64(&st_add_pair(&plain.learning, st_pair_key(plain.symbols[i] & ~PLAIN_START, behind))->count, 1);
    }
}

ST_KERNEL st_kernel_clear(const __grid_constant__ plain_job plain)
{
    for (uint64_t i = ST_THREAD; i <= plain.learning.pair_mask; i += ST_THREADS) {
        st_pair *pair = &plain.learning.pairs[i];
        pair->key = ST_NO_PAIR;
        pair->count = pair->n = 0;
        pair->start = ST_NO_LIST;
    }
}

/* ---- a merge ---- */

ST_INLINE int plain_is_here(const plain_job *p, const st_merge *m, uint64_t at)
{
    uint64_t next;
    if ((p->symbols[at] & ~PLAIN_START) != m->a || plain_behind(p, at, &next) != m->b)
        return 0;
    return m->a != m->b || plain_before(p, at) != m->a;
}

ST_INLINE void plain_find(const plain_job *p, const st_team *team, const st_merge *m)
{
    const uint64_t rows = (p->length[0] + 127) / 128; /* 128 symbols a warp, 4 a lane */
    const unsigned lane = threadIdx.x & 31;
    for (uint64_t row = team->rank / 32; row < rows; row += team->size / 32) {
        const uint64_t at = 128 * row + 4 * lane;
        const uint4 four = ((const uint4 *)p->symbols)[at / 4]; /* holes stand behind the end */
        const uint32_t all[4] = {four.x, four.y, four.z, four.w};
        uint32_t found = 0;
        for (int i = 0; i < 4; i++)
            if ((all[i] & ~PLAIN_START) == m->a && at + i < p->length[0] && plain_is_here(p, m, at + i))
                found |= 1u << i;
        if (!__any_sync(0xFFFFFFFFu, found != 0))
            continue;
        uint64_t place = st_take_for_warp(p->match_count, (uint64_t)__popc(found), lane);
        for (int i = 0; i < 4; i++)
            if (found >> i & 1)
                p->matches[place++] = (uint32_t)(at + i);
    }
}

ST_INLINE void plain_note(const plain_job *p, const st_merge *m, uint64_t at)
{
    const st_learning *job = &p->learning;
    uint64_t second, next, joins = 1, after;
    const uint32_t before = plain_before(p, at);
    plain_behind(p, at, &second);
    uint32_t behind = plain_behind(p, second, &next);
    if (m->a == m->b) {
        for (; behind == m->a && plain_behind(p, next, &after) == m->a; joins++)
            behind = plain_behind(p, after, &next);
        if (before != ST_BORDER)
            st_note(job, m->odd, before, 1, 1);
        if (joins > 1)
            st_note(job, m->odd + 1, m->joined, joins - 1, joins - 1);
        if (behind != ST_BORDER)
            st_note(job, m->odd + 1, behind, 1, 1);
        return;
    }
    uint64_t left = at;
    int touches = 0;
    if (before == m->b) {
        do
            left--;
        while (p->symbols[left] == PLAIN_HOLE);
        touches = plain_before(p, left) == m->a;
    }
    if (before != ST_BORDER && !touches)
        st_note(job, m->odd, before, 1, 1);
    if (behind != ST_BORDER)
        st_note(job, m->odd + 1, behind == m->a && plain_behind(p, next, &after) == m->b ? m->joined : behind, 1, 1);
}

ST_INLINE void plain_join(const plain_job *p, const st_merge *m, uint64_t at)
{
    uint64_t second, next, holes = 0;
    do {
        plain_behind(p, at, &second);
        const uint32_t behind = plain_behind(p, second, &next);
        uint64_t after;
        const int again = m->a == m->b && behind == m->a && plain_behind(p, next, &after) == m->a;
        p->symbols[at] = m->joined | (p->symbols[at] & PLAIN_START);
        p->symbols[second] = PLAIN_HOLE;
        holes++;
        if (!again)
            break;
        at = next;
    } while (1);
    st_add64(&p->length[1], holes);
}

/* ---- holes ---- */

/* Counts the symbols of each chunk, or, if `move`, moves them to their new places. length: before any of them was moved. */
ST_INLINE void plain_chunks(const plain_job *p, const st_team *team, uint64_t length, int move)
{
    const unsigned lane = threadIdx.x & 31;
    for (uint64_t chunk = team->rank / 32; chunk < (length + PLAIN_CHUNK - 1) / PLAIN_CHUNK; chunk += team->size / 32) {
        const uint64_t start = move ? p->chunk_starts[chunk] : 0;
        uint64_t to = start;
        uint32_t total;
        for (uint64_t at = chunk * PLAIN_CHUNK + lane; at < (chunk + 1) * PLAIN_CHUNK; at += 32) {
            const uint32_t symbol = at < length ? p->symbols[at] : PLAIN_HOLE;
            const uint32_t before = st_prefix(symbol != PLAIN_HOLE, lane, &total);
            if (move && symbol != PLAIN_HOLE)
                p->moved[to + before] = symbol;
            to += total;
        }
        if (!move && lane == 0)
            p->chunk_sizes[chunk] = (uint32_t)to;
    }
}

ST_INLINE void plain_scan(const plain_job *p)
{
    const uint64_t chunks = (p->length[0] + PLAIN_CHUNK - 1) / PLAIN_CHUNK;
    const unsigned lane = threadIdx.x & 31;
    uint64_t start = 0;
    for (uint64_t i = lane; i < chunks + 32 - chunks % 32; i += 32) {
        uint32_t total;
        const uint32_t before = st_prefix(i < chunks ? p->chunk_sizes[i] : 0, lane, &total);
        if (i < chunks)
            p->chunk_starts[i] = start + before;
        start += total;
    }
    __syncwarp();
    if (lane == 0) {
        p->length[0] = start;
        p->length[1] = 0;
    }
}

/* The symbols, and holes up to a multiple of 128 behind them. */
ST_INLINE void plain_copy_back(const plain_job *p, const st_team *team)
{
    const uint64_t length = p->length[0];
    for (uint64_t i = team->rank; i < length + 128; i += team->size)
        p->symbols[i] = i < length ? p->moved[i] : PLAIN_HOLE;
}

ST_INLINE void plain_compact(const plain_job *p, const st_team *team)
{
    const st_learning *job = &p->learning;
    const uint64_t length = p->length[0];
    plain_chunks(p, team, length, 0);
    st_meet_team(job, team);
    if (team->rank < 32)
        plain_scan(p);
    st_meet_team(job, team);
    plain_chunks(p, team, length, 1);
    st_meet_team(job, team);
    plain_copy_back(p, team);
    st_meet_team(job, team);
}

ST_INLINE void plain_merge(const plain_job *p, const st_team *team)
{
    const st_learning *job = &p->learning;
    st_merge m;
    st_begin_merge(job, &m);
    if (blockIdx.x == 0)
        st_enter_token(job, &m);
    plain_find(p, team, &m);
    st_meet_team(job, team);
    const uint64_t matches = *p->match_count;
    for (uint64_t i = team->rank; i < matches; i += team->size)
        plain_note(p, &m, p->matches[i]);
    st_meet_team(job, team);
    for (uint64_t i = team->rank; i < matches; i += team->size)
        plain_join(p, &m, p->matches[i]);
    st_settle(job, team, &m);
    st_meet_team(job, team);
    if (team->rank == 0) {
        st_pair *pair = &job->pairs[job->learned->chosen];
        const uint64_t count = pair->count;
        pair->count = 0;
        *p->match_count = 0;
        st_end_merge(job, &m, count);
    }
    st_meet_team(job, team);
    if (p->length[1] > p->length[0] / 8)
        plain_compact(p, team);
}

ST_KERNEL __launch_bounds__(1024, 1) st_kernel_plain(const __grid_constant__ plain_job plain)
{
    const st_learning *job = &plain.learning;
    st_lead_memory *memory = (st_lead_memory *)st_shared;
    uint32_t *arrived = (uint32_t *)&job->learned->arrived, meetings = 0;
    const st_team all = {ST_THREAD, ST_THREADS, 1, &meetings};
    for (;;) {
        if (blockIdx.x == 0) {
            __syncthreads();
            const uint32_t chosen = st_choose(job, memory);
            __syncthreads();
            if (threadIdx.x == 0) {
                st_learned *learned = job->learned;
                uint64_t command = ST_MERGE;
                if (learned->tokens >= job->wanted || learned->merges >= job->most_merges)
                    command = ST_LEAVE;
                else if (chosen == UINT32_MAX)
                    command = learned->front_least > learned->least ? ST_FILL_FRONT : ST_LEAVE;
                else
                    learned->chosen = chosen;
                learned->command = command;
            }
        }
        st_meet(arrived, &meetings);
        const uint64_t command = job->learned->command;
        if (command == ST_LEAVE)
            break;
        if (command == ST_FILL_FRONT)
            st_fill_front(job, &all, memory);
        else
            plain_merge(&plain, &all);
    }
    st_leave(arrived, meetings);
}
