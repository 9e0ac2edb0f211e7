#include "cuts.h"

#include <string.h>

#include "alloc.h"
#include "bits.h"
#include "publish.h"
#include "text.h"
#include "utf8.h"

static void set_bit(uint8_t *bits, uint32_t at)
{
    bits[at >> 3] |= (uint8_t)(1u << (at & 7));
}

static int get_bit(const uint8_t *bits, uint32_t at)
{
    return bits[at >> 3] >> (at & 7) & 1;
}

/* Bytes of the character part that ends in front of the border: a whole character (then *part is 0), or, when the token
 * begins inside it, its last 1 to 3 bytes (then *part is their number). 0: no valid text has this. */
static size_t part_before(const uint8_t *token, size_t border, unsigned *part)
{
    size_t n = 1;
    while (n < border && n <= 3 && st_utf8_is_continuation(token[border - n]))
        n++;
    const uint8_t first = token[border - n];
    if (st_utf8_is_continuation(first)) {
        *part = (unsigned)n;
        return n == border && n <= 3 ? n : 0;
    }
    *part = 0;
    return st_utf8_size(first) == n ? n : 0;
}

static size_t part_behind(const uint8_t *token, size_t border, size_t n, unsigned *part)
{
    size_t size = st_utf8_size(token[border]), there = n - border < size ? n - border : size;
    for (size_t i = 1; i < there; i++)
        if (!st_utf8_is_continuation(token[border + i]))
            return 0;
    *part = there < size ? (unsigned)there : 0;
    return there;
}

/* Enters what the token holds on the two sides of one of its inner character borders. */
static void enter_border(st_cuts *cuts, const uint8_t *token, size_t border, size_t n)
{
    unsigned a, b;
    size_t x = part_before(token, border, &a), y = part_behind(token, border, n, &b);
    if (!x || !y)
        return;
    uint32_t shape = 4 * a + b;
    uint32_t hash = st_cut_hash(st_char_bits(token + border - x, x), st_char_bits(token + border, y), shape);
    if (shape == 0) {
        set_bit(cuts->pairs, hash >> (32 - ST_CUT_PAIR_BITS));
        return;
    }
    set_bit(cuts->partials, hash >> (32 - ST_CUT_PARTIAL_BITS));
    cuts->before[token[border - 1]] |= (uint16_t)(1u << shape);
    cuts->behind[token[border]] |= (uint16_t)(1u << shape);
}

static void enter_character(st_cuts *cuts, const st_vocab *vocab, uint32_t index)
{
    const uint8_t *token = st_token_bytes(vocab, index);
    size_t n = st_token_length(vocab, index);
    unsigned size;
    st_text_error error;
    if (n >= 2 && n <= 3 && st_text_check(token, n, &error) == n && st_utf8_size(token[0]) == n &&
        st_token_reachable(vocab, index))
        cuts->characters[st_utf8_decode(token, &size)] = index;
}

static void build(st_cuts *cuts, const st_vocab *vocab)
{
    memset(cuts->characters, 0xff, sizeof cuts->characters);
    for (uint32_t i = 0; i < vocab->count; i++) {
        const uint8_t *token = st_token_bytes(vocab, i);
        size_t n = st_token_length(vocab, i);
        if (!st_has_high_bytes(token, n))
            continue; /* between two ASCII characters nobody looks for a cut */
        enter_character(cuts, vocab, i);
        for (size_t border = 1; border < n; border++)
            if (!st_utf8_is_continuation(token[border]) && (token[border - 1] | token[border]) >= 0x80)
                enter_border(cuts, token, border, n);
    }
}

static void release(st_part *part)
{
    st_free(part); /* the first member of the cuts */
}

const st_cuts *st_vocab_cuts_built(const st_vocab *vocab)
{
    return st_acquire((void **)&vocab->cuts);
}

const st_cuts *st_vocab_cuts(st_vocab *vocab)
{
    st_cuts *cuts = st_acquire((void **)&vocab->cuts);
    if (cuts)
        return cuts;
    cuts = st_alloc_table(sizeof *cuts);
    if (!cuts)
        return NULL;
    cuts->part.release = release;
    build(cuts, vocab);
    st_cuts *other = st_publish((void **)&vocab->cuts, cuts);
    if (other) { /* another thread was faster; both are the same */
        release(&cuts->part);
        return other;
    }
    return cuts;
}

/* Some token reaches over the border but not over all of X and Y: try each shape that the bytes next to it allow. */
static int partial_token(const st_cuts *cuts, unsigned shapes, const uint8_t *text, size_t x, size_t border, size_t end)
{
    for (; shapes; shapes &= shapes - 1) {
        unsigned shape = st_first_bit(shapes);
        size_t a = shape / 4, b = shape % 4;
        if (a >= border - x || b >= end - border)
            continue; /* not a proper part of this character */
        a = a ? a : border - x;
        b = b ? b : end - border;
        uint32_t hash = st_cut_hash(st_char_bits(text + border - a, a), st_char_bits(text + border, b), shape);
        if (get_bit(cuts->partials, hash >> (32 - ST_CUT_PARTIAL_BITS)))
            return 1;
    }
    return 0;
}

/* May the piece be cut between the character text[x..border), whose bytes are `left`, and text[border..end), `right`?
 * Between two ASCII characters the answer is always no. */
static inline int may_cut(const st_cuts *cuts, const uint8_t *text, size_t x, size_t border, size_t end, uint32_t left,
                          uint32_t right)
{
    if ((left | right) < 0x80) /* words of ASCII: hardly ever a cut, and not entered */
        return 0;
    if (get_bit(cuts->pairs, st_cut_hash(left, right, 0) >> (32 - ST_CUT_PAIR_BITS)))
        return 0;
    unsigned shapes = cuts->before[text[border - 1]] & cuts->behind[text[border]];
    return !shapes || !partial_token(cuts, shapes, text, x, border, end);
}

int st_cuts_partial(const st_cuts *cuts, const uint8_t *text, size_t x, size_t border, size_t end)
{
    unsigned shapes = cuts->before[text[border - 1]] & cuts->behind[text[border]];
    return shapes && partial_token(cuts, shapes, text, x, border, end);
}

size_t st_cuts_next(const st_cuts *cuts, const uint8_t *text, size_t from, size_t n)
{
    size_t border = from + st_utf8_size(text[from]);
    uint32_t left = st_char_bits(text + from, border - from);
    while (border < n) {
        size_t end = border + st_utf8_size(text[border]);
        uint32_t right = st_char_bits(text + border, end - border);
        if (may_cut(cuts, text, from, border, end, left, right))
            return border;
        left = right;
        from = border;
        border = end;
    }
    return n;
}
