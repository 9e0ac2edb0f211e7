#include "vocab/merge_list.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "pairs/merge_reference.h"
#include "pairs/merge_short.h"
#include "vocab/vocab.h"

/* A SYMBOL is what a merge joins. Start symbols come first, in the order of their tokens' places. The token that merge number m
 * makes is the symbol starts + m, so the smaller of two such symbols merges first. */
typedef struct work {
    const st_merge_list *list;
    uint32_t starts;      /* start symbols */
    uint32_t *symbol_of;  /* token -> symbol, ST_NONE: not made so far */
    uint32_t *left_of;    /* symbol -> its parts; ST_NONE for start symbols */
    uint32_t *right_of;
    uint8_t *replaced;    /* NULL, or whether a merge stands in the list again: then only the last place counts */
    st_pairs pairs;       /* of symbols; `merged` is a symbol, too */
} work;

/* Work of looking at a merge or a token, in the unit of st_go_on (base/interrupt.h). */
#define MERGE_COSTS 32

/* Merges between two calls of st_go_on. */
#define STEP 256

static void release(work *w)
{
    st_free(w->symbol_of);
    st_free(w->left_of);
    st_free(w->right_of);
    st_free(w->replaced);
    st_pairs_free(&w->pairs);
}

static st_status prepare(work *w)
{
    const st_merge_list *list = w->list;
    uint32_t starts = 0;
    for (size_t t = 0; t < list->count; t++)
        starts += list->kinds[t] == ST_TOKEN_START;
    if (list->count > ST_MAX_TOKENS || list->merges >= ST_MAX_TOKENS - starts)
        return ST_TOO_MANY_TOKENS;
    const size_t symbols = starts + list->merges;
    w->starts = starts;
    w->symbol_of = st_malloc((list->count + 1) * sizeof *w->symbol_of);
    w->left_of = st_malloc((symbols + 1) * sizeof *w->left_of);
    w->right_of = st_malloc((symbols + 1) * sizeof *w->right_of);
    if (!w->symbol_of || !w->left_of || !w->right_of)
        return ST_NO_MEMORY;
    return st_pairs_init(&w->pairs, list->count, 0);
}

/* Only start symbols are there. */
static void begin(work *w)
{
    const st_merge_list *list = w->list;
    const uint8_t *bytes = list->bytes;
    uint32_t symbol = 0;
    memset(w->left_of, 0xff, w->starts * sizeof *w->left_of);
    for (size_t t = 0; t < list->count; bytes += list->lengths[t++]) {
        w->symbol_of[t] = ST_NONE;
        if (list->kinds[t] != ST_TOKEN_START)
            continue;
        w->pairs.byte_token[*bytes] = symbol;
        w->symbol_of[t] = symbol++;
    }
}

static void make(work *w, size_t merge)
{
    const uint32_t symbol = w->starts + (uint32_t)merge;
    const uint32_t left = w->symbol_of[w->list->left[merge]], right = w->symbol_of[w->list->right[merge]];
    w->left_of[symbol] = left;
    w->right_of[symbol] = right;
    w->symbol_of[w->list->made[merge]] = symbol;
    st_pairs_insert(&w->pairs, left, right, symbol);
}

/* ---- merges that stand in the list several times ---- */

/* Lists the merges that make each token: those of token t are merges_of[first[t]..first[t + 1]), in their order. */
static st_status group_by_token(const st_merge_list *list, uint32_t **first, uint32_t **merges_of)
{
    *first = st_calloc(list->count + 2, sizeof **first);
    *merges_of = st_malloc((list->merges + 1) * sizeof **merges_of);
    if (!*first || !*merges_of)
        return ST_NO_MEMORY; /* the caller frees both */
    for (size_t m = 0; m < list->merges; m++)
        (*first)[list->made[m] + 2]++;
    for (size_t t = 2; t <= list->count + 1; t++)
        (*first)[t] += (*first)[t - 1];
    for (size_t m = 0; m < list->merges; m++)
        (*merges_of)[(*first)[list->made[m] + 1]++] = (uint32_t)m;
    return st_go_on(list->merges);
}

/* Whether some merge may stand in the list twice. Two merges that make one token are the same if their left parts have the same
 * length; this looks at the length modulo 64. */
