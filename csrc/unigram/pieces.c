/* The tree is built from the root down: the tokens below a cell are sorted by their next byte, its children find a place, and so on. */
#include "unigram/pieces.h"

#include <math.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "base/interrupt.h"
#include "base/utf8.h"

#define BLOCK 256

#define MARK_TEXT "\xE2\x96\x81"

/* Cells with several children look for places in so many of the last blocks, those with one child fill what is left. */
#define BLOCKS_TRIED 8

/* No text has this byte. */
#define FREE 0xC0u

/* Work of placing a cell, in the unit of st_go_on (base/interrupt.h). */
#define CELL_COSTS 16

/* Up to this many tokens are sorted by insertion, more by counting. */
#define FEW 24

/* Tokens order[low..high) go on below a cell whose first `depth` bytes they have; one of them may be that text. */
typedef struct group {
    uint32_t low, high, cell, depth;
} group;

typedef struct builder {
    st_pieces *pieces;
    const st_vocab *vocab;
    uint32_t *order, *sorted;
    uint64_t *taken, *used; /* a bit a cell: it is taken; it is the base of one */
    size_t capacity, first_open;
    st_bytes stack; /* of groups */
} builder;

static int is_set(const uint64_t *bits, size_t at)
{
    return (int)(bits[at / 64] >> at % 64 & 1);
}

static void set(uint64_t *bits, size_t at)
{
    bits[at / 64] |= UINT64_C(1) << at % 64;
}

/* ---- places ---- */

static st_status resize(builder *b, size_t capacity)
{
    st_piece_cell *cells = capacity > (size_t)1 << 24 ? NULL : st_realloc(b->pieces->cells, capacity * sizeof *cells);
    b->pieces->cells = cells ? cells : b->pieces->cells;
    uint64_t *taken = cells ? st_realloc(b->taken, capacity / 8) : NULL;
    b->taken = taken ? taken : b->taken;
    uint64_t *used = taken ? st_realloc(b->used, capacity / 8) : NULL;
    b->used = used ? used : b->used;
    b->capacity = used ? capacity : b->capacity;
    return used ? ST_OK : ST_NO_MEMORY;
}

static st_status add_block(builder *b)
{
    const size_t count = b->pieces->count;
    if (count == b->capacity)
        ST_TRY(resize(b, (count / BLOCK + count / BLOCK / 2 + 16) * BLOCK));
    for (size_t i = count; i < count + BLOCK; i++)
        b->pieces->cells[i] = (st_piece_cell){FREE, ST_NONE, -INFINITY};
    memset(b->taken + count / 64, 0, BLOCK / 8);
    memset(b->used + count / 64, 0, BLOCK / 8);
    b->pieces->count += BLOCK;
    return ST_OK;
}

static int fits(const builder *b, const uint8_t *bytes, size_t n, size_t base)
{
    for (size_t i = 0; i < n; i++)
        if (is_set(b->taken, base ^ bytes[i]))
            return 0;
    return 1;
}

/* A base in the block that no cell has, and at which all children find a free place; SIZE_MAX if there is none. */
static size_t base_in(const builder *b, const uint8_t *bytes, size_t n, size_t block)
{
    for (size_t i = block * (BLOCK / 64); i < (block + 1) * (BLOCK / 64); i++)
        for (uint64_t free = ~b->taken[i]; free; free &= free - 1) {
            const size_t base = (64 * i + st_first_bit(free)) ^ bytes[0];
            if (!is_set(b->used, base) && fits(b, bytes + 1, n - 1, base))
                return base;
        }
    return SIZE_MAX;
}

static st_status find_base(builder *b, const uint8_t *bytes, size_t n, size_t *base)
{
    const size_t blocks = b->pieces->count / BLOCK, tried = blocks < BLOCKS_TRIED ? blocks : BLOCKS_TRIED;
    *base = SIZE_MAX;
    while (n == 1 && b->first_open < blocks && *base == SIZE_MAX) {
        *base = base_in(b, bytes, 1, b->first_open);
        b->first_open += *base == SIZE_MAX;
    }
    for (size_t i = 0; n > 1 && i < tried && *base == SIZE_MAX; i++)
        *base = base_in(b, bytes, n, blocks - tried + i);
    if (*base != SIZE_MAX)
        return ST_OK;
    ST_TRY(add_block(b));
    *base = base_in(b, bytes, n, blocks);
    return ST_OK;
}

/* ---- the tree ---- */

static uint8_t byte_at(const builder *b, uint32_t token, uint32_t depth)
{
    return st_token_bytes(b->vocab, token)[depth];
}

static void sort_few(const builder *b, uint32_t *order, size_t n, uint32_t depth)
{
    for (size_t i = 1; i < n; i++) {
        const uint32_t token = order[i];
        const uint8_t byte = byte_at(b, token, depth);
        size_t at = i;
        for (; at && byte_at(b, order[at - 1], depth) > byte; at--)
            order[at] = order[at - 1];
        order[at] = token;
    }
}

