/* encode.cu - the kernels: each stage by itself over a long text. What a stage does is in the stage's file. */
#include "cuts.cu"
#include "lookup.cu"
#include "starts.cu"
#include "merge.cu"
#include "gather.cu"

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
        st_gather_stretch(&job, threadIdx.x & 31, i);
    for (uint64_t i = ST_THREAD / 32; i < job.row_count; i += ST_THREADS / 32)
        st_row_start(&job, threadIdx.x & 31, i);
}

/* ---- all stages in one launch, for short texts ---- */

ST_KERNEL __launch_bounds__(256, 1) st_kernel_whole(const __grid_constant__ st_job job)
{
    const uint64_t thread = ST_THREAD, threads = ST_THREADS, warp = thread / 32, warps = threads / 32;
    const unsigned lane = threadIdx.x & 31;
    uint32_t *arrived = &job.counts->arrived, meetings = 0;
    if (thread == 0)
        st_begin(&job);
    st_meet(arrived, &meetings);
    for (uint64_t i = thread; i < st_segments(&job); i += threads)
        st_split_segment(&job, i);
    st_meet(arrived, &meetings);
    const uint64_t rest = st_rest_count(&job);
    for (uint64_t i = thread; i < rest; i += threads)
        st_split_rest(&job, (uint32_t)i);
    if (rest)
        st_meet(arrived, &meetings);
    __syncwarp();
    for (uint64_t i = warp; i < job.stretches; i += warps)
        st_cut_stretch(&job, (st_cut_memory *)st_shared + ST_WARP, lane, i);
    st_meet(arrived, &meetings);
    st_look_up_all(&job, (st_lookup_memory *)st_shared + ST_WARP, lane, warp, warps);
    st_meet(arrived, &meetings);
    st_take_all_again(&job, (st_again_memory *)st_shared + ST_WARP, lane, warp, warps);
    st_meet(arrived, &meetings);
    st_measure_all(&job, lane, warp, warps);
    st_merge_all(&job, (st_merge_memory *)st_shared + ST_WARP, lane);
    st_meet(arrived, &meetings);
    if (warp == 0) {
        for (uint64_t i = 0; i < st_groups(&job); i++)
            st_scan_group(&job, lane, i);
        __syncwarp();
        st_scan_groups(&job, lane);
    }
    st_meet(arrived, &meetings);
    for (uint64_t i = warp; i < job.stretches; i += warps)
        st_gather_stretch(&job, lane, i);
    for (uint64_t i = warp; i < job.row_count; i += warps)
        st_row_start(&job, lane, i);
    st_leave(arrived, meetings);
}
