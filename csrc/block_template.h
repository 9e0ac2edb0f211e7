/* block_template.h - text to piece ends, 64 bytes at a time. Each tier (split_portable.c, split_avx2.c, ...) includes
 * this once, after defining
 *
 *     ST_TIER                       the tier's name: the function made here is st_split_blocks_<ST_TIER>
 *     st_vector                     64 bytes
 *     st_vector_load(text)          of 64 readable bytes at any address
 *     st_vector_is(v, byte)         a mask as in block.h: the bytes equal to this one
 *     st_vector_in(v, first, n)     the bytes in first .. first + n - 1
 *     st_vector_high(v)             the bytes that are not ASCII
 *     st_vector_kinds(v, row)       the kind of each byte, by its low six bits, from a row of 64 kinds (two a byte, as in
 *                                   unicode_tables.h)
 *     st_put_places(mask, base, to) writes base + the number of each set bit; may write up to 63 more than it counts
 */
#include <string.h>

#include "block_starts.h"
#include "split_blocks.h"

#define ST_JOIN_(a, b) a##b
#define ST_JOIN(a, b) ST_JOIN_(a, b)

static st_vector st_load_block(const uint8_t *text, st_block *b)
{
    const st_vector v = st_vector_load(text);
    b->upper = st_vector_in(v, 'A', 26);
    b->lower = st_vector_in(v, 'a', 26);
    b->letter = b->upper | b->lower;
    b->number = st_vector_in(v, '0', 10);
    b->blank = st_vector_is(v, ST_BLANK);
    b->white = b->blank | st_vector_in(v, '\t', 5);
    b->newline = st_vector_is(v, '\n') | st_vector_is(v, '\r');
    b->apostrophe = st_vector_is(v, ST_APOSTROPHE);
    b->slash = st_vector_is(v, ST_SLASH);
    b->high = st_vector_high(v);
    b->tail = 0;
    b->mark = 0;
    return v;
}

/* Gives characters the kinds that the masks say; of line breaks there are none beyond ASCII. */
ST_FORCE_INLINE void st_add_kinds(st_block *b, const uint64_t *of_kind)
{
    b->upper |= of_kind[ST_KIND_UPPER];
    b->lower |= of_kind[ST_KIND_LOWER];
    b->letter |= of_kind[ST_KIND_UPPER] | of_kind[ST_KIND_LOWER] | of_kind[ST_KIND_CASELESS];
    b->mark |= of_kind[ST_KIND_MARK];
    b->number |= of_kind[ST_KIND_NUMBER];
    b->white |= of_kind[ST_KIND_SPACE];
}

/* Characters of one row, 64 code points that share all but the last byte, are looked up together: in most scripts a few
 * rows hold a whole block of text. `at` is the first of `leads`; returns those that were of its row and lie in the block
 * whole, or 0 where that is not worth it. */
ST_FORCE_INLINE uint64_t st_classify_row(const uint8_t *text, st_vector v, uint64_t leads, unsigned at, uint64_t *of_kind)
{
    unsigned size;
    const uint32_t code_point = st_utf8_decode(text + at, &size);
    uint64_t same = leads & st_vector_is(v, text[at]) & UINT64_MAX >> (size - 1);
    if (size == 3)
        same &= st_vector_is(v, text[at + 1]) >> 1;
    uint64_t beyond_three = same & (same - 1);
    beyond_three &= beyond_three - 1;
    if (size > 3 || !(beyond_three & (beyond_three - 1)))
        return 0;
    const uint32_t place = (uint32_t)st_kind_index[code_point >> ST_KIND_SHIFT] << ST_KIND_SHIFT | (code_point & 0xC0);
    const st_vector kinds = st_vector_kinds(v, st_kind_blocks + place / 2);
    for (unsigned kind = 0; kind < ST_KIND_BEYOND; kind++) {
        const uint64_t found = st_vector_is(kinds, kind) >> (size - 1) & same;
        of_kind[kind] |= found | found << 1 | (size == 3 ? found << 2 : 0);
    }
    return same;
}

/* First bytes of what are all caseless letters, in more rows than are worth looking up: U+4000-9FFF but for 4DC0-4DFF, and
 * U+AC00-D77F. At the very end of the block only those that the first byte tells. */
ST_FORCE_INLINE uint64_t st_find_cjk(st_vector v)
{
    const uint64_t e4 = st_vector_is(v, 0xE4) & ~(st_vector_is(v, 0xB7) >> 1) & INT64_MAX;
    const uint64_t ea = st_vector_is(v, 0xEA) & st_vector_in(v, 0xB0, 16) >> 1;
    const uint64_t ed = st_vector_is(v, 0xED) & st_vector_in(v, 0x80, 0x1E) >> 1;
    return st_vector_in(v, 0xE5, 5) | st_vector_in(v, 0xEB, 2) | e4 | ea | ed;
}

static void st_classify_high(st_split_family family, const uint8_t *text, st_vector v, const st_block *before,
                             st_block *b)
{
    b->tail = st_vector_in(v, 0x80, 64);
    const uint64_t cjk = st_find_cjk(v);
    uint64_t leads = b->high & ~b->tail & ~cjk, of_kind[ST_KIND_BEYOND] = {0};
    of_kind[ST_KIND_CASELESS] = cjk | cjk << 1 | cjk << 2;
    if (st_leading_tail(b))
        st_continue_kind(b, before);
    while (leads) {
        const unsigned at = st_first_bit(leads);
        const uint64_t row = st_classify_row(text, v, leads, at, of_kind);
        leads &= row ? ~row : leads - 1;
        if (row)
            continue;
        unsigned size, kind = st_kind_of(st_utf8_decode(text + at, &size));
        of_kind[kind] |= (((uint64_t)1 << size) - 1) << at;
    }
    st_add_kinds(b, of_kind);
    if (family != ST_SPLIT_O200K)
        b->mark = 0;
}