static void sort_many(const builder *b, uint32_t *order, size_t n, uint32_t depth)
{
    size_t place[257] = {0};
    for (size_t i = 0; i < n; i++)
        place[byte_at(b, order[i], depth) + 1]++;
    for (size_t byte = 0; byte < 256; byte++)
        place[byte + 1] += place[byte];
    for (size_t i = 0; i < n; i++)
        b->sorted[place[byte_at(b, order[i], depth)]++] = order[i];
    memcpy(order, b->sorted, n * sizeof *order);
}

/* Takes the token that ends at the cell out of the group. */
static void take_token(builder *b, group *g)
{
    for (uint32_t i = g->low; i < g->high; i++) {
        const uint32_t token = b->order[i];
        if (st_token_length(b->vocab, token) > g->depth)
            continue;
        b->pieces->cells[g->cell].token = token;
        b->pieces->cells[g->cell].score = st_unigram_of(b->vocab)->scores[token];
        b->order[i] = b->order[g->low];
        b->order[g->low++] = token;
        return;
    }
}

/* Places the children of a cell, and lists what lies below each. */
static st_status place_children(builder *b, group g)
{
    uint8_t bytes[256];
    uint32_t ends[256];
    size_t count = 0, base;
    if (g.high - g.low <= FEW)
        sort_few(b, b->order + g.low, g.high - g.low, g.depth);
    else
        sort_many(b, b->order + g.low, g.high - g.low, g.depth);
    for (uint32_t i = g.low; i < g.high; i++) {
        const uint8_t byte = byte_at(b, b->order[i], g.depth);
        if (!count || bytes[count - 1] != byte)
            bytes[count++] = byte;
        ends[count - 1] = i + 1;
    }
    ST_TRY(find_base(b, bytes, count, &base));
    set(b->used, base);
    if (g.depth)
        b->pieces->cells[g.cell].link |= (uint32_t)base << 8;
    else
        b->pieces->root = (uint32_t)base;
    ST_TRY(st_bytes_reserve(&b->stack, count * sizeof g));
    for (size_t i = count; i > 0; i--) {
        const uint32_t cell = (uint32_t)base ^ bytes[i - 1];
        const group below = {i > 1 ? ends[i - 2] : g.low, ends[i - 1], cell, g.depth + 1};
        set(b->taken, cell);
        b->pieces->cells[cell].link = bytes[i - 1];
        ST_TRY(st_bytes_append(&b->stack, &below, sizeof below));
    }
    return st_go_on(CELL_COSTS * count);
}

static st_status place_all(builder *b, uint32_t count)
{
    group g = {0, count, 0, 0};
    ST_TRY(add_block(b));
    set(b->used, 0);
    b->pieces->root = 0; /* of no tokens */
    ST_TRY(st_bytes_append(&b->stack, &g, sizeof g));
    while (b->stack.size) {
        b->stack.size -= sizeof g;
        memcpy(&g, b->stack.data + b->stack.size, sizeof g);
        if (g.depth)
            take_token(b, &g);
        if (g.low < g.high)
            ST_TRY(place_children(b, g));
    }
    return ST_OK;
}

/* Whether a token is whole characters. Others are in no text. */
static int is_text(const uint8_t *text, size_t n)
{
    size_t at = 0;
    while (at < n) {
        const unsigned size = st_utf8_size(text[at]);
        if (st_utf8_is_continuation(text[at]) || text[at] > 0xF4 || size > n - at)
            return 0;
        for (unsigned i = 1; i < size; i++)
            if (!st_utf8_is_continuation(text[at + i]))
                return 0;
        at += size;
    }
    return 1;
}

static void compare_scores(st_pieces *pieces, const st_vocab *vocab)
{
    const st_unigram *rule = st_unigram_of(vocab);
    pieces->largest = fabs(rule->unknown_score);
    pieces->unknown_last = 1;
    for (uint32_t i = 0; i < vocab->count; i++) {
        pieces->largest = fabs(rule->scores[i]) > pieces->largest ? fabs(rule->scores[i]) : pieces->largest;
        pieces->unknown_last &= rule->scores[i] >= rule->unknown_score;
    }
}

static int has_all_bytes(const st_unigram *rule)
{
    for (unsigned byte = 0; byte < 0xF5; byte++)
        if (byte != 0xC0 && byte != 0xC1 && rule->bytes[byte] == ST_NONE)
            return 0;
    return 1;
}

/* Whether a token holds a mark behind another character. */
static int holds_mark(const uint8_t *text, size_t n)
{
    size_t first = 0;
    while (first + 3 <= n && !memcmp(text + first, MARK_TEXT, 3))
        first += 3;
    for (size_t at = first; at + 3 <= n; at++)
        if (!memcmp(text + at, MARK_TEXT, 3))
            return 1;
    return 0;
}

