/* ids.cu - the kernels that take ids. What each does is in the file of its subject. */
#include "cuda/ids/decode.cu"
#include "cuda/ids/hold.cu"
#include "cuda/ids/rows.cu"

ST_INLINE uint64_t st_id_tiles(uint64_t count) { return (count + ST_ID_TILE - 1) / ST_ID_TILE; }

ST_KERNEL st_kernel_tell(const __grid_constant__ st_sums job)
{
    if (ST_THREAD == 0)
        st_tell(job.report, job.host);
}

ST_KERNEL __launch_bounds__(32 * ST_SUM_WARPS) st_kernel_add_up(const __grid_constant__ st_sums job)
{
    st_add_up(&job, (uint64_t *)st_shared, ST_WARP, threadIdx.x & 31);
}

ST_KERNEL __launch_bounds__(256) st_kernel_count_bytes(const __grid_constant__ st_decode job)
{
    for (uint64_t i = ST_THREAD / 32; i < st_id_tiles(job.count); i += ST_THREADS / 32)
        st_count_bytes(&job, threadIdx.x & 31, i);
}

ST_KERNEL __launch_bounds__(256) st_kernel_write_bytes(const __grid_constant__ st_decode job)
{
    st_decode_memory *memory = (st_decode_memory *)st_shared + ST_WARP;
    for (uint64_t i = ST_THREAD / 32; i < st_id_tiles(job.count); i += ST_THREADS / 32)
        st_write_tile(&job, memory, threadIdx.x & 31, i);
}

ST_KERNEL __launch_bounds__(256) st_kernel_row_bytes(const __grid_constant__ st_decode job)
{
    for (uint64_t i = ST_THREAD / 32; i < job.row_count; i += ST_THREADS / 32)
        st_decode_row_start(&job, threadIdx.x & 31, i);
}

ST_KERNEL st_kernel_hold(const __grid_constant__ st_hold job)
{
    for (uint64_t i = ST_THREAD; i < job.row_count; i += ST_THREADS)
        st_hold_row(&job, i);
}

ST_KERNEL st_kernel_give(const __grid_constant__ st_hold job)
{
    for (uint64_t i = ST_THREAD / 32; i < job.row_count; i += ST_THREADS / 32)
        st_give_row(&job, threadIdx.x & 31, i);
}

ST_KERNEL st_kernel_longest_row(const __grid_constant__ st_pad job)
{
    st_find_longest_row(&job, ST_THREAD, ST_THREADS);
}

ST_KERNEL st_kernel_pad(const __grid_constant__ st_pad job)
{
    for (uint64_t i = ST_THREAD / 32; i < job.row_count; i += ST_THREADS / 32)
        st_pad_row(&job, threadIdx.x & 31, i);
}

ST_KERNEL st_kernel_pack_rows(const __grid_constant__ st_pack job)
{
    for (uint64_t i = ST_THREAD / 32; i < st_id_tiles(job.capacity); i += ST_THREADS / 32)
        st_pack_tile(&job, threadIdx.x & 31, i);
}

ST_KERNEL __launch_bounds__(256) st_kernel_pack_plan(const __grid_constant__ st_planned job)
{
    for (uint64_t i = ST_THREAD / 32; i < st_id_tiles(job.capacity); i += ST_THREADS / 32)
        st_planned_tile(&job, threadIdx.x & 31, i);
}

ST_KERNEL __launch_bounds__(256) st_kernel_template(const __grid_constant__ st_template job)
{
    for (uint64_t i = ST_THREAD / 32; i < st_id_tiles(job.total); i += ST_THREADS / 32)
        st_template_tile(&job, threadIdx.x & 31, i);
}

ST_KERNEL st_kernel_sequences(const __grid_constant__ st_pack job)
{
    for (uint64_t i = ST_THREAD / 32; i < st_id_tiles(job.capacity); i += ST_THREADS / 32)
        st_list_sequences(&job, threadIdx.x & 31, i);
}
