#include "train/trainer.h"

#include "base/prefetch.h"

/* The text around a place is prefetched so many places before its turn. */
#define PLACES_AHEAD 16

/* A pair is prefetched in the table of pairs so many pairs before its turn. */
#define PAIRS_AHEAD 12

/* An empty queue is filled with pairs down to an eighth (2^-STEP) of the last count. */
#define STEP 3

static st_status sides_init(st_train_sides *sides, size_t tokens)
{
    sides->by_token = st_calloc(tokens, sizeof *sides->by_token);
    sides->seen = st_malloc(tokens * sizeof *sides->seen);
    return sides->by_token && sides->seen ? ST_OK : ST_NO_MEMORY;
}

st_status st_trainer_init(st_trainer *trainer, const st_train_options *options)
{
    memset(trainer, 0, sizeof *trainer);
    st_train_text_init(&trainer->text, options->alphabet);
    trainer->wanted = options->wanted;
    trainer->index.floor = options->frequency ? options->frequency : 1;
    trainer->index.most_lists = options->most_lists;
    ST_TRY(st_train_tokens_init(&trainer->tokens, options->alphabet, options->wanted, options->ties, options->max_token_bytes));
    ST_TRY(sides_init(&trainer->left, trainer->tokens.capacity));
    return sides_init(&trainer->right, trainer->tokens.capacity);
}

static void sides_free(st_train_sides *sides)
{
    st_free(sides->by_token);
    st_free(sides->seen);
}

void st_trainer_free(st_trainer *trainer)
{
    st_train_text_free(&trainer->text);
    st_train_tokens_free(&trainer->tokens);
    st_train_index_free(&trainer->index);
    sides_free(&trainer->left);
    sides_free(&trainer->right);
    memset(trainer, 0, sizeof *trainer);
}

/* Used for a low estimate of the count of the last merge. In real text this count times the number of merges was 1/12 to 1/53 of
 * the bytes of the text. A good estimate saves searches; the result does not depend on it. */
#define GUESS 64

static uint64_t guess_least(const st_trainer *t)
{
    const size_t merges = t->wanted - t->tokens.count;
    uint64_t bytes = 0, start = 1;
    for (size_t i = 0; i < t->text.range_count; start = t->text.ranges[i++].end)
        bytes += (t->text.ranges[i].end - start) * t->text.ranges[i].count;
    return merges ? bytes / merges / GUESS : bytes;
}

static uint64_t at_least_floor(const st_trainer *t, uint64_t least)
{
    return least > t->index.floor ? least : t->index.floor;
}

void st_trainer_measure(st_trainer *t)
{
    uint64_t size = 0, at = 1;
    for (size_t i = 0; i < t->text.range_count; i++)
        while (at < t->text.ranges[i].end) {
            const uint32_t token = t->text.tokens[at];
            size += token == ST_TRAIN_BORDER ? 0 : t->text.ranges[i].count;
            at += token == ST_TRAIN_BORDER ? 1 : t->tokens.widths[token];
        }
    t->size = size;
}

void st_trainer_begin(st_trainer *t, uint64_t least)
{
    t->index.least = at_least_floor(t, least ? least : guess_least(t));
    t->is_stale = 1;
}

/* ---- one merge ---- */

static inline void note(st_train_sides *sides, uint32_t token, uint64_t weight)
{
    st_train_side *side = &sides->by_token[token];
    if (!side->n++)
        sides->seen[sides->seen_count++] = token;
    side->sum += weight;
}

/* The neighbours of a place. */
typedef struct neighbours {
    uint32_t before, behind;
    uint64_t weight;
} neighbours;

/* Places joined before their neighbours are noted, so that the lines that are noted in have time to arrive. */
#define NOTED_AT_ONCE 32

static void note_all(st_trainer *t, const neighbours *found, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (found[i].before != ST_TRAIN_BORDER)
            note(&t->left, found[i].before, found[i].weight);
        if (found[i].behind != ST_TRAIN_BORDER)
            note(&t->right, found[i].behind, found[i].weight);
    }
}

/* Joins the pair wherever it still is, and sums up its neighbours. The list keeps the places where it was; returns how many. This
 * is the inner loop: everything else here runs once a merge. */
