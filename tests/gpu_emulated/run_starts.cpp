/* The kernels that find where pieces start, alone: see cuda.h. Compiled with -DST_FAMILY=... */
#include "cuda.h"

#include "cuda/starts.cu"
#include "lanes.h"

#define JOB_KERNEL(name) KERNEL(name, st_job)
KERNEL(pack, st_packing)
JOB_KERNEL(begin)
JOB_KERNEL(check)
JOB_KERNEL(find)
JOB_KERNEL(split)
JOB_KERNEL(resync)
JOB_KERNEL(rest)
