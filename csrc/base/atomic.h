/* Atomic operations for publishing objects that are built lazily, and for pools. There are no locks, so none can be held across
 * a fork. And reads of what a caller's other threads may change meanwhile. */
#ifndef ST_BASE_ATOMIC_H
#define ST_BASE_ATOMIC_H

#include "base/portable.h"

/* A number in the memory of a caller, whose other threads may change it at any time. What is checked is what is used: the compiler does
 * not read it a second time. */
static inline uint32_t st_read_once(const uint32_t *number)
{
    return *(const volatile uint32_t *)number;
}

#if defined(_MSC_VER)
#if !defined(_M_X64) && !defined(_M_ARM64)
#error "with this compiler streamtok needs a 64-bit target: x64 or ARM64"
#endif

/* A volatile read has acquire semantics only under /volatile:ms, which is not the default for ARM. So these functions use a plain
 * load and, after it, a barrier for later reads. On x86 the processor keeps that order, and only the compiler needs a barrier. */
#if defined(_M_ARM64)
#define ST_READ_FENCE() __dmb(_ARM64_BARRIER_ISH)
#else
#define ST_READ_FENCE() _ReadWriteBarrier()
#endif

static inline void *st_acquire(void **place)
{
    const int64_t value = __iso_volatile_load64((const volatile int64_t *)place);
    ST_READ_FENCE();
    return (void *)value;
}

static inline void *st_publish(void **place, void *value)
{
    return _InterlockedCompareExchangePointer((void *volatile *)place, value, NULL);
}

static inline int st_replace(void **place, void *old, void *value)
{
    return _InterlockedCompareExchangePointer((void *volatile *)place, value, old) == old;
}

static inline void *st_take(void **place)
{
    return _InterlockedExchangePointer((void *volatile *)place, NULL);
}

static inline int st_flag_raise(int *flag)
{
    return !_InterlockedExchange((volatile long *)flag, 1);
}

static inline void st_flag_lower(int *flag)
{
    _InterlockedExchange((volatile long *)flag, 0);
}

static inline int st_count_add(int *count, int n)
{
    return _InterlockedExchangeAdd((volatile long *)count, n) + n;
}

static inline int st_count_read(const int *count)
{
    const int value = __iso_volatile_load32((const volatile int *)count);
    ST_READ_FENCE();
    return value;
}

static inline uint64_t st_number_read(const uint64_t *number)
{
    return (uint64_t)__iso_volatile_load64((const volatile int64_t *)number);
}

static inline void st_number_write(uint64_t *number, uint64_t value)
{
    __iso_volatile_store64((volatile int64_t *)number, (int64_t)value);
}

static inline uint64_t st_number_add(uint64_t *number, uint64_t n)
{
    return (uint64_t)_InterlockedExchangeAdd64((volatile int64_t *)number, (int64_t)n) + n;
}
#else

/* What was published at `place`, or NULL. */
static inline void *st_acquire(void **place)
{
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

/* Puts `value` into an empty place: NULL if that worked, else what already stands there. */
static inline void *st_publish(void **place, void *value)
{
    void *empty = NULL;
    __atomic_compare_exchange_n(place, &empty, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return empty;
}

/* Puts `value` in the place of `old`; 1 if that stood there. */
static inline int st_replace(void **place, void *old, void *value)
{
    return __atomic_compare_exchange_n(place, &old, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Empties the place and returns what stood there. */
static inline void *st_take(void **place)
{
    return __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL);
}

/* Raises a flag; 1 if it was down: the caller has it now. */
static inline int st_flag_raise(int *flag)
{
    return !__atomic_exchange_n(flag, 1, __ATOMIC_ACQUIRE);
}

static inline void st_flag_lower(int *flag)
{
    __atomic_store_n(flag, 0, __ATOMIC_RELEASE);
}

/* Adds n and returns the sum. */
static inline int st_count_add(int *count, int n)
{
    return __atomic_add_fetch(count, n, __ATOMIC_ACQ_REL);
}

/* The count, and all that was done before it was last changed. */
static inline int st_count_read(const int *count)
{
    return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

/* A number that any thread may read and write. A reader never sees half of a value. Of several writes the last one stays. */
static inline uint64_t st_number_read(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

static inline void st_number_write(uint64_t *number, uint64_t value)
{
    __atomic_store_n(number, value, __ATOMIC_RELAXED);
}

/* Adds n and returns the sum. */
static inline uint64_t st_number_add(uint64_t *number, uint64_t n)
{
    return __atomic_add_fetch(number, n, __ATOMIC_RELAXED);
}
#endif

#endif
