/* grid.h - what a kernel is, where a thread stands in its grid, and how all blocks of one wait for each other. */
#ifndef ST_CUDA_GRID_H
#define ST_CUDA_GRID_H

#include "base/portable.h"

#define ST_KERNEL extern "C" __global__ void

#define ST_THREAD ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define ST_THREADS ((uint64_t)gridDim.x * blockDim.x)
#define ST_WARP (threadIdx.x / 32)

extern __shared__ uint4 st_shared[];

#ifndef ST_PAUSE
#define ST_PAUSE() /* between two looks at what another block is to write */
#endif

/* All threads of the grid come here before one goes on. The blocks are all on the device at once (a cooperative launch);
 * `arrived` is 0 before the launch, and after it. */
ST_INLINE void st_meet(uint32_t *arrived, uint32_t *meetings)
{
    __syncthreads();
    if (gridDim.x > 1 && threadIdx.x == 0) {
        *meetings += gridDim.x;
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile uint32_t *)arrived < *meetings)
            ST_PAUSE();
        __threadfence();
    }
    __syncthreads();
}

/* After the last meeting. The block that leaves last makes `arrived` 0 again: until then others may still look at it. */
ST_INLINE void st_leave(uint32_t *arrived, uint32_t meetings)
{
    if (gridDim.x > 1 && threadIdx.x == 0 && atomicAdd(arrived, 1u) + 1 == meetings + gridDim.x)
        *arrived = 0;
}

#endif
