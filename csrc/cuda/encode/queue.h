/* queue.h - lists of records that many warps write. A warp collects its records in shared memory and reserves room in a list for
 * 32 of them at a time, with one atomic operation. */
#ifndef ST_CUDA_ENCODE_QUEUE_H
#define ST_CUDA_ENCODE_QUEUE_H

#include "cuda/job.h"

#define ST_QUEUE 64 /* fewer than 32 wait, and 32 lanes may bring one each */

/* A list, the number of records appended (which may exceed the capacity), and its capacity. */
typedef struct st_list {
    uint64_t *records;
    uint32_t *count;
    uint64_t capacity;
} st_list;

/* Moves 32 of the queue's records to the list, or as many as there are; returns how many stay. */
ST_FORCE_INLINE uint32_t st_flush(const st_job *job, st_list list, unsigned lane, const uint64_t *queue, uint32_t queued)
{
    const uint32_t count = queued < 32 ? queued : 32, left = queued - count;
    uint32_t at = 0;
    __syncwarp();
    if (lane == 0 && count)
        at = atomicAdd(list.count, count);
    at = __shfl_sync(0xFFFFFFFFu, at, 0);
    if (lane < count && at + lane < list.capacity)
        list.records[at + lane] = queue[left + lane];
    if (lane == 0 && at + count > list.capacity)
        atomicOr(&job->counts->flags, ST_FLAG_LISTS);
    __syncwarp();
    return left;
}

/* Adds the records of the lanes that have one to the list at once. */
ST_INLINE void st_append(const st_job *job, st_list list, unsigned lane, int mine, uint64_t record)
{
    const uint32_t those = __ballot_sync(0xFFFFFFFFu, mine), count = (uint32_t)__popc(those);
    uint32_t at = 0;
    if (lane == 0)
        at = atomicAdd(list.count, count);
    at = __shfl_sync(0xFFFFFFFFu, at, 0) + (uint32_t)__popc(those & ((1u << lane) - 1));
    if (mine && at < list.capacity)
        list.records[at] = record;
    else if (mine)
        atomicOr(&job->counts->flags, ST_FLAG_LISTS);
}

/* Queues the records of the lanes that have one; returns how many are queued then. */
ST_FORCE_INLINE uint32_t st_push(const st_job *job, st_list list, unsigned lane, uint64_t *queue, uint32_t queued, int mine,
                                 uint64_t record)
{
    const uint32_t those = __ballot_sync(0xFFFFFFFFu, mine);
    if (mine)
        queue[queued + __popc(those & ((1u << lane) - 1))] = record;
    queued += (uint32_t)__popc(those);
    return queued >= 32 ? st_flush(job, list, lane, queue, queued) : queued;
}

#endif