static st_status may_repeat(const st_merge_list *list, int *answer)
{
    uint64_t *seen = st_calloc(list->count + 1, sizeof *seen);
    if (!seen)
        return ST_NO_MEMORY;
    *answer = 0;
    for (size_t m = 0; m < list->merges; m++) {
        const uint64_t bit = (uint64_t)1 << (list->lengths[list->left[m]] & 63);
        *answer |= (seen[list->made[m]] & bit) != 0;
        seen[list->made[m]] |= bit;
    }
    st_free(seen);
    return st_go_on(list->merges);
}

static st_status mark_replaced(work *w, const uint32_t *first, const uint32_t *merges_of)
{
    const st_merge_list *list = w->list;
    size_t longest = 0;
    for (size_t t = 0; t < list->count; t++)
        longest = list->lengths[t] > longest ? list->lengths[t] : longest;
    uint32_t *seen_for = st_calloc(longest + 1, sizeof *seen_for); /* by the length of the left part: 1 + token */
    w->replaced = st_calloc(list->merges + 1, 1);
    if (!seen_for || !w->replaced) {
        st_free(seen_for);
        return ST_NO_MEMORY;
    }
    for (size_t t = 0; t < list->count; t++)
        for (size_t i = first[t + 1]; i > first[t]; i--) {
            uint32_t *seen = &seen_for[list->lengths[list->left[merges_of[i - 1]]]];
            w->replaced[merges_of[i - 1]] = *seen == t + 1;
            *seen = (uint32_t)t + 1;
        }
    st_free(seen_for);
    return st_go_on(list->merges);
}

static st_status find_replaced(work *w)
{
    int answer = 0;
    uint32_t *first = NULL, *merges_of = NULL;
    ST_TRY(may_repeat(w->list, &answer));
    if (!answer)
        return ST_OK;
    st_status status = group_by_token(w->list, &first, &merges_of);
    if (!status)
        status = mark_replaced(w, first, merges_of);
    st_free(first);
    st_free(merges_of);
    return status;
}

/* ---- lists in order ---- */

/* Whether a pair across the border of two symbols merges before both are made. Undoes the latest merge again and again. */
static int is_crossed(const work *w, uint32_t left, uint32_t right)
{
    uint32_t limit = 0; /* a pair across the border with a symbol below this would have merged first */
    for (;;) {
        if (st_pairs_find(&w->pairs, left, right) < limit)
            return 1;
        const int left_starts = left < w->starts, right_starts = right < w->starts;
        if (left_starts && right_starts)
            return 0;
        if (right_starts || (!left_starts && left > right)) {
            limit = left;
            left = w->right_of[left];
        } else {
            limit = right + 1; /* of equal symbols the one on the right was made later */
            right = w->left_of[right];
        }
    }
}

static st_status make_in_order(work *w)
{
    const st_merge_list *list = w->list;
    begin(w);
    for (size_t m = 0; m < list->merges; m++) {
        if (m % STEP == STEP - 1)
            ST_TRY(st_go_on(STEP * MERGE_COSTS));
        const uint32_t left = w->symbol_of[list->left[m]], right = w->symbol_of[list->right[m]];
        if (w->symbol_of[list->made[m]] != ST_NONE || left == ST_NONE || right == ST_NONE)
            continue;
        if ((!w->replaced || !w->replaced[m]) && !is_crossed(w, left, right))
            make(w, m);
    }
    return ST_OK;
}

/* What finding one token's canonical merge by merging its bytes takes. */
typedef struct scratch {
    size_t *at; /* token -> its bytes */
    st_reference_scratch reference;
    st_ids parts;
} scratch;

static void release_scratch(scratch *s)
{
    st_free(s->at);
    st_reference_scratch_free(&s->reference);
    st_ids_free(&s->parts);
}

static st_status prepare_scratch(const st_merge_list *list, scratch *s)
{
    s->at = st_malloc((list->count + 1) * sizeof *s->at);
    if (!s->at || st_ids_reserve(&s->parts, ST_SHORT_MERGE))
        return ST_NO_MEMORY;
    size_t at = 0;
    for (size_t t = 0; t < list->count; at += list->lengths[t++])
        s->at[t] = at;
    return ST_OK;
}

/* Merges a token's bytes, which do not make the token so far. */
static st_status merge_bytes(const work *w, scratch *s, uint32_t token)
{
    const uint8_t *bytes = w->list->bytes + s->at[token];
    const size_t n = w->list->lengths[token];
    s->parts.size = 0;
    if (n > ST_SHORT_MERGE)
        return st_reference_merge(&w->pairs, bytes, n, &s->reference, &s->parts);
    s->parts.size = st_merge_short(&w->pairs, bytes, n, s->parts.data);
    return st_go_on(n * MERGE_COSTS);
}

