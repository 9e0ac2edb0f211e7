/* starts.cu - the kernels that find where pieces start. Encoding of long texts and training share them. */
#include "cuda/check.cu"
#include "cuda/grid.h"
#include "cuda/pack.cu"
#include "cuda/scan_gaps.cu"
#include "cuda/resume_split.cu"

/* Begins a slice, and with the first slice the text. */
ST_INLINE void st_begin(const st_job *job)
{
    st_counts *counts = job->counts;
    for (int i = 0; i < ST_CLASSES; i++)
        counts->lists[i] = 0;
    counts->heads[0] = counts->heads[1] = 0;
    counts->next = counts->deferred[0] = counts->deferred[1] = 0;
    if (job->first_stretch == 0) {
        counts->tokens = 0;
        counts->flags = counts->hard = counts->gaps = counts->huge = counts->specials = counts->doubts = counts->heads[2] = 0;
    }
}

#ifndef ST_SHORT_TEXTS

ST_KERNEL st_kernel_pack(const __grid_constant__ st_packing packing)
{
    for (uint64_t i = ST_THREAD; i < 4 * packing.count; i += ST_THREADS)
        st_pack_quarter(&packing, i);
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

ST_KERNEL __launch_bounds__(128) st_kernel_resync(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < st_hard_count(&job); i += ST_THREADS)
        st_resync_segment(&job, (uint32_t)i);
}

ST_KERNEL __launch_bounds__(128) st_kernel_rest(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < st_gap_count(&job); i += ST_THREADS)
        st_fill_gap(&job, (uint32_t)i);
}

ST_KERNEL st_kernel_begin(const __grid_constant__ st_job job)
{
    if (ST_THREAD == 0)
        st_begin(&job);
}

#endif
