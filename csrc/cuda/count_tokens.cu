/* count_tokens.cu - from the number of tokens in each stretch to the number before it: a prefix sum, tile by tile. Merging and longest
 * match share it.
 *
 * `tile_starts` first holds the number of tokens in each tile, and after st_scan_tiles the number before it. */
#ifndef ST_CUDA_COUNT_TOKENS_CU
#define ST_CUDA_COUNT_TOKENS_CU

#include "cuda/job.h"

/* Computes the tokens before each stretch of the tile, and in the tile; a warp a tile. */
ST_INLINE void st_scan_tile(const st_job *job, unsigned lane, uint64_t tile)
{
    const uint64_t first = tile * ST_TILE;
    uint32_t before = 0;
    for (unsigned i = lane; i < ST_TILE; i += 32) {
        const uint64_t stretch = first + i;
        const uint32_t count = stretch < job->stretches ? job->tokens[stretch] : 0;
        uint32_t total;
        const uint32_t sum = st_prefix(count, lane, &total);
        if (stretch < job->stretches)
            job->offsets[stretch] = before + sum;
        before += total;
    }
    if (lane == 0)
        job->tile_starts[tile] = before;
}

ST_INLINE uint64_t st_tiles(const st_job *job)
{
    return (job->stretches + ST_TILE - 1) / ST_TILE;
}

/* Reports the number of tokens up to the end of the slice; one lane. */
ST_INLINE void st_report(const st_job *job, uint64_t tokens)
{
    job->counts->tokens = tokens;
    if (tokens > job->out_capacity)
        job->counts->flags |= ST_FLAG_FULL;
    if (job->learned_count)
        job->counts->learned = *job->learned_count;
    *job->report = *job->counts;
}

/* Turns the tiles' counts into the numbers of tokens before them, slices before this one included; one warp. */
ST_INLINE void st_scan_tiles(const st_job *job, unsigned lane)
{
    const uint64_t tiles = st_tiles(job);
    uint64_t before = job->counts->tokens;
    for (uint64_t first = 0; first < tiles; first += 32) {
        const uint64_t tile = first + lane;
        uint64_t sum = tile < tiles ? job->tile_starts[tile] : 0;
        const uint64_t count = sum;
        for (int step = 1; step < 32; step *= 2) {
            const uint64_t other = __shfl_up_sync(0xFFFFFFFFu, sum, (unsigned)step);
            sum += lane >= (unsigned)step ? other : 0;
        }
        if (tile < tiles)
            job->tile_starts[tile] = before + sum - count;
        before += __shfl_sync(0xFFFFFFFFu, sum, 31);
    }
    __syncwarp();
    if (lane == 0) {
        job->tile_starts[tiles] = before;
        st_report(job, before);
    }
}

ST_FORCE_INLINE void st_write_id(const st_job *job, uint64_t at, uint32_t id)
{
    if (at >= job->out_capacity)
        return;
    if (job->id_bytes == 2)
        ((uint16_t *)job->out)[at] = (uint16_t)id;
    else if (job->id_bytes == 4)
        ((uint32_t *)job->out)[at] = id;
    else
        ((uint64_t *)job->out)[at] = id;
}

#endif
