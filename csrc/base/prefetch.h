/* A hint that this cache line will be read soon; nothing where the compiler has no way to say it. */
#ifndef ST_BASE_PREFETCH_H
#define ST_BASE_PREFETCH_H

static inline void st_prefetch(const void *address)
{
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
    __asm__ volatile(""); /* without it GCC takes a function that only prefetches for one without effect, and drops its calls */
#else
    (void)address;
#endif
}

#endif
