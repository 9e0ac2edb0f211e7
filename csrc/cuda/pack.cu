/* pack.cu - lays the passages of a text out as job.h describes, each from a block of its own on; a thread a block. */
#include "cuda/job.h"

/* The passages, in order. `starts` and `sizes` are in bytes of the source. A size of ST_PASSAGE_ID or more stands for an id, in its
 * low bits, which takes one block. `blocks[i]` is the number of blocks before passage i; all passages together have `count`. */
#define ST_PASSAGE_ID ((uint64_t)1 << 63)

typedef struct st_packing {
    const uint8_t *source;
    const uint64_t *starts, *sizes, *blocks;
    uint64_t passages, count;
    uint8_t *text, *marks;
} st_packing;

/* The last passage that begins at or in front of the block. Empty passages in front of it may begin with the same block. */
ST_INLINE uint64_t st_passage_of(const st_packing *p, uint64_t block)
{
    uint64_t low = 0, high = p->passages;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (p->blocks[middle] <= block)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Four bytes of the source; ST_PAD for those at or behind `end`. */
ST_INLINE uint32_t st_source_word(const uint8_t *source, uint64_t at, uint64_t end)
{
    uint32_t word = 0;
    for (unsigned i = 0; i < 4; i++)
        word |= (at + i < end ? source[at + i] : (uint32_t)ST_PAD) << 8 * i;
    return word;
}

ST_INLINE void st_pack_block(const st_packing *p, uint64_t block)
{
    const uint64_t passage = st_passage_of(p, block), size = p->sizes[passage], offset = 64 * (block - p->blocks[passage]);
    uint32_t *to = (uint32_t *)(p->text + 64 * block);
    if (size >= ST_PASSAGE_ID) {
        const uint32_t id = (uint32_t)size;
        to[0] = ST_ID | id << 8;
        to[1] = id >> 24 | 0xFEFEFE00u;
        for (int i = 2; i < 16; i++)
            to[i] = 0xFEFEFEFEu;
        p->marks[block] = ST_MARK_ID;
        return;
    }
    const uint64_t left = size - offset, from = p->starts[passage] + offset, end = p->starts[passage] + size;
    for (unsigned i = 0; i < 16; i++)
        to[i] = st_source_word(p->source, from + 4 * i, end);
    p->marks[block] = (uint8_t)((left < 64 ? left : 64) | (offset ? 0 : ST_MARK_BEGIN));
}
