#include "train_index.h"

#include <stdlib.h>

/* ---- the sketch ----
 * An array of sums over hashes of pairs: a pair is at most as frequent as the sum it is part of, so most rare pairs are
 * seen to be rare without a table that would have to hold them all. */

typedef struct sketch {
    uint32_t *sums;
    unsigned shift;
    uint32_t least; /* sums stop at it */
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
 * Each goes over all pairs of neighbours from left to right; `range` is where their count stands. */

typedef struct walk {
    const st_train_text *text;
    const st_train_tokens *tokens;
    size_t range;
    uint64_t at, end; /* the next token; the end of the range */
} walk;

static walk walk_from_start(const st_train_text *text, const st_train_tokens *tokens)
{
    return (walk){text, tokens, 0, 1, text->range_count ? text->ranges[0].end : 0};
}

/* The next pair: its place, its key, its count in *weight. 0: there is none. */
static inline int walk_on(walk *w, uint32_t *place, st_train_key *key, uint64_t *weight)
{
    const uint32_t *tokens = w->text->tokens, *lengths = w->tokens->lengths;
    for (;;) {
        while (w->at >= w->end) {
            if (w->range + 1 >= w->text->range_count)
                return 0;
            w->end = w->text->ranges[++w->range].end;
        }
        const uint32_t left = tokens[w->at];
        *place = (uint32_t)w->at;
        if (left == ST_TRAIN_BORDER) {
            w->at++;
            continue;
        }
        w->at += lengths[left];
        const uint32_t right = tokens[w->at];
        if (right == ST_TRAIN_BORDER) {
            w->at++;
            continue;
        }
        *key = st_train_key_of(left, right);
        *weight = w->text->ranges[w->range].count;
        return 1;
    }
}

static void fill_sketch(const sketch *s, walk w)
{
    st_train_key key;
    uint64_t weight;
    uint32_t place;
    while (walk_on(&w, &place, &key, &weight))
        sketch_add(s, st_train_hash(key), weight < s->least ? (uint32_t)weight : s->least);
}

static st_status count_pairs(st_train_index *index, const sketch *s, walk w)
{
    st_train_key key;
    uint64_t weight;
    uint32_t place;
    while (walk_on(&w, &place, &key, &weight)) {
        if (!sketch_may(s, st_train_hash(key)) || !st_train_may_merge(w.tokens, st_train_left(key), st_train_right(key)))
            continue;
        st_train_pair *pair = st_train_pairs_add(&index->pairs, key, 0);
        if (!pair)
            return ST_NO_MEMORY;
        pair->count += weight;
        pair->n++;
    }
    return ST_OK;
}

static void fill_lists(st_train_index *index, const sketch *s, walk w)
{
    st_train_key key;
    uint64_t weight;
    uint32_t place;
    while (walk_on(&w, &place, &key, &weight)) {
        st_train_pair *pair = sketch_may(s, st_train_hash(key)) ? st_train_pairs_find(&index->pairs, key) : NULL;
        if (pair)
            index->lists[pair->start + pair->n++] = place;
    }
}

/* ---- what is worth a list ---- */

typedef struct level {
    uint64_t count, n;
} level;

static int by_count(const void *a, const void *b)
{
    const uint64_t left = ((const level *)a)->count, right = ((const level *)b)->count;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* Raises `least` until all lists fill at most `room` places; not so far that no pair would be left. */
static st_status raise_least(st_train_index *index, size_t room)
{
    level *levels = st_malloc(index->pairs.count * sizeof *levels);
    size_t count = 0, fitting = 0;
    uint64_t places = 0;
    if (!levels)
        return ST_NO_MEMORY;
    for (size_t i = 0; i < index->pairs.room; i++)
        if (index->pairs.entries[i].key != ST_TRAIN_NO_PAIR)
            levels[count++] = (level){index->pairs.entries[i].count, index->pairs.entries[i].n};
    qsort(levels, count, sizeof *levels, by_count);
    while (fitting < count) {
        size_t next = fitting;
        for (; next < count && levels[next].count == levels[fitting].count; next++)
            places += levels[next].n;
        if (fitting && places > room)
            break;
        fitting = next;
    }
    index->least = fitting ? levels[fitting - 1].count : index->least;
    st_free(levels);
    return ST_OK;
}

/* Room in the lists for `places`, and as much again for what merges add. */
static st_status make_room(st_train_index *index, size_t places, size_t text_places)
{
    size_t room = 2 * text_places < index->most_lists ? 2 * text_places : index->most_lists;
    room = room < 2 * places ? 2 * places : room;
    if (room <= index->list_room)
        return ST_OK;
    st_free(index->lists); /* all of it is out of date */
    index->list_room = 0;
    index->lists = st_malloc(room * sizeof *index->lists);
    if (!index->lists)
        return ST_NO_MEMORY;
    index->list_room = room;
    return ST_OK;
}

/* Drops what is too rare, and gives each pair that is left its stretch of the lists. */
static st_status lay_out(st_train_index *index, const st_train_text *text)
{
    const size_t half = index->most_lists / 2;
    uint64_t top = 0;
    ST_TRY(st_train_pairs_compact(&index->pairs, index->least));
    for (size_t i = 0; i < index->pairs.room; i++)
        if (index->pairs.entries[i].key != ST_TRAIN_NO_PAIR)
            top += index->pairs.entries[i].n;
    if (top > half) {
        ST_TRY(raise_least(index, half));
        ST_TRY(st_train_pairs_compact(&index->pairs, index->least));
    }
    top = 0;
    for (size_t i = 0; i < index->pairs.room; i++) {
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
    for (size_t i = 0; i < index->pairs.room; i++) {
        const st_train_pair *pair = &index->pairs.entries[i];
        if (pair->key != ST_TRAIN_NO_PAIR)
            queue->entries[queue->count++] = (st_train_entry){pair->count, pair->key};
    }
    st_train_queue_order(queue, tokens);
    return ST_OK;
}

st_status st_train_index_build(st_train_index *index, const st_train_text *text, const st_train_tokens *tokens)
{
    const walk start = walk_from_start(text, tokens);
    sketch s;
    st_train_pairs_free(&index->pairs);
    index->queue.count = 0;
    index->searched += text->places;
    ST_TRY(sketch_init(&s, text->places, index->least));
    fill_sketch(&s, start);
    st_status status = count_pairs(index, &s, start);
    if (!status)
        status = lay_out(index, text);
    if (!status)
        fill_lists(index, &s, start);
    st_free(s.sums);
    return status ? status : fill_queue(index, tokens);
}

st_status st_train_index_greatest(st_train_index *index, const st_train_text *text, const st_train_tokens *tokens,
                                  uint64_t *greatest)
{
    walk w = walk_from_start(text, tokens);
    st_train_key key;
    uint64_t weight, *sums = st_calloc((size_t)1 << 16, sizeof *sums);
    uint32_t place;
    if (!sums)
        return ST_NO_MEMORY;
    while (walk_on(&w, &place, &key, &weight))
        sums[(st_train_left(key) & 255) << 8 | (st_train_right(key) & 255)] += weight;
    *greatest = 0;
    for (size_t i = 0; i < (size_t)1 << 16; i++)
        *greatest = sums[i] > *greatest ? sums[i] : *greatest;
    index->searched += text->places;
    st_free(sums);
    return ST_OK;
}

void st_train_index_free(st_train_index *index)
{
    st_train_pairs_free(&index->pairs);
    st_train_queue_free(&index->queue);
    st_free(index->lists);
    index->lists = NULL;
    index->list_top = index->list_room = 0;
}
