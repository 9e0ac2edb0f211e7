/* grid.h - how a kernel is declared, the number of a thread in its grid, and a barrier for all blocks of a grid. */
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

/* A barrier for all threads of the grid. All blocks must be on the device at once (a cooperative launch). `arrived` is 0 before
 * and after the launch. */
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

/* To be called after the last barrier. The block that leaves last sets `arrived` to 0; until then others may still read it.
 * Returns 1 to one thread of that block. */
ST_INLINE unsigned st_leave(uint32_t *arrived, uint32_t meetings)
{
    if (threadIdx.x)
        return 0;
    if (gridDim.x > 1) {
        if (atomicAdd(arrived, 1u) + 1 != meetings + gridDim.x)
            return 0;
        *arrived = 0;
    }
    return 1;
}

#endif
