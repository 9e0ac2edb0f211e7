/* cuda.h - as much of CUDA's language as the kernels of csrc/cuda use, for a C++ compiler: so that every kernel runs, lane by
 * lane, on a machine without a GPU. A warp's lanes are coroutines that meet where CUDA has them exchange values. */
#ifndef EMULATED_CUDA_H
#define EMULATED_CUDA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Blocks that wait for each other are a thread of the system each, with memory of its own (run_train.cpp). */
#ifndef EMULATED_LOCAL
#define EMULATED_LOCAL
#endif

#define __global__
#define __shared__ EMULATED_LOCAL
#define __grid_constant__
#define __launch_bounds__(...)

struct emulated_index {
    unsigned x;
};

/* The lane that runs now. */
extern EMULATED_LOCAL emulated_index emulated_thread, emulated_block, emulated_block_size, emulated_grid;
#define threadIdx emulated_thread
#define blockIdx emulated_block
#define blockDim emulated_block_size
#define gridDim emulated_grid

struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};

/* Each of the 32 lanes gives a value, with the same name, and gets the values of all. */
const uint64_t *emulated_exchange(const char *what, uint64_t value);
uint32_t emulated_ballot(int some);
unsigned emulated_lane(void);

static inline uint32_t __ballot_sync(unsigned, int some) { return emulated_ballot(some); }
static inline int __any_sync(unsigned mask, int some) { return __ballot_sync(mask, some) != 0; }
static inline int __all_sync(unsigned mask, int some) { return __ballot_sync(mask, some) == 0xFFFFFFFFu; }
static inline void __threadfence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system(void) { __threadfence(); }
static inline void __syncthreads(void) { emulated_exchange("syncthreads", 0); }
static inline void __syncwarp(void) { emulated_exchange("syncwarp", 0); }

template <typename T> static inline T __shfl_sync(unsigned, T value, int from)
{
    return (T)emulated_exchange("shfl", (uint64_t)value)[from & 31];
}
template <typename T> static inline T __shfl_up_sync(unsigned, T value, unsigned step)
{
    const uint64_t *all = emulated_exchange("shfl_up", (uint64_t)value);
    return emulated_lane() >= step ? (T)all[emulated_lane() - step] : value;
}
template <typename T> static inline T __shfl_xor_sync(unsigned, T value, int step)
{
    return (T)emulated_exchange("shfl_xor", (uint64_t)value)[emulated_lane() ^ (unsigned)step];
}

/* Lets other lanes of the warp run, if the order of lanes is shuffled (lanes.h). */
void emulated_yield(void);

/* Lanes of a block run one at a time; those of other blocks may run beside them. */
#define EMULATED_ADD(type) \
    static inline type atomicAdd(type *at, type value) \
    { \
        emulated_yield(); \
        return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST); \
    }
EMULATED_ADD(uint32_t)
EMULATED_ADD(unsigned long long)

static inline uint32_t atomicMin(uint32_t *at, uint32_t value)
{
    const uint32_t old = *at;
    *at = value < old ? value : old;
    return old;
}
static inline unsigned long long atomicMax(unsigned long long *at, unsigned long long value)
{
    emulated_yield();
    const unsigned long long old = *at;
    *at = value > old ? value : old;
    return old;
}
static inline uint32_t atomicOr(uint32_t *at, uint32_t value)
{
    emulated_yield();
    return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);
}
static inline unsigned long long atomicCAS(unsigned long long *at, unsigned long long expected, unsigned long long value)
{
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

static inline uint32_t atomicCAS(uint32_t *at, uint32_t expected, uint32_t value)
{
    emulated_yield();
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

static inline int __popc(unsigned value) { return __builtin_popcount(value); }
static inline int __clzll(long long value) { return value ? __builtin_clzll((unsigned long long)value) : 64; }
static inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
static inline int __ffs(int value) { return __builtin_ffs(value); }
static inline uint32_t min(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline uint32_t __funnelshift_r(uint32_t low, uint32_t high, unsigned shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) >> (shift & 31));
}
static inline uint32_t __funnelshift_lc(uint32_t low, uint32_t high, unsigned shift)
{
    return (uint32_t)(((uint64_t)high << 32 | low) << (shift < 32 ? shift : 32) >> 32);
}
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector)
{
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++)
        result |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xFF) << 8 * i;
    return result;
}

#endif
