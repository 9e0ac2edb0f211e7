/* The kernels that find where pieces start, alone: see cuda.h. Compiled with -DST_FAMILY=... */
#include "cuda.h"

#include "cuda/starts.cu"
#include "lanes.h"

#include "start_kernels.h"
