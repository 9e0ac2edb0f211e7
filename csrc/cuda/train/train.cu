/* train.cu - the kernels of training. Those up to counting are shared with encoding (cuda/starts.cu). */
#include "cuda/starts.cu"
#include "cuda/train/count.cu"
#include "cuda/train/row.cu"
#include "cuda/train/search.cu"
#include "cuda/train/choose.cu"
#include "cuda/train/merge.cu"

ST_KERNEL __launch_bounds__(256) st_kernel_count(const __grid_constant__ st_counting counting)
{
    st_count_all(&counting, (st_count_memory *)st_shared + ST_WARP, threadIdx.x & 31);
}

ST_KERNEL st_kernel_grow(const __grid_constant__ st_growing growing)
{
    for (uint64_t i = ST_THREAD; i <= growing.from.short_mask; i += ST_THREADS)
        st_move_short(&growing, i);
    for (uint64_t i = ST_THREAD; i <= growing.from.long_mask; i += ST_THREADS)
        st_move_long(&growing, i);
}

ST_KERNEL st_kernel_place(const __grid_constant__ st_placing placing)
{
    const uint64_t rows = (placing.table.short_mask + 1 + placing.table.long_mask + 1) / 32;
    for (uint64_t i = ST_THREAD / 32; i < rows; i += ST_THREADS / 32)
        st_place_row(&placing, threadIdx.x & 31, i);
}

ST_KERNEL st_kernel_widen(const __grid_constant__ st_widening widening)
{
    for (uint64_t i = ST_THREAD; i < widening.places; i += ST_THREADS)
        st_widen_place(&widening, i);
}

/* ---- learning ---- */

/* Decides what comes next; by the first thread. ST_MERGE: a pair was chosen, which the first block merges alone if it can. */
ST_INLINE st_command st_decide(const st_learning *job, uint32_t chosen)
{
    st_learned *learned = job->learned;
    if (chosen != UINT32_MAX) {
        learned->chosen = chosen;
        return ST_MERGE;
    }
    if (learned->front_least > learned->least)
        return ST_FILL_FRONT;
    if (learned->least > job->floor) {
        learned->least = learned->least >> 3 > job->floor ? learned->least >> 3 : job->floor;
        learned->stale = 1;
        return ST_SEARCH;
    }
    learned->stop = ST_STOP_DONE;
    return ST_LEAVE;
}

/* Whether the launch must end before another pair is chosen. */
ST_INLINE int st_must_stop(const st_learning *job)
{
    st_learned *learned = job->learned;
    if (learned->tokens >= job->wanted)
        learned->stop = ST_STOP_DONE;
    else if (learned->stop == ST_STOP_PAIRS)
        return 1;
    else if (learned->merges >= job->most_merges || learned->work >= job->most_work)
        learned->stop = ST_STOP_WORK;
    else if (job->by_bytes && job->byte_room < learned->byte_top + ST_MOST_BYTES)
        learned->stop = ST_STOP_BYTES;
    else
        return 0;
    return 1;
}

/* What must be done before a pair is chosen; ST_MERGE: nothing. */
ST_INLINE st_command st_before_choice(const st_learning *job)
{
    const st_learned *learned = job->learned;
    if (st_must_stop(job))
        return ST_LEAVE;
    if (learned->stale)
        return ST_SEARCH;
    /* Most pairs of the front have fallen below front_least, but each choice still reads them. */
    return learned->front_count > 2 * learned->front_filled + job->front_wish ? ST_FILL_FRONT : ST_MERGE;
}

/* Merges with the first block alone until there is work for all blocks; returns that work. */
ST_INLINE st_command st_lead(const st_learning *job, st_lead_memory *m)
{
    const st_team alone = {threadIdx.x, blockDim.x, 0, NULL};
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0)
            m->decision = st_before_choice(job);
        __syncthreads();
        if (m->decision != ST_MERGE)
            return (st_command)m->decision;
        const uint32_t chosen = st_choose(job, m);
        __syncthreads();
        if (threadIdx.x == 0)
            m->decision = st_decide(job, chosen);
        __syncthreads();
        st_tick(job, ST_AT_CHOICE);
        if (m->decision != ST_MERGE)
            return (st_command)m->decision;
        if (job->pairs[chosen].n > job->alone)
            return ST_MERGE;
        st_merge_pair(job, &alone);
    }
}

/* Merges until the launch has done its share. All blocks must be on the device at once (a cooperative launch). `arrived` is 0
 * before and after the launch. */
ST_KERNEL __launch_bounds__(1024, 1) st_kernel_learn(const __grid_constant__ st_learning job)
{
    st_lead_memory *memory = (st_lead_memory *)st_shared;
    uint32_t *arrived = (uint32_t *)&job.learned->arrived, meetings = 0;
    const st_team all = {ST_THREAD, ST_THREADS, 1, &meetings};
    st_tick(&job, -1);
    for (;;) {
        if (blockIdx.x == 0) {
            const st_command command = st_lead(&job, memory);
            if (threadIdx.x == 0)
                job.learned->command = command;
        }
        st_meet(arrived, &meetings);
        st_tick(&job, ST_AT_CALL);
        const uint64_t command = job.learned->command;
        if (command == ST_LEAVE)
            break;
        if (command == ST_SEARCH)
            st_search(&job, &all);
        st_tick(&job, ST_AT_SEARCH);
        if (command == ST_SEARCH || command == ST_FILL_FRONT)
            st_fill_front(&job, &all, memory);
        st_tick(&job, ST_AT_FRONT);
        if (command == ST_MERGE) {
            st_merge_pair(&job, &all);
            if (all.rank == 0)
                job.learned->together++;
        }
    }
    st_leave(arrived, meetings);
}
