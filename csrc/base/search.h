/* search.h - binary search among ascending values. */
#ifndef ST_BASE_SEARCH_H
#define ST_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Binary search: moves `low` to the first place in low..high that the condition `is_before`, an expression in `at`, does not hold
 * for. The places it holds for are in front of all others. */
#define ST_BISECT(low, high, at, is_before)            \
    while (low < high) {                               \
        const size_t at = low + (high - low) / 2;      \
        if (is_before)                                 \
            low = at + 1;                              \
        else                                           \
            high = at;                                 \
    }

/* The place of a value among n ascending ones; n if it is not there. */
static inline size_t st_find_sorted(const uint32_t *values, size_t n, uint32_t value)
{
    size_t low = 0, high = n;
    ST_BISECT(low, high, at, values[at] < value)
    return low < n && values[low] == value ? low : n;
}

/* Whether each of n values is larger than the one before. */
static inline int st_ascends(const uint32_t *values, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (values[i - 1] >= values[i])
            return 0;
    return 1;
}

#endif
