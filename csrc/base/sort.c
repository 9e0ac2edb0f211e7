#include "base/sort.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"

/* Where the numbers with each value of a byte of the key begin in the sorted order; 0: one value is that of all keys. */
static int count_bytes(size_t *places, const uint32_t *keys, size_t n, unsigned shift)
{
    memset(places, 0, 257 * sizeof *places);
    for (size_t i = 0; i < n; i++)
        places[(keys[i] >> shift & 255) + 1]++;
    for (size_t value = 0; value < 256; value++) {
        if (places[value + 1] == n)
            return 0;
        places[value + 1] += places[value];
    }
    return 1;
}

st_status st_sort_by_key(uint32_t *order, const uint32_t *keys, size_t n)
{
    size_t places[257], sorted = 1;
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    while (sorted < n && keys[sorted - 1] <= keys[sorted])
        sorted++;
    if (sorted >= n)
        return st_go_on(n);
    uint32_t *const buffer = st_malloc(n * sizeof *buffer), *from = order, *to = buffer;
    if (!buffer)
        return ST_NO_MEMORY;
    for (unsigned shift = 0; shift < 32; shift += 8) { /* a byte of the key at a time, the lowest first */
        if (!count_bytes(places, keys, n, shift))
            continue;
        for (size_t i = 0; i < n; i++)
            to[places[keys[from[i]] >> shift & 255]++] = from[i];
        uint32_t *const filled = to;
        to = from;
        from = filled;
    }
    if (from != order)
        memcpy(order, from, n * sizeof *order);
    st_free(buffer);
    return st_go_on(8 * n);
}
