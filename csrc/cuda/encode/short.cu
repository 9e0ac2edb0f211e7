/* short.cu - all stages in one launch, for short texts: launching each stage would take longer than its work. Between stages all
 * thread blocks wait for each other.
 *
 * Compiled with short stretches (ST_STRETCH_BLOCKS): a text of 16 KB then keeps 128 warps busy instead of 16. encode.cu includes
 * the stages, and then this file. */

/* The work on a block that waits for no other: checks UTF-8 and the normal form, and finds names. */
ST_INLINE void st_look_at_block(const st_job *job, uint64_t block)
{
    if (!job->trusted)
        st_check_block(job, block);
    if (job->form)
        st_check_form(job, block);
    if (job->name_count)
        st_find_names(job, block);
}

/* After the last barrier: the last block tells the host, which looks for it, that all blocks have written what they had to. The host sees
 * it sooner than the end of the launch. */
ST_INLINE void st_tell_host(const st_job *job, uint32_t *arrived, uint32_t meetings)
{
    __syncthreads();
    if (threadIdx.x == 0)
        __threadfence_system(); /* also for what the other threads of the block wrote */
    if (st_leave(arrived, meetings)) {
        __threadfence_system();
        *(volatile uint32_t *)&job->report->done = 1;
    }
}

ST_KERNEL __launch_bounds__(256, 2) st_kernel_short(const __grid_constant__ st_job job)
{
    const uint64_t thread = ST_THREAD, threads = ST_THREADS, warp = thread / 32, warps = threads / 32;
    const unsigned lane = threadIdx.x & 31;
    uint32_t *arrived = &job.counts->arrived, meetings = 0;
    if (thread == 0)
        st_begin(&job);
    for (uint64_t i = thread; job.source && i < (job.source_size + 15) / 16; i += threads)
        ((uint4 *)job.text)[i] = job.source[i];
    st_meet(arrived, &meetings);
    for (uint64_t i = (thread + threads / 2) % threads; i < job.blocks; i += threads) /* by warps without a segment to split */
        st_look_at_block(&job, i);
    if (job.map) { /* once all have looked at the text as it came */
        st_meet(arrived, &meetings);
        for (uint64_t i = thread; i < (job.size + 15) / 16; i += threads)
            ((uint4 *)job.text)[i] = st_mapped(job.map, ((uint4 *)job.text)[i]);
        st_meet(arrived, &meetings);
    }
    for (uint64_t i = thread; i < st_segments(&job); i += threads)
        st_split_segment(&job, i);
    st_meet(arrived, &meetings);
    const uint64_t hard = st_hard_count(&job);
    for (uint64_t i = thread; i < hard; i += threads)
        st_resync_segment(&job, (uint32_t)i);
    if (hard)
        st_meet(arrived, &meetings);
    const uint64_t gaps = st_gap_count(&job);
    for (uint64_t i = thread; i < gaps; i += threads)
        st_fill_gap(&job, (uint32_t)i);
    if (gaps)
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
    st_merge_all(&job, (st_merge_memory *)st_shared + ST_WARP, lane, warps);
    st_meet(arrived, &meetings);
    for (uint64_t i = warp; i < st_tiles(&job); i += warps)
        st_scan_tile(&job, lane, i);
    st_meet(arrived, &meetings);
    const uint64_t tokens = st_tile_start<ST_NOT_SCANNED>(&job, lane, st_tiles(&job));
    if (thread == 0)
        st_report(&job, tokens);
    for (uint64_t i = warp; i < job.stretches; i += warps)
        st_gather_stretch<ST_NOT_SCANNED>(&job, lane, i);
    for (uint64_t i = warp; i < job.row_count; i += warps)
        st_row_start<ST_NOT_SCANNED>(&job, lane, i);
    st_tell_host(&job, arrived, meetings);
}
