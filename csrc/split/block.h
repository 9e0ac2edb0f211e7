/* block.h - 64 bytes of text as bit masks, one bit a byte, the first byte lowest. The boundary algebra of
 * block_starts.h works on these masks. A CPU fills them with vector compares (block_template.h), a GPU from bit planes.
 *
 * All bytes of a character have its bits: a continuation byte is of its character's kind. */
#ifndef ST_SPLIT_BLOCK_H
#define ST_SPLIT_BLOCK_H

#include "base/bits.h"

#define ST_BLOCK_BYTES 64

typedef struct st_block {
    uint64_t letter, mark, number, white, other; /* every byte of text is in one of them; marks only in o200k */
    uint64_t upper, lower;                       /* letters with case; kept for o200k only */
    uint64_t blank, newline, apostrophe, slash;  /* U+0020; CR and LF; ' ; / */
    uint64_t high;                               /* not ASCII */
    uint64_t tail;                               /* continuation bytes */
} st_block;

/* The mask of the characters before: each bit moves to the next byte, the last one of `before` (0 or 1) comes in. */
ST_FORCE_INLINE uint64_t st_behind(uint64_t mask, uint64_t before)
{
    return mask << 1 | before;
}

/* Each bit moves `n` bytes back (1 to 63); those of the next block come in. */
ST_FORCE_INLINE uint64_t st_ahead(uint64_t mask, uint64_t next, unsigned n)
{
    return mask >> n | next << (64 - n);
}

ST_FORCE_INLINE uint64_t st_carry_of(uint64_t mask)
{
    return mask >> 63;
}

/* Where the runs of `mask` go on from the seeds, which lie in it: adding a seed carries to the end of its run and clears
 * what it passes; a further seed in the same run stays set, hence the last term. */
ST_FORCE_INLINE uint64_t st_flood(uint64_t mask, uint64_t seeds)
{
    return mask & (~(mask + seeds) | seeds);
}

/* The continuation bytes with which a block begins: they belong to a character of the block before. */
ST_FORCE_INLINE uint64_t st_leading_tail(const st_block *block)
{
    return block->tail & ~(block->tail + 1);
}

/* The last character of the block before goes on into this one. */
ST_FORCE_INLINE void st_continue_kind(st_block *b, const st_block *before)
{
    const uint64_t where = st_leading_tail(b);
    b->upper |= st_carry_of(before->upper) ? where : 0;
    b->lower |= st_carry_of(before->lower) ? where : 0;
    b->letter |= st_carry_of(before->letter) ? where : 0;
    b->mark |= st_carry_of(before->mark) ? where : 0;
    b->number |= st_carry_of(before->number) ? where : 0;
    b->white |= st_carry_of(before->white) ? where : 0;
}

#endif
