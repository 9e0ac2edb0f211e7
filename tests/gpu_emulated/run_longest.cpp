/* The kernels of longest match: see cuda.h. Compiled with -DST_FAMILY=... */
#include "cuda.h"

#include "cuda/longest/longest.cu"
#include "lanes.h"

#include "start_kernels.h"
JOB_KERNEL(form)
JOB_KERNEL(tell)
KERNEL(splice, st_splicing)
JOB_KERNEL(walk)
JOB_KERNEL(bounded)
JOB_KERNEL(heads)
JOB_KERNEL(mend)
JOB_KERNEL(map)
JOB_KERNEL(groups)
JOB_KERNEL(chain)
JOB_KERNEL(enter)
JOB_KERNEL(sum)
JOB_KERNEL(scan)
JOB_KERNEL(collect)

extern "C" size_t sizes(int which)
{
    const size_t all[] = {sizeof(st_job), sizeof(st_counts), sizeof(st_walk_memory), sizeof(st_bounded_memory), ST_WALK_STRETCH, ST_CHAIN};
    return all[which];
}
