/* splice.cu - a text put together from parts of memory, one behind the other; a thread for 16 bytes. */
#ifndef ST_CUDA_SPLICE_CU
#define ST_CUDA_SPLICE_CU

#include "cuda/grid.h"
#include "cuda/job.h"

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

/* 16 bytes from any address. Whole words are loaded, up to three bytes more than that on each side. */
ST_INLINE uint4 st_load_16(uint64_t address)
{
    const uint32_t *from = (const uint32_t *)(address & ~(uint64_t)3);
    const unsigned shift = 8 * (address & 3);
    const uint32_t last = shift ? from[4] : 0;
    uint4 made;
    made.x = __funnelshift_r(from[0], from[1], shift);
    made.y = __funnelshift_r(from[1], from[2], shift);
    made.z = __funnelshift_r(from[2], from[3], shift);
    made.w = __funnelshift_r(from[3], last, shift);
    return made;
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
