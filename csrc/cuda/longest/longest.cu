/* longest.cu - the kernels of longest match over a text. What a stage does is in the stage's file. */
#include "cuda/longest/collect.cu"
#include "cuda/longest/maps.cu"
#include "cuda/longest/mend.cu"
#include "cuda/form.cu"
#include "cuda/splice.cu"
#include "cuda/starts.cu"
#include "cuda/sum_tokens.cu"

/* Blocks of a multiprocessor, by their shared memory. More threads wait for loads at a time; fewer leave more first-level cache. */
#ifndef ST_WALK_RESIDENT
#define ST_WALK_RESIDENT 5
#endif
#define ST_BOUNDED_RESIDENT 4

ST_INLINE st_matching st_bounded_walk(const st_job *job)
{
    st_bounded_memory *memory = (st_bounded_memory *)st_shared + ST_WARP;
    const st_matching w = {job, &memory->plain, memory, threadIdx.x & 31, 0, 0};
    return w;
}

ST_INLINE st_matching st_plain_walk(const st_job *job)
{
    const st_matching w = {job, (st_walk_memory *)st_shared + ST_WARP, (st_bounded_memory *)0, threadIdx.x & 31, 0, 0};
    return w;
}

ST_INLINE st_matching st_walk_of(const st_job *job)
{
    return ST_FAMILY != ST_SPLIT_NONE || job->bounded ? st_bounded_walk(job) : st_plain_walk(job);
}

ST_FORCE_INLINE void st_walk_all(const st_job *job, st_matching *w)
{
    for (uint64_t i = ST_THREAD / 32; i < job->stretches; i += ST_THREADS / 32) {
        const uint64_t stretch = job->first_stretch + i;
        st_walk_stretch(w, stretch, job->known ? job->stretch_entries[stretch] : ST_NONE);
    }
}

/* Of text where tokens end at borders, and of any other text. */
ST_KERNEL __launch_bounds__(256, ST_BOUNDED_RESIDENT) st_kernel_bounded(const __grid_constant__ st_job job)
{
    st_matching w = st_bounded_walk(&job);
    st_walk_all(&job, &w);
}

ST_KERNEL __launch_bounds__(256, ST_WALK_RESIDENT) st_kernel_walk(const __grid_constant__ st_job job)
{
    st_matching w = st_plain_walk(&job);
    st_walk_all(&job, &w);
}

ST_KERNEL __launch_bounds__(256) st_kernel_heads(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < job.stretches; i += ST_THREADS)
        st_check_stretch(&job, job.first_stretch + i);
}

ST_KERNEL __launch_bounds__(256, ST_BOUNDED_RESIDENT) st_kernel_mend(const __grid_constant__ st_job job)
{
    st_matching w = st_walk_of(&job);
    for (uint64_t i = ST_THREAD / 32; i < job.counts->heads[job.check]; i += ST_THREADS / 32)
        st_mend_chain(&w, job.heads[i]);
}

ST_KERNEL __launch_bounds__(256, ST_BOUNDED_RESIDENT) st_kernel_map(const __grid_constant__ st_job job)
{
    st_matching w = st_walk_of(&job);
    for (uint64_t i = ST_THREAD / 32; i < job.stretches; i += ST_THREADS / 32)
        st_map_stretch(&w, job.first_stretch + i);
}

ST_KERNEL __launch_bounds__(256) st_kernel_groups(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < st_groups(&job) * job.longest_token; i += ST_THREADS)
        st_map_group(&job, i);
}

ST_KERNEL st_kernel_chain(const __grid_constant__ st_job job)
{
    if (ST_THREAD == 0)
        st_enter_groups(&job);
}

ST_KERNEL st_kernel_enter(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < st_groups(&job); i += ST_THREADS)
        st_enter_stretches(&job, i);
}

ST_KERNEL __launch_bounds__(256) st_kernel_collect(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD / 32; i < job.stretches; i += ST_THREADS / 32)
        st_collect_stretch(&job, threadIdx.x & 31, i);
    for (uint64_t i = ST_THREAD; i < job.row_count; i += ST_THREADS)
        st_begin_row(&job, i);
}
