/* block.h - 64 bytes of text as bit masks, one bit a byte, the first byte lowest. The boundary algebra of
 * block_starts.h works on these masks. A CPU fills them with vector compares (block_template.h), a GPU from bit planes.
 *
 * All bytes of a character have its bits: a continuation byte is of its character's kind. */
#ifndef ST_SPLIT_BLOCK_H
#define ST_SPLIT_BLOCK_H

#include "base/bits.h"

#define ST_BLOCK_BYTES 64

typedef struct st_block {
    /* Every byte of text is in one of these. Marks and controls are others where the row does not tell them. */
    uint64_t letter, mark, number, white, other, control;
    uint64_t upper, lower;                      /* letters with case; only for the case rule */
    uint64_t blank, newline, apostrophe, slash; /* U+0020; CR and LF; ' ; / */
    uint64_t high;                              /* not ASCII */
    uint64_t tail;                              /* continuation bytes */
    uint64_t han, odd;                          /* letters, and other characters, of the script Han; only where that is apart */
    uint64_t kana;                              /* U+4E00-9FA5, U+3040-30FF; only where those are apart */
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

/* Extends a mask of first bytes to all bytes of their characters. Continuation bytes at the start of the block get the bit of the
 * last byte of the block before. `third`: the continuation bytes behind another continuation byte. */
ST_FORCE_INLINE uint64_t st_spread(uint64_t leads, uint64_t tail, uint64_t third, uint64_t before)
{
    const uint64_t carry = st_carry_of(before), two = leads | (st_behind(leads, carry) & tail);
    return two | ((two << 2 | carry << 1) & third);
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
    b->control |= st_carry_of(before->control) ? where : 0;
    b->han |= st_carry_of(before->han) ? where : 0;
    b->odd |= st_carry_of(before->odd) ? where : 0;
    b->kana |= st_carry_of(before->kana) ? where : 0;
}

#endif
