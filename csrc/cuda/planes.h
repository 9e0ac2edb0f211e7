/* planes.h - 64 bytes of text to the masks of split/block.h, by one thread of the GPU. The bytes are transposed to eight bit
 * planes; the kinds of 32 ASCII bytes are then a few logical operations on the planes. */
#ifndef ST_CUDA_PLANES_H
#define ST_CUDA_PLANES_H

#include "cuda/job.h"

/* The byte that stands for what is behind the end of a passage, so that the white space there is one run: a line break where a run
 * at the end of the text is one piece, with breaks in it or not; else a blank. A byte of another kind follows, so that runs end. */
#define ST_FILLER (st_traits_of(ST_FAMILY).space == ST_SPACE_END ? 0x0Au : 0x20u)

/* A copy of a block whose bytes cannot be used in place, and of three bytes behind it. */
typedef struct st_copy {
    uint4 words[5];
} st_copy;

/* The bytes of a block, and three behind it, for the algebra. */
ST_INLINE const uint8_t *st_block_bytes(const st_job *job, uint64_t block, st_copy *copy)
{
    const uint8_t *bytes = job->text + 64 * block;
    if (!st_passage_ends(job, block))
        return bytes;
    const unsigned fill = st_fill(job, block);
    uint8_t *to = (uint8_t *)copy;
    for (unsigned i = 0; i < sizeof *copy; i++)
        to[i] = i < fill ? bytes[i] : ST_FILLER;
    return to;
}

/* Bytes j, j + 8, j + 16 and j + 24 of 32, for j = 0..3 or 4..7, from the four uint32 that hold them. */
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

/* Bit i of planes[k] is bit k of byte i, of 32 bytes in eight uint32: four 8 x 8 transpositions at once. */
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

/* The same of 64 bytes at a multiple of 16. */
ST_FORCE_INLINE void st_read_planes(const uint8_t *bytes, uint32_t (*planes)[8])
{
    for (int half = 0; half < 2; half++) {
        uint32_t words[8];
        const uint4 low = ((const uint4 *)bytes)[2 * half], high = ((const uint4 *)bytes)[2 * half + 1];
        words[0] = low.x, words[1] = low.y, words[2] = low.z, words[3] = low.w;
        words[4] = high.x, words[5] = high.y, words[6] = high.z, words[7] = high.w;
        st_bit_planes(words, planes[half]);
    }
}

/* The masks of 32 bytes. The other masks of st_block follow from them. */
typedef struct st_half {
    uint32_t letter, upper, number, blank, white, newline, apostrophe, slash, control, high, tail;
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
    h->control = (ascii & ~(p[6] | p[5]) & ~h->white) | (ascii & p[6] & p[5] & p[4] & p[3] & p[2] & p[1] & p[0]);
    h->high = p[7];
    h->tail = p[7] & ~p[6];
}

#define ST_BOTH(field) (halves[0].field | (uint64_t)halves[1].field << 32)

/* ST_KINDS_OF_FINE as the row takes them: numbers of a later Unicode may be numbers, and where Han is apart its marks are in no word. */
ST_FORCE_INLINE uint64_t st_kinds_of_row(const st_traits *t)
{
    const uint64_t late = (uint64_t)(ST_KIND_OTHER - ST_KIND_NUMBER) << 4 * ST_FINE_LATE;
    const uint64_t mark = (uint64_t)(ST_KIND_OTHER - ST_KIND_MARK) << 4 * ST_FINE_HAN_MARK;
    return ST_KINDS_OF_FINE - (st_late_numbers(t) ? late : 0) + (t->han ? mark : 0);
}

/* Sets the masks that few rows need, for a character with the bytes `own`. */
ST_FORCE_INLINE void st_add_fine(const st_traits *t, uint32_t point, unsigned fine, uint64_t own, st_block *b)
{
    const unsigned controls = ST_SET(ST_FINE_LATE) | ST_SET(ST_FINE_CONTROL);
    const unsigned odd = ST_SET(ST_FINE_HAN_MARK) | ST_SET(ST_FINE_HAN_NUMBER) | ST_SET(ST_FINE_HAN_OTHER);
    if (t->other == ST_OTHER_VISIBLE)
        b->control |= st_has(controls, fine) ? own : 0;
    if (t->han) {
        b->han |= fine == ST_FINE_HAN ? own : 0;
        b->odd |= st_has(odd, fine) ? own : 0;
    }
    if (t->apart == ST_APART_KANA)
        b->kana |= (point >= 0x3040 && point <= 0x30FF) || (point >= 0x4E00 && point <= 0x9FA5) ? own : 0;
}

