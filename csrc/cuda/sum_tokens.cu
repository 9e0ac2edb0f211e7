/* sum_tokens.cu - the kernels that count the tokens before each stretch of a slice (cuda/count_tokens.cu), for merging and for longest
 * match. */
#include "cuda/count_tokens.cu"

ST_KERNEL __launch_bounds__(256) st_kernel_sum(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD / 32; i < st_tiles(&job); i += ST_THREADS / 32)
        st_scan_tile(&job, threadIdx.x & 31, i);
}

ST_KERNEL __launch_bounds__(32) st_kernel_scan(const __grid_constant__ st_job job)
{
    st_scan_tiles(&job, threadIdx.x);
}
