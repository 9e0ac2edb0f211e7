/* splice.cu - a text put together from parts of memory, one behind the other; a thread for 16 bytes. */
#ifndef ST_CUDA_SPLICE_CU
#define ST_CUDA_SPLICE_CU

#include "cuda/grid.h"
#include "cuda/job.h"
#include "cuda/pack.cu"

/* Part i lies at the address sources[i] and goes to text[places[i]..places[i + 1]), the last one up to `size`. The places ascend from
 * 0, and no part is empty. */
typedef struct st_splicing {
    const uint64_t *sources, *places;
    uint64_t parts, size;
    uint8_t *text; /* at a multiple of 16, with room for a multiple of 16 bytes */
} st_splicing;

/* The part that byte `at` of the text belongs to. */
ST_INLINE uint64_t st_part_at(const st_splicing *s, uint64_t at)
{
    uint64_t low = 0, high = s->parts;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (s->places[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

ST_INLINE void st_splice_16(const st_splicing *s, uint64_t number)
{
    const uint64_t at = 16 * number, last = at + 16 < s->size ? at + 16 : s->size;
    uint64_t part = st_part_at(s, at), end = part + 1 < s->parts ? s->places[part + 1] : s->size;
    if (at + 16 <= end) {
        ((uint4 *)s->text)[number] = st_load_16(s->sources[part] + at - s->places[part]);
        return;
    }
    for (uint64_t i = at; i < last; i++) {
        if (i == end) {
            part++;
            end = part + 1 < s->parts ? s->places[part + 1] : s->size;
        }
        s->text[i] = ((const uint8_t *)s->sources[part])[i - s->places[part]];
    }
}

#ifndef ST_SHORT_TEXTS

ST_KERNEL st_kernel_splice(const __grid_constant__ st_splicing splicing)
{
    for (uint64_t i = ST_THREAD; 16 * i < splicing.size; i += ST_THREADS)
        st_splice_16(&splicing, i);
}

#endif
#endif
