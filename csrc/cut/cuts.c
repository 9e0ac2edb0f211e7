#include "cut/cuts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/interrupt.h"
#include "base/tier.h"
#include "base/utf8.h"
#include "cut/build_cuts.h"
#include "text/utf8_check.h"

static void release(st_attached *attached)
{
    st_cuts *cuts = (st_cuts *)attached;
    st_free(cuts->own);
    st_free(cuts);
}

const st_cuts *st_vocab_cuts_built(const st_vocab *vocab)
{
    return st_acquire((void **)&vocab->cuts);
}

st_status st_vocab_set_cuts(st_vocab *vocab, const st_cut_tables *tables)
{
    st_cuts *cuts = st_malloc(sizeof *cuts);
    if (!cuts)
        return ST_NO_MEMORY;
    *cuts = (st_cuts){{release}, NULL, tables};
    vocab->cuts = &cuts->attached;
    return ST_OK;
}

static st_status build(st_attached *made, const st_vocab *vocab)
{
    st_cuts *cuts = (st_cuts *)made; /* its first member */
    cuts->tables = cuts->own = st_alloc_table(sizeof *cuts->own);
    if (!cuts->own)
        return ST_NO_MEMORY;
    st_fill_cuts(cuts->own, vocab);
    return ST_OK;
}

const st_cuts *st_vocab_cuts(st_vocab *vocab)
{
    static const st_attached_kind kind = {sizeof(st_cuts), build, release};
    return st_attached_at(&vocab->cuts, &kind, vocab);
}

/* st_char_bits of the character at `text`; n bytes can be read. One load of four bytes where there are so many. */
static inline uint32_t char_at(const uint8_t *text, size_t size, size_t n)
{
    if (n < 4)
        return st_char_bits(text, size);
    const uint32_t four = (uint32_t)text[0] << 24 | (uint32_t)text[1] << 16 | (uint32_t)text[2] << 8 | text[3];
    return four >> (32 - 8 * size);
}

static inline size_t find(const st_cuts *cuts, const uint8_t *text, size_t n, size_t *from, uint32_t *borders, size_t most)
{
    size_t count = 0, at = *from, border = at + st_utf8_size(text[at]);
    uint32_t left = char_at(text + at, border - at, n - at);
    while (border < n && count < most) {
        if ((left | text[border]) < 0x80) { /* no token holds a part of either */
            const uint32_t ascii = text[border];
            borders[count] = (uint32_t)border;
            count += !st_cut_is_ascii_pair(cuts->tables, left, ascii);
            left = ascii;
            at = border++;
            continue;
        }
        const size_t size = st_utf8_size(text[border]);
        const uint32_t right = char_at(text + border, size, n - border);
        borders[count] = (uint32_t)border;
        count += st_cut_is_here(cuts->tables, left, right, text, at, border, border + size);
        left = right;
        at = border;
        border += size;
    }
    *from = at;
    return count;
}

/* Bytes of text between two calls of st_go_on. */
#define STEP ((size_t)1 << 16)

size_t st_cuts_find(const st_cuts *cuts, const uint8_t *text, size_t n, size_t *from, uint32_t *borders, size_t most)
{
    size_t count = 0;
    for (;;) {
        size_t until = n - *from > STEP ? *from + STEP : n;
        while (until < n && st_utf8_is_continuation(text[until]))
            until++;
        count += find(cuts, text, until, from, borders + count, most - count);
        if (until == n || count == most || st_go_on(STEP))
            return count;
    }
}

size_t st_cuts_last(const st_cuts *cuts, const uint8_t *text, size_t n)
{
    size_t end = n, border = n ? n - st_utf8_size_before(text, n) : 0, seen = n;
    uint32_t right = n ? st_char_bits(text + border, end - border) : 0;
    while (border > 0) {
        if (seen - border >= STEP) {
            if (st_go_on(seen - border))
                return 0;
            seen = border;
        }
        const size_t x = border - st_utf8_size_before(text, border);
        const uint32_t left = st_char_bits(text + x, border - x);
        if (st_cut_is_here(cuts->tables, left, right, text, x, border, end))
            return border;
        right = left;
        end = border;
        border = x;
    }
    return 0;
}

size_t st_cuts_next(const st_cuts *cuts, const uint8_t *text, size_t from, size_t n)
{
    uint32_t border;
    return st_cuts_find(cuts, text, n, &from, &border, 1) ? from : n;
}
