/* encode.cu - the kernels: each stage by itself over a long text, or, compiled with ST_SHORT_TEXTS, all of them in one launch
 * (short.cu). What a stage does is in the stage's file. */
#include "check.cu"
#include "cuts.cu"
#include "lookup.cu"
#include "rest.cu"
#include "split.cu"
#include "pack.cu"
#include "merge.cu"
#include "gather.cu"

#define ST_KERNEL extern "C" __global__ void

#define ST_THREAD ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define ST_THREADS ((uint64_t)gridDim.x * blockDim.x)
#define ST_WARP (threadIdx.x / 32)

extern __shared__ uint4 st_shared[];

/* A slice begins; with the first one, the text. */
ST_INLINE void st_begin(const st_job *job)
{
    st_counts *counts = job->counts;
    for (int i = 0; i < ST_CLASSES; i++)
        counts->lists[i] = 0;
    counts->next = counts->deferred[0] = counts->deferred[1] = 0;
    if (job->first_stretch == 0) {
        counts->tokens = 0;
        counts->flags = counts->rest = counts->huge = counts->specials = 0;
    }
}

#ifdef ST_SHORT_TEXTS
#include "short.cu"
#else

ST_KERNEL st_kernel_pairs(const __grid_constant__ st_job job, const uint32_t *left, const uint32_t *right, uint64_t count)
{
    for (uint64_t i = ST_THREAD; i < count; i += ST_THREADS)
        st_enter_pair((uint64_t *)job.pairs, job.pair_mask, left[i], right[i], (uint32_t)i);
}

ST_KERNEL st_kernel_claim(const __grid_constant__ st_job job, uint32_t *orders, uint32_t *crowded)
{
    for (uint64_t i = ST_THREAD; i <= 2 * job.piece_mask + 1; i += ST_THREADS)
        st_claim_place(&job.entries[i], job.first_shift, orders, crowded);
}

ST_KERNEL st_kernel_take(const __grid_constant__ st_job job, const uint32_t *orders)
{
    for (uint64_t i = ST_THREAD; i <= 2 * job.piece_mask + 1; i += ST_THREADS)
        st_take_place(job.entries, i, job.first_shift, orders, (uint4 *)job.first);
}

ST_KERNEL st_kernel_mark(const __grid_constant__ st_job job, const uint32_t *crowded)
{
    for (uint64_t i = ST_THREAD; i < (uint64_t)1 << (32 - job.first_shift); i += ST_THREADS)
        st_mark_place(i, crowded, (uint4 *)job.first);
}

ST_KERNEL st_kernel_filter(const __grid_constant__ st_job job, uint64_t count)
{
    for (uint64_t i = ST_THREAD; i < count; i += ST_THREADS)
        st_enter_filter(job.token_bytes + job.token_starts[i], job.token_starts[i + 1] - job.token_starts[i],
                        (uint32_t *)job.filter);
}

ST_KERNEL st_kernel_pack(const __grid_constant__ st_packing packing)
{
    for (uint64_t i = ST_THREAD; i < packing.count; i += ST_THREADS)
        st_pack_block(&packing, i);
}

ST_KERNEL st_kernel_begin(const __grid_constant__ st_job job)
{
    if (ST_THREAD == 0)
        st_begin(&job);
}

ST_KERNEL st_kernel_check(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < job.blocks; i += ST_THREADS)
        st_check_block(&job, i);
}

ST_KERNEL st_kernel_find(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < job.blocks; i += ST_THREADS)
        st_find_names(&job, i);
}

ST_KERNEL __launch_bounds__(128, 4) st_kernel_split(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < st_segments(&job); i += ST_THREADS)
        st_split_segment(&job, i);
}

ST_KERNEL __launch_bounds__(128) st_kernel_rest(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < st_rest_count(&job); i += ST_THREADS)
        st_split_rest(&job, (uint32_t)i);
}

ST_KERNEL __launch_bounds__(256) st_kernel_cuts(const __grid_constant__ st_job job)
{
    st_cut_memory *memory = (st_cut_memory *)st_shared + ST_WARP;
    const uint64_t stretches = (job.blocks + ST_STRETCH_BLOCKS - 1) / ST_STRETCH_BLOCKS;
    for (uint64_t i = ST_THREAD / 32; i < stretches; i += ST_THREADS / 32)
        st_cut_stretch(&job, memory, threadIdx.x & 31, i);
}

ST_KERNEL __launch_bounds__(256, 6) st_kernel_lookup(const __grid_constant__ st_job job)
{
    st_lookup_memory *memory = (st_lookup_memory *)st_shared + ST_WARP;
    st_look_up_all(&job, memory, threadIdx.x & 31, ST_THREAD / 32, ST_THREADS / 32);
}

ST_KERNEL __launch_bounds__(128, 8) st_kernel_again(const __grid_constant__ st_job job)
{
    st_again_memory *memory = (st_again_memory *)st_shared + ST_WARP;
    st_take_all_again(&job, memory, threadIdx.x & 31, ST_THREAD / 32, ST_THREADS / 32);
}

ST_KERNEL __launch_bounds__(128, 8) st_kernel_merge(const __grid_constant__ st_job job)
{
    st_merge_memory *memory = (st_merge_memory *)st_shared + ST_WARP;
    st_measure_all(&job, threadIdx.x & 31, ST_THREAD / 32, ST_THREADS / 32);
    st_merge_all(&job, memory, threadIdx.x & 31);
}

ST_KERNEL __launch_bounds__(256) st_kernel_sum(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD / 32; i < st_groups(&job); i += ST_THREADS / 32)
        st_scan_group(&job, threadIdx.x & 31, i);
}

ST_KERNEL __launch_bounds__(32) st_kernel_scan(const __grid_constant__ st_job job)
{
    st_scan_groups(&job, threadIdx.x);
}

ST_KERNEL __launch_bounds__(256) st_kernel_gather(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD / 32; i < job.stretches; i += ST_THREADS / 32)
        st_gather_stretch<ST_SCANNED>(&job, threadIdx.x & 31, i);
    for (uint64_t i = ST_THREAD / 32; i < job.row_count; i += ST_THREADS / 32)
        st_row_start<ST_SCANNED>(&job, threadIdx.x & 31, i);
}

#endif