static int is_by_words(const st_pieces *pieces, const st_vocab *vocab)
{
    if (!(st_unigram_of(vocab)->flags & ST_UNIGRAM_SINGLE) || st_pieces_find(pieces, (const uint8_t *)MARK_TEXT, 3) == ST_NONE)
        return 0;
    for (uint32_t i = 0; i < vocab->count; i++)
        if (!st_token_is_silent(vocab, i) && holds_mark(st_token_bytes(vocab, i), st_token_length(vocab, i)))
            return 0;
    return 1;
}

static st_status build(st_attached *made, const st_vocab *vocab)
{
    builder b = {.pieces = (st_pieces *)made, .vocab = vocab}; /* its first member */
    uint32_t count = 0;
    b.order = st_malloc((vocab->count + 1) * sizeof *b.order);
    b.sorted = st_malloc((vocab->count + 1) * sizeof *b.sorted);
    for (uint32_t i = 0; b.order && i < vocab->count; i++)
        if (!st_token_is_silent(vocab, i) && is_text(st_token_bytes(vocab, i), st_token_length(vocab, i)))
            b.order[count++] = i;
    const st_status status = b.order && b.sorted ? place_all(&b, count) : ST_NO_MEMORY;
    compare_scores(b.pieces, vocab);
    b.pieces->all_bytes = has_all_bytes(st_unigram_of(vocab));
    b.pieces->by_words = !status && is_by_words(b.pieces, vocab);
    b.pieces->order = b.order;
    b.pieces->texts = count;
    st_free(b.sorted);
    st_free(b.taken);
    st_free(b.used);
    st_bytes_free(&b.stack);
    return status;
}

static void release(st_attached *attached)
{
    st_pieces *pieces = (st_pieces *)attached;
    st_free(pieces->cells);
    st_free(pieces->order);
    st_free(pieces);
}

const st_pieces *st_vocab_pieces(st_vocab *vocab)
{
    static const st_attached_kind kind = {sizeof(st_pieces), build, release};
    return st_attached_at(&vocab->machine, &kind, vocab);
}

uint32_t st_pieces_find(const st_pieces *pieces, const uint8_t *text, size_t n)
{
    uint32_t base = pieces->root, token = ST_NONE;
    for (size_t at = 0; at < n; at++) {
        const st_piece_cell *cell = st_pieces_step(pieces, base, text[at]);
        if (!cell)
            return ST_NONE;
        base = cell->link >> 8;
        token = cell->token;
    }
    return token;
}

/* ---- as bytes ---- */

/* In front of the cells, and the order behind these. */
typedef struct saved {
    uint64_t count;
    double largest;
    uint32_t root, texts, unknown_last, all_bytes, by_words;
    uint32_t unused[7]; /* 64 bytes in all */
} saved;

st_status st_pieces_save(st_vocab *vocab, st_bytes *out)
{
    const st_pieces *p = st_vocab_pieces(vocab);
    if (!p)
        return ST_NO_MEMORY;
    const saved head = {p->count,           p->largest, p->root, p->texts, (uint32_t)p->unknown_last, (uint32_t)p->all_bytes,
                        (uint32_t)p->by_words, {0}};
    ST_TRY(st_bytes_append(out, (const uint8_t *)&head, sizeof head));
    ST_TRY(st_bytes_append(out, (const uint8_t *)p->cells, p->count * sizeof *p->cells));
    return st_bytes_append(out, (const uint8_t *)p->order, p->texts * sizeof *p->order);
}

static void release_opened(st_attached *attached)
{
    st_free(attached); /* its first member */
}

st_status st_pieces_open(st_vocab *vocab, const uint8_t *data, size_t n)
{
    saved head;
    if (n < sizeof head)
        return ST_BAD_IMAGE;
    memcpy(&head, data, sizeof head);
    const size_t cells = (n - sizeof head) / sizeof(st_piece_cell);
    if (head.count > cells || head.count % BLOCK || head.root >= head.count || head.texts > vocab->count ||
        n != sizeof head + (size_t)head.count * sizeof(st_piece_cell) + head.texts * sizeof(uint32_t))
        return ST_BAD_IMAGE;
    st_pieces *p = st_calloc(1, sizeof *p);
    if (!p)
        return ST_NO_MEMORY;
    p->attached.release = release_opened;
    p->count = (size_t)head.count;
    p->largest = head.largest;
    p->root = head.root;
    p->texts = head.texts;
    p->unknown_last = (int)head.unknown_last;
    p->all_bytes = (int)head.all_bytes;
    p->by_words = (int)head.by_words;
    p->cells = (st_piece_cell *)(uintptr_t)(data + sizeof head); /* never written to */
    p->order = (uint32_t *)(uintptr_t)(data + sizeof head + p->count * sizeof *p->cells);
    if (vocab->machine) { /* it is there already */
        st_free(p);
        return ST_OK;
    }
    vocab->machine = &p->attached; /* no other thread has the vocabulary yet */
    return ST_OK;
}