/* Adds the kinds of the characters that begin at `leads`, none of them ASCII. The three bits of a kind are collected as planes. */
ST_INLINE void st_add_kinds(const uint8_t *bytes, uint64_t leads, st_block *b)
{
    const st_traits t = st_traits_of(ST_FAMILY);
    uint64_t low = 0, middle = 0, high = 0, all = 0;
    for (; leads; leads &= leads - 1) {
        unsigned size;
        const unsigned at = st_first_bit(leads);
        const uint32_t point = st_utf8_decode(bytes + at, &size);
        const unsigned fine = st_fine_kind_of(point < 0x110000 ? point : 0); /* where the text is not UTF-8 */
        const unsigned kind = (unsigned)(st_kinds_of_row(&t) >> 4 * fine) & 15u;
        const uint64_t own = (((uint64_t)1 << size) - 1) << at;
        st_add_fine(&t, point, fine, own, b);
        all |= own;
        low |= kind & 1 ? own : 0;
        middle |= kind & 2 ? own : 0;
        high |= kind & 4 ? own : 0;
    }
    b->upper |= all & ~high & ~middle & ~low; /* the numbers of st_kind */
    b->lower |= ~high & ~middle & low;
    b->letter |= all & ~high & ~(middle & low);
    b->mark |= ~high & middle & low;
    b->number |= high & ~middle & ~low;
    b->white |= high & middle & ~low;
}

/* The bit planes of 64 bytes, of the byte behind each, and of the second byte behind each. */
typedef struct st_near_planes {
    uint64_t here[8], next[6], third[6];
} st_near_planes;

ST_FORCE_INLINE void st_join_planes(const uint32_t *first, const uint32_t *second, st_near_planes *p)
{
    for (int i = 0; i < 8; i++)
        p->here[i] = first[i] | (uint64_t)second[i] << 32;
    for (int i = 0; i < 6; i++) {
        p->next[i] = p->here[i] >> 1;
        p->third[i] = p->here[i] >> 2;
    }
}

/* Adds the kinds of common two-byte characters: Cyrillic (U+0400-047F), Latin-1 (U+00C0-00FF) and Arabic letters and marks. Returns
 * the first bytes of those that it added. A character that the end of the block cuts is not among them. */
ST_FORCE_INLINE uint64_t st_two_byte_kinds(const st_near_planes *p, st_block *b)
{
    const uint64_t *h = p->here, *n = p->next;
    const uint64_t two = h[7] & h[6] & ~h[5] & ~(uint64_t)0 >> 1, d = two & h[4] & ~h[2] & ~h[1];
    const uint64_t cyrillic = d & ~h[3], arabic = d & h[3], latin = two & ~(h[4] | h[3] | h[2]) & h[1] & h[0];
    const uint64_t cyrillic_upper = cyrillic & ((~h[0] & ~(n[5] & n[4])) | (h[0] & n[5] & ~n[0]));
    const uint64_t sign = n[4] & ~n[3] & n[2] & n[1] & n[0]; /* U+00D7 and U+00F7 */
    const uint64_t latin_upper = latin & ~n[5] & ~(n[4] & n[3] & n[2] & n[1] & n[0]);
    const uint64_t d9_low = arabic & h[0] & ~n[5];
    const uint64_t arabic_low = d9_low & ~n[4] & (~n[3] | (~n[2] & ~(n[1] & n[0])));
    const uint64_t arabic_high = arabic & h[0] & n[5] & n[4] & (n[3] | n[2] | n[1] | n[0]);
    const uint64_t caseless = (arabic & ~h[0] & n[5]) | arabic_low | arabic_high, mark = d9_low & ~arabic_low;
    const uint64_t upper = cyrillic_upper | (latin_upper & ~sign);
    const uint64_t lower = (cyrillic & ~cyrillic_upper) | (latin & ~latin_upper & ~sign);
    b->upper |= upper | upper << 1;
    b->lower |= lower | lower << 1;
    b->letter |= upper | lower | caseless | (upper | lower | caseless) << 1;
    b->mark |= mark | mark << 1;
    return cyrillic | latin | caseless | mark; /* the two signs are of the kind `other`, which needs no mask */
}

