#include "train/index.h"

#include <stdlib.h>

/* ---- the sketch ----
 * An array of counts by a hash of the pair. A pair is at most as frequent as the count at its hash, so most rare pairs are
 * recognised without a table of all pairs. */

typedef struct sketch {
    uint32_t *sums;
    unsigned shift;
    uint32_t least; /* counts stop growing at it */
} sketch;

#define SKETCH_LEAST_BITS 12
#define SKETCH_MOST_BITS 22 /* 16 MiB: more would not stay in any cache */

static st_status sketch_init(sketch *s, size_t places, uint64_t least)
{
    unsigned bits = SKETCH_LEAST_BITS;
    while (bits < SKETCH_MOST_BITS && (size_t)1 << (bits + 1) < places)
        bits++;
    s->shift = 64 - bits;
    s->least = least < UINT32_MAX ? (uint32_t)least : UINT32_MAX;
    s->sums = st_calloc((size_t)1 << bits, sizeof *s->sums);
    return s->sums ? ST_OK : ST_NO_MEMORY;
}

static inline void sketch_add(const sketch *s, uint64_t hash, uint32_t weight)
{
    uint32_t *sum = &s->sums[hash >> s->shift];
    *sum = s->least - *sum > weight ? *sum + weight : s->least;
}

static inline int sketch_may(const sketch *s, uint64_t hash)
{
    return s->sums[hash >> s->shift] >= s->least;
}

/* ---- passes over the text ----
 * All pairs of neighbours from left to right, in blocks of some hundred, so that their look-ups overlap. */

#define BLOCK 256

typedef struct block {
    st_train_key keys[BLOCK];
    uint64_t weights[BLOCK]; /* how often the pair stands in the whole text, not only in the distinct pieces */
    uint32_t places[BLOCK];
} block;

typedef struct walk {
    const st_train_text *text;
    const uint32_t *widths;
    size_t range;
    uint64_t at, end; /* the next token; the end of the range */
} walk;

static walk walk_from_start(const st_train_text *text, const st_train_tokens *tokens)
{
    return (walk){text, tokens->widths, 0, 1, text->range_count ? text->ranges[0].end : 0};
}

/* Reads the next pairs; returns how many, 0 at the end. */
static size_t walk_on(walk *w, block *found)
{
    const uint32_t *tokens = w->text->tokens;
    size_t count = 0;
    while (count < BLOCK) {
        if (w->at >= w->end) {
            if (w->range + 1 >= w->text->range_count)
                break;
            w->end = w->text->ranges[++w->range].end;
            continue;
        }
        const uint64_t weight = w->text->ranges[w->range].count;
        uint32_t left = tokens[w->at];
        while (left != ST_TRAIN_BORDER && count < BLOCK) {
            const uint64_t next = w->at + w->widths[left];
            const uint32_t right = tokens[next];
            found->keys[count] = st_train_key_of(left, right);
            found->places[count] = (uint32_t)w->at;
            found->weights[count] = weight;
            count += right != ST_TRAIN_BORDER;
            w->at = next;
            left = right;
        }
        w->at += left == ST_TRAIN_BORDER;
    }
    return count;
}

static void fill_sketch(const sketch *s, walk w)
{
    block b;
    for (size_t n; (n = walk_on(&w, &b)) != 0;)
        for (size_t i = 0; i < n; i++)
            sketch_add(s, st_hash_number(b.keys[i]), b.weights[i] < s->least ? (uint32_t)b.weights[i] : s->least);
}

/* Keeps the pairs of a block that may be frequent by the sketch; returns how many. */
static size_t sift(const sketch *s, block *b, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        b->keys[kept] = b->keys[i];
        b->places[kept] = b->places[i];
        b->weights[kept] = b->weights[i];
        kept += sketch_may(s, st_hash_number(b->keys[i])) != 0;
    }
    return kept;
}

static st_status count_pairs(st_train_index *index, const st_train_tokens *tokens, const sketch *s, walk w)
{
    block b;
    for (size_t n; (n = walk_on(&w, &b)) != 0;) {
        n = sift(s, &b, n);
        for (size_t i = 0; i < n; i++) {
            if (!st_train_may_merge(tokens, st_train_left(b.keys[i]), st_train_right(b.keys[i])))
                continue;
            st_train_pair *pair = st_train_pairs_add(&index->pairs, b.keys[i], 0);
            if (!pair)
                return ST_NO_MEMORY;
            pair->count += b.weights[i];
            pair->n++;
        }
    }
    return ST_OK;
}

