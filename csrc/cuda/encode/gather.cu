/* gather.cu - slots to ids without holes, a warp a stretch, when the tokens before it are known (cuda/count_tokens.cu).
 *
 * A short text has few tiles: there every warp adds up those in front of it, which takes less time than waiting for the prefix sum. */
#include "cuda/count_tokens.cu"

typedef enum st_scanned { ST_NOT_SCANNED, ST_SCANNED } st_scanned;

/* Tokens before a tile, for all lanes of a warp. */
template <st_scanned Scanned> ST_FORCE_INLINE uint64_t st_tile_start(const st_job *job, unsigned lane, uint64_t tile)
{
    if constexpr (Scanned == ST_SCANNED) {
        return job->tile_starts[tile];
    } else {
        uint64_t sum = 0;
        for (uint64_t i = lane; i < tile; i += 32)
            sum += job->tile_starts[i];
        for (int step = 16; step; step /= 2)
            sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
        return sum;
    }
}

/* Where the slots of the stretch begin, and how many are in use. */
ST_FORCE_INLINE const uint32_t *st_slots_of(const st_job *job, uint64_t stretch, uint32_t *used)
{
    const uint32_t span = job->spans[stretch];
    *used = span & 0xFFFF;
    return job->slots + stretch * ST_STRETCH + (span >> 16);
}

#define ST_GATHER_LOADS 4 /* slots of a lane on their way from memory at a time */

template <st_scanned Scanned> ST_INLINE void st_gather_stretch(const st_job *job, unsigned lane, uint64_t stretch)
{
    uint32_t used;
    const uint32_t *slots = st_slots_of(job, stretch, &used);
    uint64_t at = st_tile_start<Scanned>(job, lane, stretch / ST_TILE) + job->offsets[stretch];
    for (uint32_t i = lane; i - lane < used; i += 32 * ST_GATHER_LOADS) {
        uint32_t some[ST_GATHER_LOADS];
#pragma unroll
        for (uint32_t k = 0; k < ST_GATHER_LOADS; k++)
            some[k] = i + 32 * k < used ? slots[i + 32 * k] : ST_HOLE;
#pragma unroll
        for (uint32_t k = 0; k < ST_GATHER_LOADS; k++) {
            const uint32_t there = __ballot_sync(0xFFFFFFFFu, some[k] != ST_HOLE);
            const uint64_t to = at + __popc(there & ((1u << lane) - 1));
            if (some[k] < ST_HUGE)
                st_write_id(job, to, some[k]);
            else if (some[k] != ST_HOLE && some[k] - ST_HUGE < job->huge_capacity)
                job->huge_tokens[some[k] - ST_HUGE] = to;
            at += (uint32_t)__popc(there);
        }
    }
}

/* Tokens before a row that begins in this slice; a warp a row. */
template <st_scanned Scanned> ST_INLINE void st_row_start(const st_job *job, unsigned lane, uint64_t row)
{
    const uint64_t block = job->rows[row], first = job->first_stretch * ST_STRETCH_BLOCKS;
    const uint64_t end = first + job->stretches * ST_STRETCH_BLOCKS;
    if (block < first || (block >= end && block < job->blocks))
        return;
    if (block >= job->blocks) { /* no text follows */
        const uint64_t all = st_tile_start<Scanned>(job, lane, st_tiles(job));
        if (lane == 0 && end >= job->blocks)
            job->row_starts[row] = all;
        return;
    }
    const uint64_t stretch = (block - first) / ST_STRETCH_BLOCKS;
    uint32_t used, total = 0;
    const uint32_t *slots = st_slots_of(job, stretch, &used), *stop = job->slots + stretch * ST_STRETCH + job->row_slots[block - first];
    for (uint32_t i = lane; slots + i < stop; i += 32)
        total += slots[i] != ST_HOLE;
    st_prefix(total, lane, &used);
    const uint64_t before = st_tile_start<Scanned>(job, lane, stretch / ST_TILE) + job->offsets[stretch];
    if (lane == 0)
        job->row_starts[row] = before + used;
}
