/* start_kernels.h - the kernels that find where pieces start, for the programs that include it behind lanes.h. */
#ifndef EMULATED_START_KERNELS_H
#define EMULATED_START_KERNELS_H

#define JOB_KERNEL(name) KERNEL(name, st_job)
KERNEL(pack, st_packing)
JOB_KERNEL(begin)
JOB_KERNEL(check)
JOB_KERNEL(find)
JOB_KERNEL(split)
JOB_KERNEL(resync)
JOB_KERNEL(rest)

#endif