static size_t join(st_trainer *t, const st_train_pair *pair, uint32_t joined)
{
    uint32_t *list = t->index.lists + pair->start, *text = t->text.tokens;
    const uint32_t a = st_train_left(pair->key), b = st_train_right(pair->key);
    const uint32_t to_b = t->tokens.widths[a], to_end = to_b + t->tokens.widths[b];
    neighbours found[NOTED_AT_ONCE];
    size_t kept = 0, count = 0;
    uint32_t range = 0;
    for (size_t i = 0; i < pair->n; i++) {
        const uint32_t place = list[i];
        if (i + PLACES_AHEAD < pair->n) {
            st_prefetch(&text[list[i + PLACES_AHEAD]]);
            st_prefetch(&t->text.steps[list[i + PLACES_AHEAD] >> ST_TRAIN_STEP_BITS]);
        }
        if (text[place] != a || text[place + to_b] != b)
            continue;
        const uint32_t before = text[place - 1], behind = text[place + to_end];
        range = st_train_range_of(&t->text, place, range);
        text[place + to_b] = ST_TRAIN_INSIDE;
        text[place] = text[place + to_end - 1] = joined;
        list[kept++] = place;
        if (before != ST_TRAIN_BORDER)
            st_prefetch(&t->left.by_token[before]);
        if (behind != ST_TRAIN_BORDER)
            st_prefetch(&t->right.by_token[behind]);
        found[count++] = (neighbours){before, behind, t->text.ranges[range].count};
        if (count == NOTED_AT_ONCE) {
            note_all(t, found, count);
            count = 0;
        }
    }
    note_all(t, found, count);
    t->work += pair->n;
    return kept;
}

/* Lowers the count of a pair, which has lost so many of its places. */
static void take_away(st_train_index *index, st_train_key key, uint64_t sum)
{
    st_train_pair *pair = st_train_pairs_find(&index->pairs, key);
    if (pair)
        pair->count -= sum;
}

/* Enters a new pair, if it is frequent enough to be known. */
static st_status bring_in(st_trainer *t, st_train_key key, st_train_side *side)
{
    st_train_index *index = &t->index;
    side->place = ST_TRAIN_NO_LIST;
    if (side->sum < index->least || !st_train_may_merge(&t->tokens, st_train_left(key), st_train_right(key)))
        return ST_OK;
    if (side->n > index->list_capacity - index->list_top)
        t->is_stale = 1; /* no room for its list: the search that makes room finds the pair */
    if (t->is_stale)
        return ST_OK;
    st_train_pair *pair = st_train_pairs_add(&index->pairs, key, index->least);
    if (!pair || st_train_queue_reserve(&index->queue, 1))
        return ST_NO_MEMORY;
    *pair = (st_train_pair){key, side->sum, index->list_top, side->n};
    side->place = index->list_top;
    index->list_top += side->n;
    st_train_queue_push(&index->queue, &t->tokens, (st_train_entry){side->sum, key});
    return ST_OK;
}

/* Lowers the counts of the pairs that the merge took apart, and enters those that it made. */
static st_status settle(st_trainer *t, uint32_t a, uint32_t b, uint32_t joined)
{
    /* Where two joined pairs touch, the first half of the second pair was noted as the right neighbour of the first. It is gone. */
    const st_train_side touching = t->left.by_token[joined];
    for (size_t i = 0; i < t->right.seen_count; i++) {
        const uint32_t behind = t->right.seen[i];
        if (i + PAIRS_AHEAD < t->right.seen_count)
            st_train_pairs_prefetch(&t->index.pairs, st_train_key_of(b, t->right.seen[i + PAIRS_AHEAD]));
        if (a != b || behind != a)
            take_away(&t->index, st_train_key_of(b, behind), t->right.by_token[behind].sum);
    }
    t->right.by_token[a].sum -= touching.sum;
    t->right.by_token[a].n -= touching.n;
    for (size_t i = 0; i < t->left.seen_count; i++) {
        const uint32_t before = t->left.seen[i];
        if (i + PAIRS_AHEAD < t->left.seen_count)
            st_train_pairs_prefetch(&t->index.pairs, st_train_key_of(t->left.seen[i + PAIRS_AHEAD], a));
        if (before != joined)
            take_away(&t->index, st_train_key_of(before, a), t->left.by_token[before].sum);
        ST_TRY(bring_in(t, st_train_key_of(before, joined), &t->left.by_token[before]));
    }
    for (size_t i = 0; i < t->right.seen_count; i++) {
        const uint32_t behind = t->right.seen[i];
        ST_TRY(bring_in(t, st_train_key_of(joined, behind), &t->right.by_token[behind]));
    }
    return ST_OK;
}

/* Writes the places of the new pairs to their lists. */
static void fill_lists(st_trainer *t, const uint32_t *list, size_t n, uint32_t joined)
{
    const uint32_t *text = t->text.tokens, *widths = t->tokens.widths, width = widths[joined];
    uint32_t *lists = t->index.lists;
    for (size_t i = 0; i < n; i++) {
        if (i + PLACES_AHEAD < n)
            st_prefetch(&text[list[i + PLACES_AHEAD]]);
        const uint32_t before = text[list[i] - 1], behind = text[list[i] + width];
        if (before != ST_TRAIN_BORDER && t->left.by_token[before].place != ST_TRAIN_NO_LIST)
            lists[t->left.by_token[before].place++] = list[i] - widths[before];
        if (behind != ST_TRAIN_BORDER && behind != joined && t->right.by_token[behind].place != ST_TRAIN_NO_LIST)
            lists[t->right.by_token[behind].place++] = list[i];
    }
}

