/* pack.cu - parts of a text laid out as job.h wants them, each from a block of its own on; a thread a block. */
#include "cuda/job.h"

/* Parts in order. `starts` and `sizes` are bytes of the source; a part of more than ST_PART_ID bytes is no text but the id that
 * its low bits are, and takes one block. `blocks` are the blocks before each part; those of the last part end at `count`. */
#define ST_PART_ID ((uint64_t)1 << 63)

typedef struct st_packing {
    const uint8_t *source;
    const uint64_t *starts, *sizes, *blocks;
    uint64_t parts, count;
    uint8_t *text, *marks;
} st_packing;

/* The last part that begins at or in front of the block; empty ones before it begin there as well. */
ST_INLINE uint64_t st_part_of(const st_packing *p, uint64_t block)
{
    uint64_t low = 0, high = p->parts;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (p->blocks[middle] <= block)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Four bytes of the source, none of it from beyond `end`. */
ST_INLINE uint32_t st_source_word(const uint8_t *source, uint64_t at, uint64_t end)
{
    uint32_t word = 0;
    for (unsigned i = 0; i < 4; i++)
        word |= (at + i < end ? source[at + i] : (uint32_t)ST_PAD) << 8 * i;
    return word;
}

ST_INLINE void st_pack_block(const st_packing *p, uint64_t block)
{
    const uint64_t part = st_part_of(p, block), size = p->sizes[part], offset = 64 * (block - p->blocks[part]);
    uint32_t *to = (uint32_t *)(p->text + 64 * block);
    if (size >= ST_PART_ID) {
        const uint32_t id = (uint32_t)size;
        to[0] = ST_ID | id << 8;
        to[1] = id >> 24 | 0xFEFEFE00u;
        for (int i = 2; i < 16; i++)
            to[i] = 0xFEFEFEFEu;
        p->marks[block] = ST_MARK_ID;
        return;
    }
    const uint64_t left = size - offset, from = p->starts[part] + offset, end = p->starts[part] + size;
    for (unsigned i = 0; i < 16; i++)
        to[i] = st_source_word(p->source, from + 4 * i, end);
    p->marks[block] = (uint8_t)((left < 64 ? left : 64) | (offset ? 0 : ST_MARK_BEGIN));
}
