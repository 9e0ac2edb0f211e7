/* Runs the kernels block by block and warp by warp: see cuda.h. Compiled with -DST_FAMILY=..., as the GPU's modules are. */
#include "cuda.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "../../csrc/cuda/encode.cu"

emulated_index emulated_thread, emulated_block, emulated_block_size, emulated_grid;
alignas(16) uint4 st_shared[1 << 14];

#define STACK (256 << 10)

#define WARPS 32

struct lane_state {
    ucontext_t context;
    jmp_buf place;
    char *stack;
    int begun, done;
    const char *what;
};

static lane_state lanes[32 * WARPS];
static uint64_t values[WARPS][2][32]; /* of this exchange and the one before, which slower lanes still read */
static unsigned phase[32 * WARPS], current;
static jmp_buf runner_place;
static void (*body)(void);

unsigned emulated_lane(void) { return current & 31; }

static void enter(void)
{
    body();
    lanes[current].done = 1;
    longjmp(runner_place, 1);
}

/* Goes on with the thread `current` until it exchanges or ends. */
static void resume(void)
{
    emulated_thread.x = current;
    if (_setjmp(runner_place))
        return;
    if (lanes[current].begun)
        longjmp(lanes[current].place, 1);
    lanes[current].begun = 1;
    getcontext(&lanes[current].context);
    lanes[current].context.uc_stack.ss_sp = lanes[current].stack;
    lanes[current].context.uc_stack.ss_size = STACK;
    lanes[current].context.uc_link = 0;
    makecontext(&lanes[current].context, enter, 0);
    setcontext(&lanes[current].context);
}

const uint64_t *emulated_exchange(const char *what, uint64_t value)
{
    const unsigned thread = current;
    uint64_t *all = values[thread / 32][phase[thread]++ & 1];
    all[thread & 31] = value;
    lanes[thread].what = what;
    if (!_setjmp(lanes[thread].place))
        longjmp(runner_place, 1);
    return all;
}

static int is_done(unsigned warp) { return lanes[32 * warp].done; }
static int waits_for_block(unsigned warp) { return !is_done(warp) && !strcmp(lanes[32 * warp].what, "syncthreads"); }

/* One exchange further; all lanes must have come to the same one. */
static void step_warp(unsigned warp)
{
    lane_state *first = &lanes[32 * warp];
    for (unsigned i = 0; i < 32; i++) {
        current = 32 * warp + i;
        resume();
    }
    for (unsigned i = 1; i < 32; i++)
        if (first[i].done != first->done || (!first->done && strcmp(first[i].what, first->what))) {
            fprintf(stderr, "lanes 0 and %u of a warp part ways: %s and %s\n", i, first->done ? "end" : first->what,
                    first[i].done ? "end" : first[i].what);
            abort();
        }
}

/* Runs each warp to its end or to where the block meets, until all have ended. */
static void run_block(unsigned warps)
{
    for (unsigned i = 0; i < 32 * warps; i++) {
        lanes[i].begun = lanes[i].done = 0;
        phase[i] = 0;
        if (!lanes[i].stack)
            lanes[i].stack = (char *)malloc(STACK);
    }
    for (unsigned left = warps; left;) {
        left = 0;
        for (unsigned warp = 0; warp < warps; warp++) {
            if (!is_done(warp))
                do
                    step_warp(warp);
                while (!is_done(warp) && !waits_for_block(warp));
            left += !is_done(warp);
        }
    }
}

static void run(unsigned grid, unsigned block, void (*kernel)(void))
{
    body = kernel;
    emulated_grid.x = grid;
    emulated_block_size.x = block;
    for (unsigned b = 0; b < grid; b++) {
        emulated_block.x = b;
        run_block(block / 32);
    }
}

#define KERNEL(name, type) \
    static type the_##name; \
    static void body_##name(void) { st_kernel_##name(the_##name); } \
    extern "C" void run_##name(unsigned grid, unsigned block, const type *argument) \
    { \
        the_##name = *argument; \
        run(grid, block, body_##name); \
    }
#define JOB_KERNEL(name) KERNEL(name, st_job)
#ifdef ST_SHORT_TEXTS
JOB_KERNEL(short)
#else
KERNEL(pack, st_packing)
JOB_KERNEL(begin)
JOB_KERNEL(check)
JOB_KERNEL(find)
JOB_KERNEL(split)
JOB_KERNEL(rest)
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
        st_claim_place(&job->entries[i], job->first_shift, orders, crowded);
}

extern "C" void run_take(const st_job *job, const uint32_t *orders)
{
    for (uint64_t i = 0; i <= 2 * job->piece_mask + 1; i++)
        st_take_place(job->entries, i, job->first_shift, orders, (uint4 *)job->first);
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