/* Whether the parts that merging left are those of this merge. */
static int are_parts(const work *w, const scratch *s, size_t merge)
{
    return s->parts.size == 2 && w->symbol_of[w->list->left[merge]] == s->parts.data[0] &&
           w->symbol_of[w->list->right[merge]] == s->parts.data[1];
}

/* Whether the one pass has missed no canonical merge: looks at the tokens not made that have a merge of two tokens that are. */
static st_status check_order(const work *w, scratch *s, int *in_order)
{
    const st_merge_list *list = w->list;
    *in_order = 1;
    for (size_t m = 0; m < list->merges && *in_order; m++) {
        const uint32_t made = list->made[m], left = w->symbol_of[list->left[m]], right = w->symbol_of[list->right[m]];
        if (w->symbol_of[made] != ST_NONE || left == ST_NONE || right == ST_NONE || (w->replaced && w->replaced[m]))
            continue;
        if (left < w->starts + m && right < w->starts + m)
            continue; /* both were made before its turn, so it was looked at */
        ST_TRY(merge_bytes(w, s, made));
        *in_order = !are_parts(w, s, m);
    }
    return ST_OK;
}

/* ---- any list ---- */

/* Places of the tokens that merges may make, the shortest first. */
static st_status sort_by_length(const st_merge_list *list, uint32_t **order, size_t *count)
{
    size_t longest = 0, total = 0;
    for (size_t t = 0; t < list->count; t++)
        longest = list->lengths[t] > longest ? list->lengths[t] : longest;
    size_t *place = st_calloc(longest + 2, sizeof *place);
    *order = st_malloc((list->count + 1) * sizeof **order);
    if (!place || !*order) {
        st_free(place);
        return ST_NO_MEMORY; /* the caller frees the order */
    }
    for (size_t t = 0; t < list->count; t++)
        place[list->lengths[t] + 1] += list->kinds[t] == ST_TOKEN_MADE;
    for (size_t n = 1; n <= longest + 1; n++)
        total = place[n] += place[n - 1];
    for (size_t t = 0; t < list->count; t++)
        if (list->kinds[t] == ST_TOKEN_MADE)
            (*order)[place[list->lengths[t]]++] = (uint32_t)t;
    *count = total;
    st_free(place);
    return ST_OK;
}

typedef struct any_list {
    uint32_t *first, *merges_of; /* group_by_token */
    uint32_t *order;
    size_t count;
    uint32_t *canonical; /* token -> its canonical merge, or ST_NONE */
} any_list;

static void release_any(any_list *a)
{
    st_free(a->first);
    st_free(a->merges_of);
    st_free(a->order);
    st_free(a->canonical);
}

static st_status prepare_any(const work *w, any_list *a)
{
    const st_merge_list *list = w->list;
    ST_TRY(group_by_token(list, &a->first, &a->merges_of));
    ST_TRY(sort_by_length(list, &a->order, &a->count));
    a->canonical = st_malloc((list->count + 1) * sizeof *a->canonical);
    return a->canonical ? ST_OK : ST_NO_MEMORY;
}

/* The canonical merge of a token when the pairs of all shorter tokens are known; ST_NONE: its bytes do not give it. */
static st_status find_canonical(const work *w, any_list *a, scratch *s, uint32_t token)
{
    ST_TRY(merge_bytes(w, s, token));
    a->canonical[token] = ST_NONE;
    for (uint32_t i = a->first[token]; s->parts.size == 2 && i < a->first[token + 1]; i++)
        if (are_parts(w, s, a->merges_of[i]))
            a->canonical[token] = a->merges_of[i]; /* the last of equal ones */
    return ST_OK;
}

static st_status make_by_length(work *w, any_list *a, scratch *s)
{
    const uint32_t *lengths = w->list->lengths;
    for (size_t from = 0, end; from < a->count; from = end) {
        for (end = from; end < a->count && lengths[a->order[end]] == lengths[a->order[from]]; end++)
            ST_TRY(find_canonical(w, a, s, a->order[end]));
        for (size_t i = from; i < end; i++)
            if (a->canonical[a->order[i]] != ST_NONE)
                make(w, a->canonical[a->order[i]]);
    }
    return ST_OK;
}

