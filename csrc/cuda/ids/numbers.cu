/* numbers.cu - numbers of several widths, and their sums: over a warp, and, by one block, over an array. */
#ifndef ST_CUDA_IDS_NUMBERS_CU
#define ST_CUDA_IDS_NUMBERS_CU

#include "cuda/ids/job.h"

/* numbers[at], of so many bytes. A negative one is beyond 32 bits. */
ST_FORCE_INLINE uint64_t st_number_at(const void *numbers, uint64_t bytes, uint64_t is_signed, uint64_t at)
{
    if (bytes == 4) {
        const uint32_t number = ((const uint32_t *)numbers)[at];
        return is_signed ? (uint64_t)(int)number : number;
    }
    if (bytes == 8)
        return ((const uint64_t *)numbers)[at];
    if (bytes == 2) {
        const uint16_t number = ((const uint16_t *)numbers)[at];
        return is_signed ? (uint64_t)(short)number : number;
    }
    const uint8_t number = ((const uint8_t *)numbers)[at];
    return is_signed ? (uint64_t)(signed char)number : number;
}

ST_FORCE_INLINE void st_put_number(void *numbers, uint64_t bytes, uint64_t at, uint64_t number)
{
    if (bytes == 4)
        ((uint32_t *)numbers)[at] = (uint32_t)number;
    else if (bytes == 8)
        ((uint64_t *)numbers)[at] = number;
    else
        ((uint16_t *)numbers)[at] = (uint16_t)number;
}

ST_FORCE_INLINE uint32_t st_sum_of_lanes(uint32_t sum)
{
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, step);
    return sum;
}

/* The sum of the values of the lanes before this one; *total receives that of all. */
template <typename T> ST_FORCE_INLINE T st_before_lane(T value, unsigned lane, T *total)
{
    T sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const T other = __shfl_up_sync(0xFFFFFFFFu, sum, (unsigned)step);
        sum += lane >= (unsigned)step ? other : 0;
    }
    *total = __shfl_sync(0xFFFFFFFFu, sum, 31);
    return sum - value;
}

/* Hands the report to the host, and begins the next one; one thread. */
ST_FORCE_INLINE void st_tell(st_id_report *report, st_id_report *host)
{
    *host = *report;
    report->total = report->flags = report->longest_row = 0;
}

#define ST_SUM_WARPS 32

/* Turns an array of numbers into the sums of those in front of each; one block of ST_SUM_WARPS warps, each of which takes a part.
 * `parts` is shared memory for a number a warp. */
ST_INLINE void st_add_up(const st_sums *job, uint64_t *parts, unsigned warp, unsigned lane)
{
    const uint64_t part = (job->count + ST_SUM_WARPS - 1) / ST_SUM_WARPS, first = warp * part;
    const uint64_t end = first + part < job->count ? first + part : job->count;
    uint64_t before = 0, total = 0;
    for (uint64_t i = first + lane; i < end; i += 32)
        total += job->numbers[i];
    for (int step = 16; step; step /= 2)
        total += __shfl_xor_sync(0xFFFFFFFFu, total, step);
    if (lane == 0)
        parts[warp] = total;
    __syncthreads();
    for (unsigned i = 0; i < warp; i++)
        before += parts[i];
    for (uint64_t i = first; i < end; i += 32) {
        const uint64_t number = i + lane < end ? job->numbers[i + lane] : 0;
        const uint64_t sum = before + st_before_lane(number, lane, &total);
        if (i + lane < end)
            job->numbers[i + lane] = sum;
        before += total;
    }
    if (warp == ST_SUM_WARPS - 1 && lane == 0) {
        job->numbers[job->count] = before;
        job->report->total = before;
        if (before > job->capacity)
            job->report->flags |= ST_FLAG_OVERFLOW;
        if (job->host)
            st_tell(job->report, job->host);
    }
}

#endif