static void fill_lists(st_train_index *index, const sketch *s, walk w)
{
    block b;
    for (size_t n; (n = walk_on(&w, &b)) != 0;) {
        n = sift(s, &b, n);
        for (size_t i = 0; i < n; i++) {
            st_train_pair *pair = st_train_pairs_find(&index->pairs, b.keys[i]);
            if (pair)
                index->lists[pair->start + pair->n++] = b.places[i];
        }
    }
}

/* ---- the same while all tokens are single bytes: a table with a place for every pair ---- */

#define BYTE_PAIRS ((size_t)1 << 16)

typedef struct byte_pair {
    uint64_t count, n;
} byte_pair;

static st_train_key key_of_bytes(size_t at)
{
    return st_train_key_of((uint32_t)at >> 8, (uint32_t)at & 255);
}

static st_status count_byte_pairs(st_train_index *index, const st_train_text *text, const st_train_tokens *tokens,
                                  byte_pair *pairs)
{
    uint64_t at = 1;
    for (size_t i = 0; i < text->range_count; i++)
        for (; at < text->ranges[i].end; at++) {
            const uint32_t left = text->tokens[at], right = left == ST_TRAIN_BORDER ? left : text->tokens[at + 1];
            if (right == ST_TRAIN_BORDER)
                continue;
            pairs[left << 8 | right].count += text->ranges[i].count;
            pairs[left << 8 | right].n++;
        }
    for (size_t i = 0; i < BYTE_PAIRS; i++) {
        if (pairs[i].count < index->least || !st_train_may_merge(tokens, (uint32_t)i >> 8, (uint32_t)i & 255))
            continue;
        st_train_pair *pair = st_train_pairs_add(&index->pairs, key_of_bytes(i), 0);
        if (!pair)
            return ST_NO_MEMORY;
        pair->count = pairs[i].count;
        pair->n = pairs[i].n;
    }
    return ST_OK;
}

/* Fills the lists. Pairs without a list write to one further place behind all lists, so that the loop has no branch. */
static void fill_byte_lists(st_train_index *index, const st_train_text *text, byte_pair *pairs)
{
    for (size_t i = 0; i < BYTE_PAIRS; i++) {
        st_train_pair *pair = pairs[i].n ? st_train_pairs_find(&index->pairs, key_of_bytes(i)) : NULL;
        if (pair)
            pair->n = pairs[i].n;
        pairs[i] = pair ? (byte_pair){pair->start, 1} : (byte_pair){index->list_top, 0};
    }
    for (size_t at = 1; at + 1 < text->places; at++) {
        const uint32_t left = text->tokens[at], right = text->tokens[at + 1];
        if (left == ST_TRAIN_BORDER || right == ST_TRAIN_BORDER)
            continue;
        byte_pair *pair = &pairs[left << 8 | right];
        index->lists[pair->count] = (uint32_t)at;
        pair->count += pair->n;
    }
}

/* ---- which pairs get a list ---- */

typedef struct level {
    uint64_t count, n;
} level;