ST_FORCE_INLINE void st_classify(st_split_family family, const uint8_t *text, const st_block *before, st_block *b)
{
    const st_vector v = st_load_block(text, b);
    if (b->high)
        st_classify_high(family, text, v, before, b);
    b->other = ~(b->letter | b->mark | b->number | b->white);
}

/* A run of st_split_blocks: what it was given, and where it stands. `here` is the block at text + at. */
typedef struct st_block_run {
    const uint8_t *text;
    size_t n, at, hard; /* hard: see st_split_progress */
    uint64_t base;
    uint64_t *to;
    st_edge edge;
    st_block here;
} st_block_run;

/* Writes the ends that lie in the block `here`, in front of the offset `limit`, and moves on to the next. `bytes` are the
 * block's, wherever they lie. */
ST_FORCE_INLINE void st_take_block(st_split_family family, st_block_run *run, const uint8_t *bytes, const st_block *next,
                                   size_t limit)
{
    uint64_t hard = 0, starts = st_block_starts(family, &run->here, next, bytes, &run->edge, &hard);
    if (hard) {
        starts &= (hard & (0 - hard)) - 1;
        run->hard = run->at + st_first_bit(hard) + 1;
    }
    if (limit < run->at + ST_BLOCK_BYTES)
        starts &= limit > run->at ? ((uint64_t)1 << (limit - run->at)) - 1 : 0;
    run->to += st_put_places(run->at ? starts : starts & ~(uint64_t)1, run->base + run->at, run->to);
    run->here = *next;
    run->at += ST_BLOCK_BYTES;
}

/* How far starts are certain when blanks stand in for what is not known behind the text: not from an apostrophe at its
 * very end on, since a contraction may follow, and in o200k not from upper-case letters on that run to its end. White space
 * there becomes a run without an end, which tells no start but its first. */
static size_t st_certain(st_split_family family, const uint8_t *text, size_t n)
{
    size_t certain = n;
    while (family == ST_SPLIT_O200K && certain > 0 && n - certain < 2 * ST_BLOCK_BYTES) {
        const size_t size = st_utf8_size_before(text, certain);
        unsigned whole;
        if (st_kind_at(text + certain - size, &whole) != ST_KIND_UPPER)
            break;
        certain -= size;
    }
    for (size_t back = 1; back <= 3 && back <= n; back++)
        if (text[n - back] == ST_APOSTROPHE && n - back < certain)
            certain = n - back;
    return certain;
}

/* The last block and a half, from a copy with blanks behind it. */
ST_FORCE_INLINE void st_take_tail(st_split_family family, st_block_run *run)
{
    static const st_block nothing;
    uint8_t bytes[3 * ST_BLOCK_BYTES];
    const size_t left = run->n - run->at, limit = st_certain(family, run->text, run->n);
    st_block next;
    memset(bytes, ST_BLANK, sizeof bytes);
    memcpy(bytes, run->text + run->at, left);
    if (left < ST_BLOCK_BYTES) /* the text is shorter than a block */
        st_classify(family, bytes, &nothing, &run->here);
    st_classify(family, bytes + ST_BLOCK_BYTES, &run->here, &next);
    st_take_block(family, run, bytes, &next, limit);
    if (run->hard || left <= ST_BLOCK_BYTES)
        return;
    st_classify(family, bytes + 2 * ST_BLOCK_BYTES, &run->here, &next);
    st_take_block(family, run, bytes + ST_BLOCK_BYTES, &next, limit);
}

ST_FORCE_INLINE st_split_progress st_split_all(st_split_family family, const uint8_t *text, size_t n, uint64_t base,
                                               uint64_t *ends, size_t capacity)
{
    static const st_block nothing;
    const uint64_t *const full = ends + capacity - ST_BLOCK_BYTES; /* beyond it a block's ends might not fit */
    st_block_run run = {text, n, 0, 0, base, ends, {0}, {0}};
    st_block next;
    if (n >= ST_BLOCK_BYTES)
        st_classify(family, text, &nothing, &run.here);
    while (run.at + 2 * ST_BLOCK_BYTES <= n && run.to <= full && !run.hard) {
        st_classify(family, text + run.at + ST_BLOCK_BYTES, &run.here, &next);
        st_take_block(family, &run, text + run.at, &next, SIZE_MAX);
    }
    if (!run.hard && run.to + ST_BLOCK_BYTES <= full)
        st_take_tail(family, &run);
    const size_t count = (size_t)(run.to - ends);
    return (st_split_progress){count, count ? (size_t)(run.to[-1] - base) : 0, run.hard > n ? 0 : run.hard};
}

st_split_progress ST_JOIN(st_split_blocks_, ST_TIER)(st_split_family family, const uint8_t *text, size_t n,
                                                     uint64_t base, uint64_t *ends, size_t capacity)
{
    switch (family) {
    case ST_SPLIT_R50K:
        return st_split_all(ST_SPLIT_R50K, text, n, base, ends, capacity);
    case ST_SPLIT_CL100K:
        return st_split_all(ST_SPLIT_CL100K, text, n, base, ends, capacity);
    default:
        return st_split_all(ST_SPLIT_O200K, text, n, base, ends, capacity);
    }
}
