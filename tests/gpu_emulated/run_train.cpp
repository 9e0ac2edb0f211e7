/* The kernels of training: see cuda.h. Blocks of a cooperative launch wait for each other, so each is a thread of the system,
 * and they do run at once; those of other kernels come one after the other. */
#include <sched.h>

#define EMULATED_LOCAL thread_local
#define ST_PAUSE() sched_yield()
#include "cuda.h"

#include "cuda/train/train.cu"
#include "lanes.h"

#include <thread>
#include <vector>

KERNEL(pack, st_packing)
KERNEL(begin, st_job)
KERNEL(check, st_job)
KERNEL(find, st_job)
KERNEL(split, st_job)
KERNEL(resync, st_job)
KERNEL(rest, st_job)
KERNEL(count, st_counting)
KERNEL(grow, st_growing)
KERNEL(place, st_placing)
KERNEL(widen, st_widening)

static st_learning the_learning;
static void body_learn(void) { st_kernel_learn(the_learning); }

static void run_one(unsigned number, unsigned grid, unsigned block)
{
    emulated_grid.x = grid;
    emulated_block_size.x = block;
    emulated_block.x = number;
    memset(st_shared, 0xA5, sizeof(st_lead_memory));
    run_block(block / 32);
    for (unsigned i = 0; i < block; i++) {
        free(lanes[i].stack);
        lanes[i].stack = NULL;
    }
}

extern "C" void run_learn(unsigned grid, unsigned block, const st_learning *argument)
{
    std::vector<std::thread> blocks;
    the_learning = *argument;
    body = body_learn;
    for (unsigned b = 1; b < grid; b++)
        blocks.emplace_back(run_one, b, grid, block);
    run_one(0, grid, block);
    for (std::thread &each : blocks)
        each.join();
}

extern "C" size_t sizes(int which)
{
    const size_t all[] = {sizeof(st_counting), sizeof(st_counted), sizeof(st_growing), sizeof(st_placing), sizeof(st_row_top),
                          sizeof(st_widening), sizeof(st_learning), sizeof(st_learned), sizeof(st_pair), sizeof(st_side),
                          sizeof(st_count_memory), sizeof(st_lead_memory)};
    return all[which];
}
