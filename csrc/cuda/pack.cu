/* pack.cu - lays the passages of a text out as job.h describes, each from a block of its own on; a thread for 16 bytes. */
#ifndef ST_CUDA_PACK_CU
#define ST_CUDA_PACK_CU

#include "cuda/job.h"

/* The passages, in order. `starts` and `sizes` are in bytes of the source. A size of ST_PASSAGE_ID or more stands for an id, in its
 * low bits, which takes one block. `blocks[i]` is the number of blocks before passage i; all passages together have `count`. */
#define ST_PASSAGE_ID ((uint64_t)1 << 63)
#define ST_PASSAGE_FRONT ((uint64_t)1 << 63)

typedef struct st_packing {
    const uint8_t *source;
    const uint64_t *starts, *sizes, *blocks;
    uint64_t passages, count;
    uint8_t *text, *marks;
    const uint8_t *map; /* what becomes of each byte; NULL: itself */
    uint64_t front; /* the byte in front of passages whose starts have ST_PASSAGE_FRONT, which counts among their bytes */
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

/* 16 bytes as a map of bytes has them. */
ST_INLINE uint4 st_mapped(const uint8_t *map, uint4 bytes)
{
    uint32_t words[4] = {bytes.x, bytes.y, bytes.z, bytes.w};
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
        words[i] = map[words[i] & 0xFF] | (uint32_t)map[words[i] >> 8 & 0xFF] << 8 | (uint32_t)map[words[i] >> 16 & 0xFF] << 16 |
                   (uint32_t)map[words[i] >> 24] << 24;
    const uint4 made = {words[0], words[1], words[2], words[3]};
    return made;
}

/* 16 bytes of a passage, from number `at` of its bytes on. */
ST_INLINE uint4 st_of_passage(const st_packing *p, uint64_t passage, uint64_t at)
{
    const uint64_t start = p->starts[passage] & ~ST_PASSAGE_FRONT, fronts = p->starts[passage] >> 63;
    const uint64_t end = start + p->sizes[passage] - fronts, from = start + at - fronts;
    uint4 made;
    if (at >= fronts && from + 16 <= end)
        return st_load_16((uint64_t)(size_t)(p->source + from));
    const int is_first = at < fronts;
    made.x = is_first ? st_source_word(p->source, start, end) << 8 | (uint32_t)p->front : st_source_word(p->source, from, end);
    made.y = st_source_word(p->source, from + 4, end);
    made.z = st_source_word(p->source, from + 8, end);
    made.w = st_source_word(p->source, from + 12, end);
    return made;
}

/* Writes quarter number `number` of all blocks. */
ST_INLINE void st_pack_quarter(const st_packing *p, uint64_t number)
{
    const uint64_t block = number / 4, passage = st_passage_of(p, block), size = p->sizes[passage];
    const uint64_t offset = 64 * (block - p->blocks[passage]), quarter = number & 3;
    const int is_id = size >= ST_PASSAGE_ID;
    uint4 made = {0xFEFEFEFEu, 0xFEFEFEFEu, 0xFEFEFEFEu, 0xFEFEFEFEu};
    if (!is_id) {
        made = st_of_passage(p, passage, offset + 16 * quarter);
        made = p->map ? st_mapped(p->map, made) : made;
    }
    if (is_id && !quarter)
        made.x = ST_ID | (uint32_t)size << 8, made.y = (uint32_t)size >> 24 | 0xFEFEFE00u;
    ((uint4 *)p->text)[number] = made;
    if (!quarter)
        p->marks[block] = (uint8_t)(is_id ? ST_MARK_ID : (size - offset < 64 ? size - offset : 64) | (offset ? 0 : ST_MARK_BEGIN));
}

#endif