/* First bytes of three-byte characters that are caseless letters: U+4E00-9FFF, U+AC00-D77F, and kana but for the rows and
 * places where something else stands among them. */
ST_FORCE_INLINE uint64_t st_caseless_three(const st_near_planes *p)
{
    const uint64_t *h = p->here, *n = p->next, *t = p->third;
    const uint64_t e = h[7] & h[6] & h[5] & ~h[4];
    const uint64_t whole = e & ((~h[3] & h[2] & (h[1] | h[0])) | (h[3] & ~h[2] & (~h[1] | h[0])) | (h[3] & h[2] & ~h[1] & ~h[0]));
    const uint64_t inside = e & (~(uint64_t)0 >> 2); /* whole in this block */
    const uint64_t e4 = inside & ~h[3] & h[2] & ~h[1] & ~h[0] & n[5] & n[4] & n[3];
    const uint64_t ea = inside & h[3] & ~h[2] & h[1] & ~h[0] & n[5] & n[4];
    const uint64_t ed = inside & h[3] & h[2] & ~h[1] & h[0] & ~n[5] & ~(n[4] & n[3] & n[2] & n[1]);
    const uint64_t e3 = inside & ~h[3] & ~h[2] & h[1] & h[0] & ~(n[5] | n[4] | n[3] | n[2]) & (n[1] | n[0]);
    const uint64_t zero = ~(t[4] | t[3] | t[2] | t[1] | t[0]); /* third byte 80 or A0 */
    const uint64_t hiragana = ~n[1] & ~(zero & ~t[5]);                             /* E3 81, not 80 */
    const uint64_t middle = n[1] & ~n[0] & ~(~t[5] & t[4]) & ~(zero & t[5]);       /* E3 82, not 90-9F, A0 */
    const uint64_t katakana = n[1] & n[0] & ~(t[5] & t[4] & t[3] & ~t[2] & t[1] & t[0]); /* E3 83, not BB */
    return (whole & e) | e4 | ea | ed | (e3 & (hiragana | middle | katakana));
}

/* The same for the row. Sets its masks of Han and of what is apart with kana. Of E9 the characters in front of U+9F80 are kana
 * surely. */
ST_FORCE_INLINE uint64_t st_three_byte_kinds(const st_traits *t, const st_near_planes *p, st_block *b)
{
    const uint64_t *h = p->here, *n = p->next;
    uint64_t three = st_caseless_three(p);
    if (t->apart == ST_APART_KANA)
        three &= ~(h[3] & ~h[2] & ~h[1] & h[0] & (~(~(uint64_t)0 >> 2) | (n[5] & n[4] & n[3] & n[2] & n[1])));
    const uint64_t not_hangul = three & ~(h[3] & (h[2] | h[1])), han = not_hangul & (h[3] | h[2]);
    b->letter |= three | three << 1 | three << 2;
    if (t->han)
        b->han = han | han << 1 | han << 2;
    if (t->apart == ST_APART_KANA)
        b->kana = not_hangul | not_hangul << 1 | not_hangul << 2;
    return three;
}

/* The masks of the 64 bytes at `bytes`, which is a multiple of 16. Up to three more bytes are read if a character goes on there. */
ST_FORCE_INLINE void st_classify(st_split_family family, const uint8_t *bytes, const st_block *before, st_block *b)
{
    const st_traits t = st_traits_of(family);
    st_half halves[2];
    uint32_t planes[2][8];
    st_read_planes(bytes, planes);
    for (int half = 0; half < 2; half++)
        st_half_masks(planes[half], &halves[half]);
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
    b->mark = b->han = b->odd = b->kana = 0;
    b->control = t.other == ST_OTHER_VISIBLE ? ST_BOTH(control) : 0;
    if (b->high) {
        st_near_planes near_planes;
        st_join_planes(planes[0], planes[1], &near_planes);
        const uint64_t three = st_three_byte_kinds(&t, &near_planes, b), two = st_two_byte_kinds(&near_planes, b);
        st_continue_kind(b, before);
        st_add_kinds(bytes, b->high & ~b->tail & ~three & ~two, b);
        if (!st_has_marks(&t))
            b->mark = 0;
    }
    b->other = ~(b->letter | b->mark | b->number | b->white | b->control);
}

#endif