static st_status make_any(work *w, scratch *s)
{
    any_list a = {0};
    st_pairs_free(&w->pairs);
    st_status status = st_pairs_init(&w->pairs, w->list->count, 0);
    if (!status)
        status = prepare_any(w, &a);
    if (!status) {
        begin(w);
        status = make_by_length(w, &a, s);
    }
    release_any(&a);
    return status;
}

/* ---- the order ---- */

/* Sorts places by their ids, a byte of the id at a time. */
static st_status sort_by_id(const st_merge_list *list, uint32_t *order)
{
    const size_t n = list->count;
    size_t sorted = 1;
    for (size_t t = 0; t < n; t++)
        order[t] = (uint32_t)t;
    while (sorted < n && list->ids[sorted - 1] < list->ids[sorted])
        sorted++;
    if (sorted >= n)
        return ST_OK;
    uint32_t *other = st_malloc(n * sizeof *other);
    if (!other)
        return ST_NO_MEMORY;
    for (unsigned shift = 0; shift < 32; shift += 8) { /* an even number of times, so the result is in `order` */
        size_t places[257] = {0};
        uint32_t *from = shift % 16 ? other : order, *to = shift % 16 ? order : other;
        for (size_t t = 0; t < n; t++)
            places[(list->ids[t] >> shift & 255) + 1]++;
        for (size_t value = 0; value < 256; value++)
            places[value + 1] += places[value];
        for (size_t i = 0; i < n; i++)
            to[places[list->ids[from[i]] >> shift & 255]++] = from[i];
    }
    st_free(other);
    return st_go_on(8 * n);
}

static int is_made(const work *w, uint32_t token)
{
    return w->symbol_of[token] != ST_NONE && w->symbol_of[token] >= w->starts;
}

/* Whether the merges stand in the order of the ids of what they make. */
static int are_ascending(const work *w, const uint32_t *order)
{
    uint32_t last = 0;
    for (size_t i = 0; i < w->list->count; i++) {
        if (!is_made(w, order[i]))
            continue;
        if (w->symbol_of[order[i]] < last)
            return 0;
        last = w->symbol_of[order[i]];
    }
    return 1;
}

/* Puts start symbols first, then tokens in the order of their merges, then all others. */
static st_status sort_by_merge(const work *w, uint32_t *order)
{
    const st_merge_list *list = w->list;
    uint32_t *by_id = st_malloc((list->count + 1) * sizeof *by_id);
    size_t at = 0;
    if (!by_id)
        return ST_NO_MEMORY;
    memcpy(by_id, order, list->count * sizeof *by_id);
    for (size_t i = 0; i < list->count; i++)
        if (w->symbol_of[by_id[i]] < w->starts)
            order[at++] = by_id[i];
    for (size_t m = 0; m < list->merges; m++)
        if (w->symbol_of[list->made[m]] == w->starts + m)
            order[at++] = list->made[m];
    for (size_t i = 0; i < list->count; i++)
        if (w->symbol_of[by_id[i]] == ST_NONE)
            order[at++] = by_id[i];
    st_free(by_id);
    return st_go_on(list->merges);
}

static void write_splits(const work *w, const uint32_t *order, uint32_t *splits)
{
    const st_merge_list *list = w->list;
    for (size_t i = 0; i < list->count; i++) {
        splits[i] = list->kinds[order[i]] == ST_TOKEN_SILENT ? ST_SILENT : 0;
        if (is_made(w, order[i]))
            splits[i] = list->lengths[list->left[w->symbol_of[order[i]] - w->starts]];
    }
}

/* Finds the canonical merges. */
static st_status make_all(work *w, scratch *s, int *in_order)
{
    ST_TRY(prepare(w));
    ST_TRY(prepare_scratch(w->list, s));
    ST_TRY(find_replaced(w));
    ST_TRY(make_in_order(w));
    ST_TRY(check_order(w, s, in_order));
    return *in_order ? ST_OK : make_any(w, s);
}

st_status st_merge_list_order(const st_merge_list *list, uint32_t *order, uint32_t *splits, int *in_order)
{
    work w = {.list = list};
    scratch s = {0};
    st_status status = make_all(&w, &s, in_order);
    if (!status)
        status = sort_by_id(list, order);
    if (!status && !are_ascending(&w, order))
        status = sort_by_merge(&w, order);
    if (!status)
        write_splits(&w, order, splits);
    release_scratch(&s);
    release(&w);
    return status;
}
