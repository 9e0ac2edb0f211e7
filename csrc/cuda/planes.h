/* planes.h - 64 bytes of text to the masks of block.h, as a thread of the GPU does it: the bytes are transposed to eight bit
 * planes, and what an ASCII byte is, is then a few logical operations on the planes of 32 bytes. */
#ifndef ST_CUDA_PLANES_H
#define ST_CUDA_PLANES_H

#include "job.h"

/* Bytes j, j + 8, j + 16 and j + 24 of 32, for j = 0..3 or 4..7, from the four words that hold them. */
ST_FORCE_INLINE void st_take_apart(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t *rows)
{
    const uint32_t ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140);
    const uint32_t ab_high = __byte_perm(a, b, 0x7362), cd_high = __byte_perm(c, d, 0x7362);
    rows[0] = __byte_perm(ab, cd, 0x5410);
    rows[1] = __byte_perm(ab, cd, 0x7632);
    rows[2] = __byte_perm(ab_high, cd_high, 0x5410);
    rows[3] = __byte_perm(ab_high, cd_high, 0x7632);
}

/* Swaps the bits of `low` that `mask` << shift covers with those of `high` that mask covers. */
ST_FORCE_INLINE void st_swap_bits(uint32_t *low, uint32_t *high, uint32_t mask, unsigned shift)
{
    const uint32_t first = (*low & mask) | (*high & mask) << shift;
    *high = (*low >> shift & mask) | (*high & ~mask);
    *low = first;
}

/* Bit i of planes[k] is bit k of byte i, of 32 bytes in eight words: four 8 x 8 transpositions at once. */
ST_FORCE_INLINE void st_bit_planes(const uint32_t *words, uint32_t *planes)
{
    st_take_apart(words[0], words[2], words[4], words[6], planes);
    st_take_apart(words[1], words[3], words[5], words[7], planes + 4);
    for (int i = 0; i < 4; i++)
        st_swap_bits(&planes[i], &planes[i + 4], 0x0F0F0F0Fu, 4);
    for (int i = 0; i < 8; i += i & 1 ? 3 : 1)
        st_swap_bits(&planes[i], &planes[i + 2], 0x33333333u, 2);
    for (int i = 0; i < 8; i += 2)
        st_swap_bits(&planes[i], &planes[i + 1], 0x55555555u, 1);
}

/* The masks of 32 bytes; those of st_block that are not here follow from them. */
typedef struct st_half {
    uint32_t letter, upper, number, blank, white, newline, apostrophe, slash, high, tail;
    uint32_t cjk; /* see st_half_masks */
} st_half;

ST_FORCE_INLINE void st_half_masks(const uint32_t *p, st_half *h)
{
    const uint32_t ascii = ~p[7], some = p[0] | p[1] | p[2] | p[3] | p[4];
    h->letter = ascii & p[6] & some & ~(p[4] & p[3] & (p[2] | (p[1] & p[0])));
    h->upper = h->letter & ~p[5];
    h->number = ascii & ~p[6] & p[5] & p[4] & ~(p[3] & (p[2] | p[1]));
    const uint32_t row_2 = ascii & ~p[6] & p[5] & ~p[4]; /* 0x20 .. 0x2F */
    h->blank = row_2 & ~(p[3] | p[2] | p[1] | p[0]);
    const uint32_t seven = row_2 & p[2] & p[1] & p[0];
    h->apostrophe = seven & ~p[3];
    h->slash = seven & p[3];
    const uint32_t row_0 = ascii & ~(p[6] | p[5] | p[4]) & p[3]; /* 0x08 .. 0x0F */
    h->white = h->blank | (row_0 & ((~p[2] & (p[1] | p[0])) | (p[2] & ~p[1])));
    h->newline = row_0 & ((~p[2] & p[1] & ~p[0]) | (p[2] & ~p[1] & p[0]));
    h->high = p[7];
    h->tail = p[7] & ~p[6];
    /* First bytes E5 to E9, EB and EC: U+5000-9FFF and U+B000-CFFF are all caseless letters. */
    const uint32_t e = p[7] & p[6] & p[5] & ~p[4];
    h->cjk = e & ((~p[3] & p[2] & (p[1] | p[0])) | (p[3] & ~p[2] & (~p[1] | (p[1] & p[0]))) | (p[3] & p[2] & ~p[1] & ~p[0]));
}

#define ST_BOTH(field) (halves[0].field | (uint64_t)halves[1].field << 32)

/* Kinds of the characters that begin at `leads`, none of them ASCII. */
ST_INLINE void st_add_kinds(const uint8_t *bytes, uint64_t leads, st_block *b)
{
    for (; leads; leads &= leads - 1) {
        unsigned size;
        const unsigned at = st_first_bit(leads);
        const uint32_t point = st_utf8_decode(bytes + at, &size);
        const unsigned kind = st_kind_of(point < 0x110000 ? point : 0); /* in what is no UTF-8 */
        const uint64_t all = (((uint64_t)1 << size) - 1) << at;
        b->upper |= kind == ST_KIND_UPPER ? all : 0;
        b->lower |= kind == ST_KIND_LOWER ? all : 0;
        b->letter |= kind <= ST_KIND_CASELESS ? all : 0;
        b->mark |= kind == ST_KIND_MARK ? all : 0;
        b->number |= kind == ST_KIND_NUMBER ? all : 0;
        b->white |= kind == ST_KIND_SPACE ? all : 0;
    }
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

/* The masks of the 64 bytes at `bytes`, a multiple of 16; up to three more are read where a character goes on in them. */
ST_FORCE_INLINE void st_classify(st_split_family family, const uint8_t *bytes, const st_block *before, st_block *b)
{
    st_half halves[2];
    for (int half = 0; half < 2; half++) {
        uint32_t words[8], planes[8];
        const uint4 low = ((const uint4 *)bytes)[2 * half], high = ((const uint4 *)bytes)[2 * half + 1];
        words[0] = low.x, words[1] = low.y, words[2] = low.z, words[3] = low.w;
        words[4] = high.x, words[5] = high.y, words[6] = high.z, words[7] = high.w;
        st_bit_planes(words, planes);
        st_half_masks(planes, &halves[half]);
    }
    b->letter = ST_BOTH(letter);
    b->upper = ST_BOTH(upper);
    b->lower = b->letter & ~b->upper;
    b->number = ST_BOTH(number);
    b->blank = ST_BOTH(blank);
    b->white = ST_BOTH(white);
    b->newline = ST_BOTH(newline);
    b->apostrophe = ST_BOTH(apostrophe);
    b->slash = ST_BOTH(slash);
    b->high = ST_BOTH(high);
    b->tail = ST_BOTH(tail);
    b->mark = 0;
    if (b->high) {
        const uint64_t cjk = ST_BOTH(cjk);
        b->letter |= cjk | cjk << 1 | cjk << 2;
        st_continue_kind(b, before);
        st_add_kinds(bytes, b->high & ~b->tail & ~cjk, b);
        if (family != ST_SPLIT_O200K)
            b->mark = 0;
    }
    b->other = ~(b->letter | b->mark | b->number | b->white);
}

#endif
