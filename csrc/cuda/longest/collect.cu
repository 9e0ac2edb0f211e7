/* collect.cu - ids of the lanes, in order and without gaps, to their places in the output; a warp a stretch. */
#ifndef ST_CUDA_LONGEST_COLLECT_CU
#define ST_CUDA_LONGEST_COLLECT_CU

#include "cuda/count_tokens.cu"
#include "cuda/longest/walk.cu"

ST_INLINE void st_collect_stretch(const st_job *job, unsigned lane, uint64_t stretch)
{
    const uint32_t span = lane < 31 ? job->spans[stretch * 31 + lane] : 0;
    const uint32_t front = span & 0x3FF, skipped = span >> 10 & 0x3FF, count = front + (span >> 20) - skipped;
    uint32_t total;
    const uint32_t before = st_prefix(count, lane, &total);
    const uint64_t at = job->tile_starts[stretch / ST_TILE] + job->offsets[stretch];
#pragma unroll 4
    for (unsigned i = 0; i < 31; i++) {
        const uint32_t those = __shfl_sync(0xFFFFFFFFu, count, (int)i), in_front = __shfl_sync(0xFFFFFFFFu, front, (int)i);
        const uint32_t from = __shfl_sync(0xFFFFFFFFu, skipped, (int)i), to = __shfl_sync(0xFFFFFFFFu, before, (int)i);
        const uint64_t place = (stretch * 31 + i) * ST_LANE_BYTES;
        for (uint32_t k = lane; k < those; k += 32)
            st_write_id(job, at + to + k, k < in_front ? job->fronts[place + k] : job->slots[place + from + k - in_front]);
    }
}

/* Tokens before a row that begins in this slice; a thread a row. */
ST_INLINE void st_begin_row(const st_job *job, uint64_t row)
{
    const uint64_t block = job->rows[row], first = job->first_stretch * ST_WALK_BLOCKS;
    const uint64_t end = first + job->stretches * ST_WALK_BLOCKS;
    if (block < first || (block >= end && block < job->blocks))
        return;
    if (block >= job->blocks) { /* no text follows */
        if (end >= job->blocks)
            job->row_starts[row] = job->tile_starts[st_tiles(job)];
        return;
    }
    const uint64_t stretch = (block - first) / ST_WALK_BLOCKS;
    job->row_starts[row] = job->tile_starts[stretch / ST_TILE] + job->offsets[stretch] + job->row_slots[block - first];
}

#endif
