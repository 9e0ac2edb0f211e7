/* collect.cu - ids of the lanes, in order and without gaps, to their places in the output; a warp a stretch. */
#ifndef ST_CUDA_LONGEST_COLLECT_CU
#define ST_CUDA_LONGEST_COLLECT_CU

#include "cuda/count_tokens.cu"
#include "cuda/longest/walk.cu"

#define ST_LISTS_AT_ONCE 4 /* lanes' lists on their way from memory at a time */

/* The ids of a lane: `front` in fronts, and then those in slots. */
typedef struct st_lane_list {
    const uint32_t *fronts, *slots; /* the second as if all were there */
    uint32_t front, count;
    uint64_t to;
} st_lane_list;

ST_FORCE_INLINE uint32_t st_id_of_list(const st_lane_list *list, uint32_t k)
{
    return k < list->front ? list->fronts[k] : list->slots[k];
}

ST_INLINE void st_collect_stretch(const st_job *job, unsigned lane, uint64_t stretch)
{
    const uint32_t span = lane < 31 ? job->spans[stretch * 31 + lane] : 0;
    const uint32_t front = span & 0x3FF, skipped = span >> 10 & 0x3FF, count = front + (span >> 20) - skipped;
    uint32_t total;
    const uint32_t before = st_prefix(count, lane, &total);
    const uint64_t at = job->tile_starts[stretch / ST_TILE] + job->offsets[stretch];
    for (unsigned first = 0; first < 32; first += ST_LISTS_AT_ONCE) {
        st_lane_list lists[ST_LISTS_AT_ONCE];
        uint32_t ids[ST_LISTS_AT_ONCE];
#pragma unroll
        for (unsigned i = 0; i < ST_LISTS_AT_ONCE; i++) {
            const int from = (int)(first + i);
            const uint64_t place = (stretch * 31 + first + i) * ST_LANE_BYTES;
            st_lane_list *list = &lists[i];
            list->front = __shfl_sync(0xFFFFFFFFu, front, from);
            list->count = __shfl_sync(0xFFFFFFFFu, count, from);
            list->to = at + __shfl_sync(0xFFFFFFFFu, before, from);
            list->fronts = job->fronts + place;
            list->slots = job->slots + place + __shfl_sync(0xFFFFFFFFu, skipped, from) - list->front;
            ids[i] = lane < list->count ? st_id_of_list(list, lane) : 0;
        }
#pragma unroll
        for (unsigned i = 0; i < ST_LISTS_AT_ONCE; i++) {
            const st_lane_list *list = &lists[i];
            if (lane < list->count)
                st_write_id(job, list->to + lane, ids[i]);
            for (uint32_t k = lane + 32; k < list->count; k += 32)
                st_write_id(job, list->to + k, st_id_of_list(list, k));
        }
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
