/* Lock-free publication of lazily built, immutable parts and of pooled ones. No locks: nothing can be held across fork. */
#ifndef ST_BASE_ATOMIC_H
#define ST_BASE_ATOMIC_H

#include <stddef.h>
#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>

static inline void *st_acquire(void **place)
{
    return *(void *volatile *)place; /* volatile reads acquire under the compiler's default /volatile:ms */
}

static inline void *st_publish(void **place, void *value)
{
    return _InterlockedCompareExchangePointer((void *volatile *)place, value, NULL);
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
    return *(const volatile int *)count;
}

static inline uint64_t st_number_read(const uint64_t *number)
{
    return *(const volatile uint64_t *)number;
}

static inline void st_number_write(uint64_t *number, uint64_t value)
{
    _InterlockedExchange64((volatile long long *)number, (long long)value);
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

/* A number that threads read and write as they like: none sees half of one, and of several writers the last one is believed. */
static inline uint64_t st_number_read(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

static inline void st_number_write(uint64_t *number, uint64_t value)
{
    __atomic_store_n(number, value, __ATOMIC_RELAXED);
}
#endif

#endif
