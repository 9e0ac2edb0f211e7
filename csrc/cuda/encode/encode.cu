/* encode.cu - the kernels: each stage by itself over a long text, or, compiled with ST_SHORT_TEXTS, all of them in one launch
 * (short.cu). What a stage does is in the stage's file. */
#include "cuda/encode/cuts.cu"
#include "cuda/encode/lookup.cu"
#include "cuda/form.cu"
#include "cuda/splice.cu"
#include "cuda/starts.cu"
#include "cuda/encode/merge.cu"
#include "cuda/encode/gather.cu"

#ifdef ST_SHORT_TEXTS
#include "cuda/encode/short.cu"
#else
#include "cuda/sum_tokens.cu"

ST_KERNEL st_kernel_pairs(const __grid_constant__ st_job job, const uint32_t *left, const uint32_t *right, uint64_t count)
{
    for (uint64_t i = ST_THREAD; i < count; i += ST_THREADS)
        st_enter_pair((uint64_t *)job.pairs, job.pair_mask, left[i], right[i], (uint32_t)i);
}

ST_KERNEL st_kernel_claim(const __grid_constant__ st_job job, uint32_t *orders, uint32_t *crowded)
{
    for (uint64_t i = ST_THREAD; i <= 2 * job.piece_mask + 1; i += ST_THREADS)
        st_claim_place(&job, i, orders, crowded);
}

ST_KERNEL st_kernel_take(const __grid_constant__ st_job job, const uint32_t *orders)
{
    for (uint64_t i = ST_THREAD; i <= 2 * job.piece_mask + 1; i += ST_THREADS)
        st_take_place(&job, i, orders, (uint4 *)job.first);
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

ST_KERNEL __launch_bounds__(256) st_kernel_cuts(const __grid_constant__ st_job job)
{
    st_cut_memory *memory = (st_cut_memory *)st_shared + ST_WARP;
    const uint64_t stretches = (job.blocks + ST_STRETCH_BLOCKS - 1) / ST_STRETCH_BLOCKS;
    for (uint64_t i = ST_THREAD / 32; i < stretches; i += ST_THREADS / 32)
        st_cut_stretch(&job, memory, threadIdx.x & 31, i);
}

ST_KERNEL __launch_bounds__(256, 5) st_kernel_lookup(const __grid_constant__ st_job job)
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
    st_merge_all(&job, memory, threadIdx.x & 31, ST_THREADS / 32);
}

ST_KERNEL __launch_bounds__(256) st_kernel_gather(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD / 32; i < job.stretches; i += ST_THREADS / 32)
        st_gather_stretch<ST_SCANNED>(&job, threadIdx.x & 31, i);
    for (uint64_t i = ST_THREAD / 32; i < job.row_count; i += ST_THREADS / 32)
        st_row_start<ST_SCANNED>(&job, threadIdx.x & 31, i);
}

#endif
