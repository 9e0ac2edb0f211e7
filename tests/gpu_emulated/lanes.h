/* lanes.h - runs kernels block by block and warp by warp (see cuda.h). It is included after the kernels, which do not use it. */
#ifndef EMULATED_LANES_H
#define EMULATED_LANES_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

EMULATED_LOCAL emulated_index emulated_thread, emulated_block, emulated_block_size, emulated_grid;
alignas(16) EMULATED_LOCAL uint4 st_shared[1 << 14];

#define STACK (256 << 10)

#define WARPS 32

struct lane_state {
    ucontext_t context;
    jmp_buf place;
    char *stack;
    int begun, done, paused;
    unsigned wait; /* turns before it goes on */
    const char *what;
};

static EMULATED_LOCAL lane_state lanes[32 * WARPS];
static EMULATED_LOCAL uint64_t values[WARPS][2][32]; /* of this exchange and the one before, which slower lanes still read */
static EMULATED_LOCAL uint32_t votes[WARPS][2]; /* likewise, a bit of each lane */
static EMULATED_LOCAL unsigned phase[32 * WARPS], current;
static EMULATED_LOCAL jmp_buf runner_place;
static void (*body)(void);

unsigned emulated_lane(void) { return current & 31; }

/* 0: lanes run in order, each up to where the warp exchanges values. Else it is the state of a random generator (Marsaglia,
 * "Xorshift RNGs", 2003): lanes begin in random order and pause before each atomic operation, as diverged lanes of a GPU may do. */
static EMULATED_LOCAL uint64_t order;
static EMULATED_LOCAL int has_lanes; /* tables are built without any */

extern "C" void set_order(uint64_t seed) { order = seed; }

static unsigned any_below(unsigned count)
{
    order ^= order << 13;
    order ^= order >> 7;
    order ^= order << 17;
    return order ? (unsigned)(order >> 32) % count : 0;
}

void emulated_yield(void)
{
    lane_state *lane = &lanes[current];
    if (!order || !has_lanes)
        return;
    lane->paused = 1;
    lane->wait = any_below(8);
    if (!_setjmp(lane->place))
        longjmp(runner_place, 1);
}

/* A lane begins once, and then runs the body of one block after the other: makecontext and setcontext ask the system. */
static void enter(void)
{
    for (;;) {
        body();
        lanes[current].done = 1;
        if (!_setjmp(lanes[current].place))
            longjmp(runner_place, 1);
    }
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

uint32_t emulated_ballot(int some)
{
    const uint32_t bit = 1u << (current & 31);
    uint32_t *all = &votes[current / 32][phase[current] & 1];
    *all = some ? *all | bit : *all & ~bit;
    emulated_exchange("ballot", 0);
    return *all;
}

static int is_done(unsigned warp) { return lanes[32 * warp].done; }
static int waits_for_block(unsigned warp) { return !is_done(warp) && !strcmp(lanes[32 * warp].what, "syncthreads"); }

/* All lanes of a warp to their next exchange or their end. */
static void resume_warp(unsigned warp)
{
    unsigned left = 0xFFFFFFFFu;
    while (left) {
        const unsigned first = any_below(32);
        for (unsigned i = first; i < first + 32; i++) {
            current = 32 * warp + (i & 31);
            if (!(left >> (i & 31) & 1) || (lanes[current].wait && lanes[current].wait--))
                continue;
            lanes[current].paused = 0;
            resume();
            left &= ~((unsigned)!lanes[current].paused << (i & 31));
        }
    }
}

static int waits_alike(const lane_state *a, const lane_state *b)
{
    return a->done == b->done && (a->done || a->what == b->what || !strcmp(a->what, b->what));
}

/* One exchange further; all lanes must have come to the same one. */
static void step_warp(unsigned warp)
{
    lane_state *first = &lanes[32 * warp];
    resume_warp(warp);
    for (unsigned i = 1; i < 32; i++)
        if (!waits_alike(&first[i], first)) {
            fprintf(stderr, "lanes 0 and %u of a warp part ways: %s and %s\n", i, first->done ? "end" : first->what,
                    first[i].done ? "end" : first[i].what);
            abort();
        }
}

/* Runs each warp to its end or to where the block meets, until all have ended. */
static void run_block(unsigned warps)
{
    for (unsigned i = 0; i < 32 * warps; i++) {
        lanes[i].done = 0;
        lanes[i].wait = any_below(32);
        phase[i] = 0;
        if (lanes[i].stack)
            continue;
        lanes[i].stack = (char *)malloc(STACK);
        lanes[i].begun = 0;
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
    has_lanes = 1;
    for (unsigned b = 0; b < grid; b++) {
        emulated_block.x = b;
        run_block(block / 32);
    }
    has_lanes = 0;
}

#define KERNEL(name, type) \
    static type the_##name; \
    static void body_##name(void) { st_kernel_##name(the_##name); } \
    extern "C" void run_##name(unsigned grid, unsigned block, const type *argument) \
    { \
        the_##name = *argument; \
        run(grid, block, body_##name); \
    }

#endif
