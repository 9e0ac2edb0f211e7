/* The kernels of encoding: see cuda.h. Compiled with -DST_FAMILY=..., as the GPU's modules are. */
#include "cuda.h"

#include "cuda/encode/encode.cu"
#include "lanes.h"

#ifdef ST_SHORT_TEXTS
KERNEL(short, st_job)
#else
#include "start_kernels.h"
JOB_KERNEL(form)
JOB_KERNEL(tell)
KERNEL(splice, st_splicing)
JOB_KERNEL(cuts)
JOB_KERNEL(lookup)
JOB_KERNEL(again)
JOB_KERNEL(merge)
JOB_KERNEL(sum)
JOB_KERNEL(scan)
JOB_KERNEL(gather)

extern "C" void run_pairs(const st_job *job, const uint32_t *left, const uint32_t *right, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        st_enter_pair((uint64_t *)job->pairs, job->pair_mask, left[i], right[i], (uint32_t)i);
}

extern "C" void run_claim(const st_job *job, uint32_t *orders, uint32_t *crowded)
{
    for (uint64_t i = 0; i <= 2 * job->piece_mask + 1; i++)
        st_claim_place(job, i, orders, crowded);
}

extern "C" void run_take(const st_job *job, const uint32_t *orders)
{
    for (uint64_t i = 0; i <= 2 * job->piece_mask + 1; i++)
        st_take_place(job, i, orders, (uint4 *)job->first);
}

extern "C" void run_mark(const st_job *job, const uint32_t *crowded)
{
    for (uint64_t i = 0; i < (uint64_t)1 << (32 - job->first_shift); i++)
        st_mark_place(i, crowded, (uint4 *)job->first);
}

extern "C" void run_filter(const st_job *job, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        st_enter_filter(job->token_bytes + job->token_starts[i], job->token_starts[i + 1] - job->token_starts[i],
                        (uint32_t *)job->filter);
}
#endif

extern "C" size_t sizes(int which)
{
    const size_t all[] = {sizeof(st_job), sizeof(st_counts), sizeof(st_packing), sizeof(st_cut_memory), sizeof(st_lookup_memory),
                          sizeof(st_again_memory), sizeof(st_merge_memory)};
    return all[which];
}