static int by_count(const void *a, const void *b)
{
    const uint64_t left = ((const level *)a)->count, right = ((const level *)b)->count;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* Raises `least` until all lists together have at most `capacity` places, but not so far that no pair is left. */
static st_status raise_least(st_train_index *index, size_t capacity)
{
    level *levels = st_malloc(index->pairs.count * sizeof *levels);
    size_t count = 0, fitting = 0;
    uint64_t places = 0;
    if (!levels)
        return ST_NO_MEMORY;
    for (size_t i = 0; i < index->pairs.capacity; i++)
        if (index->pairs.entries[i].key != ST_TRAIN_NO_PAIR)
            levels[count++] = (level){index->pairs.entries[i].count, index->pairs.entries[i].n};
    qsort(levels, count, sizeof *levels, by_count);
    while (fitting < count) {
        size_t next = fitting;
        for (; next < count && levels[next].count == levels[fitting].count; next++)
            places += levels[next].n;
        if (fitting && places > capacity)
            break;
        fitting = next;
    }
    index->least = fitting ? levels[fitting - 1].count : index->least;
    st_free(levels);
    return ST_OK;
}

/* Makes room in the lists for `places`, and as much again for the lists of pairs that merges make. */
static st_status make_room(st_train_index *index, size_t places, size_t text_places)
{
    size_t capacity = 2 * text_places < index->most_lists ? 2 * text_places : index->most_lists;
    capacity = capacity <= 2 * places ? 2 * places + 1 : capacity; /* fill_byte_lists takes one place more */
    if (capacity <= index->list_capacity)
        return ST_OK;
    st_free(index->lists); /* all lists are out of date */
    index->list_capacity = 0;
    index->lists = st_alloc_large(capacity * sizeof *index->lists);
    if (!index->lists)
        return ST_NO_MEMORY;
    index->list_capacity = capacity;
    return ST_OK;
}

/* Drops pairs that are too rare, and gives each of the others its range of the lists. */
static st_status lay_out(st_train_index *index, const st_train_text *text)
{
    const size_t half = index->most_lists / 2;
    uint64_t top = 0;
    ST_TRY(st_train_pairs_compact(&index->pairs, index->least));
    for (size_t i = 0; i < index->pairs.capacity; i++)
        if (index->pairs.entries[i].key != ST_TRAIN_NO_PAIR)
            top += index->pairs.entries[i].n;
    if (top > half) {
        ST_TRY(raise_least(index, half));
        ST_TRY(st_train_pairs_compact(&index->pairs, index->least));
    }
    top = 0;
    for (size_t i = 0; i < index->pairs.capacity; i++) {
        st_train_pair *pair = &index->pairs.entries[i];
        if (pair->key == ST_TRAIN_NO_PAIR)
            continue;
        pair->start = top;
        top += pair->n;
        pair->n = 0;
    }
    index->list_top = (size_t)top;
    return make_room(index, (size_t)top, text->places);
}

static st_status fill_queue(st_train_index *index, const st_train_tokens *tokens)
{
    st_train_queue *queue = &index->queue;
    ST_TRY(st_train_queue_reserve(queue, index->pairs.count));
    for (size_t i = 0; i < index->pairs.capacity; i++) {
        const st_train_pair *pair = &index->pairs.entries[i];
        if (pair->key != ST_TRAIN_NO_PAIR)
            queue->entries[queue->count++] = (st_train_entry){pair->count, pair->key};
    }
    st_train_queue_order(queue, tokens);
    return ST_OK;
}

static st_status build_from_bytes(st_train_index *index, const st_train_text *text, const st_train_tokens *tokens)
{
    byte_pair *pairs = st_calloc(BYTE_PAIRS, sizeof *pairs);
    if (!pairs)
        return ST_NO_MEMORY;
    st_status status = count_byte_pairs(index, text, tokens, pairs);
    if (!status)
        status = lay_out(index, text);
    if (!status)
        fill_byte_lists(index, text, pairs);
    st_free(pairs);
    return status;
}

static st_status build_from_tokens(st_train_index *index, const st_train_text *text, const st_train_tokens *tokens)
{
    const walk start = walk_from_start(text, tokens);
    sketch s;
    ST_TRY(sketch_init(&s, text->places, index->least));
    fill_sketch(&s, start);
    st_status status = count_pairs(index, tokens, &s, start);
    if (!status)
        status = lay_out(index, text);
    if (!status)
        fill_lists(index, &s, start);
    st_free(s.sums);
    return status;
}

st_status st_train_index_build(st_train_index *index, const st_train_text *text, const st_train_tokens *tokens)
{
    st_train_pairs_free(&index->pairs);
    index->queue.count = 0;
    index->searched += text->places;
    ST_TRY(tokens->count == 256 ? build_from_bytes(index, text, tokens) : build_from_tokens(index, text, tokens));
    return fill_queue(index, tokens);
}

void st_train_index_free(st_train_index *index)
{
    st_train_pairs_free(&index->pairs);
    st_train_queue_free(&index->queue);
    st_free(index->lists);
    index->lists = NULL;
    index->list_top = index->list_capacity = 0;
}
