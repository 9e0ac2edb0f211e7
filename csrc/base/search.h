#ifndef ST_BASE_SEARCH_H
#define ST_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* The place of a value among n ascending ones; n if it is not there. */
static inline size_t st_find_sorted(const uint32_t *values, size_t n, uint32_t value)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && values[low] == value ? low : n;
}

#endif