/* How often the places that were joined stand in the text. The count of a pair of one token twice holds overlapping places, too. */
static uint64_t joined_count(const st_trainer *t, const st_train_pair *pair, size_t n)
{
    const uint32_t *list = t->index.lists + pair->start;
    uint64_t count = 0;
    uint32_t range = 0;
    if (st_train_left(pair->key) != st_train_right(pair->key))
        return pair->count;
    for (size_t i = 0; i < n; i++) {
        range = st_train_range_of(&t->text, list[i], range);
        count += t->text.ranges[range].count;
    }
    return count;
}

static void forget(st_train_sides *sides)
{
    for (size_t i = 0; i < sides->seen_count; i++)
        memset(&sides->by_token[sides->seen[i]], 0, sizeof *sides->by_token);
    sides->seen_count = 0;
}

static st_status merge(st_trainer *t, st_train_pair *entry)
{
    const st_train_pair pair = *entry; /* the table may move */
    const uint32_t joined = (uint32_t)t->tokens.count;
    const size_t top = t->index.list_top;
    entry->count = entry->n = 0;
    ST_TRY(st_train_tokens_add(&t->tokens, pair.key));
    const size_t n = join(t, &pair, joined);
    t->size -= joined_count(t, &pair, n);
    ST_TRY(settle(t, st_train_left(pair.key), st_train_right(pair.key), joined));
    if (t->index.list_top > top && !t->is_stale)
        fill_lists(t, t->index.lists + pair.start, n, joined);
    forget(&t->left);
    forget(&t->right);
    t->last_count = pair.count;
    return ST_OK;
}

/* ---- the choice ---- */

/* The best pair, which stays in the queue; NULL: the queue is empty. */
static st_train_pair *choose(st_train_index *index, const st_train_tokens *tokens)
{
    st_train_queue *queue = &index->queue;
    while (queue->count) {
        const st_train_entry top = queue->entries[0];
        st_train_pair *pair = st_train_pairs_find(&index->pairs, top.key);
        if (!pair || pair->count < index->least) {
            st_train_queue_pop(queue, tokens);
        } else if (pair->count < top.count) {
            st_train_queue_lower(queue, tokens, pair->count);
        } else {
            return pair;
        }
    }
    return NULL;
}

/* The same, from the text where no pair is known that is frequent enough; *found is NULL: none is left. */
static st_status best(st_trainer *t, st_train_pair **found)
{
    for (;;) {
        if (t->is_stale) {
            ST_TRY(st_train_index_build(&t->index, &t->text, &t->tokens));
            t->is_stale = 0;
        }
        *found = choose(&t->index, &t->tokens);
        if (*found || t->index.least <= t->index.floor)
            return ST_OK;
        t->index.least = at_least_floor(t, t->index.least >> STEP);
        t->is_stale = 1;
    }
}

st_status st_trainer_run(st_trainer *t, size_t merges, uint64_t work)
{
    const size_t stop = t->wanted - t->tokens.count > merges ? t->tokens.count + merges : t->wanted;
    work += t->work + t->index.searched;
    while (t->tokens.count < stop && t->work + t->index.searched < work) {
        st_train_pair *pair;
        ST_TRY(best(t, &pair));
        if (!pair) {
            t->done = 1;
            return ST_OK;
        }
        st_train_queue_pop(&t->index.queue, &t->tokens);
        ST_TRY(merge(t, pair));
    }
    t->done = t->tokens.count >= t->wanted;
    return ST_OK;
}

/* ---- merges that others choose ---- */

st_status st_trainer_best(st_trainer *t, st_train_key *pair, uint64_t *count)
{
    st_train_pair *found;
    ST_TRY(best(t, &found));
    *pair = found ? found->key : ST_TRAIN_NO_PAIR;
    *count = found ? found->count : 0;
    return ST_OK;
}

st_status st_trainer_merge(st_trainer *t, st_train_key key)
{
    if (t->is_stale) {
        ST_TRY(st_train_index_build(&t->index, &t->text, &t->tokens));
        t->is_stale = 0;
    }
    st_train_pair *pair = st_train_pairs_find(&t->index.pairs, key);
    return pair ? merge(t, pair) : st_train_tokens_add(&t->tokens, key);
}
