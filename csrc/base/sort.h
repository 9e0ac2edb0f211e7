/* sort.h - puts numbers into the order of their keys. */
#ifndef ST_BASE_SORT_H
#define ST_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Fills `order` with the numbers 0..n-1, sorted by keys[number]; numbers with equal keys stay in order. */
st_status st_sort_by_key(uint32_t *order, const uint32_t *keys, size_t n);

#endif
