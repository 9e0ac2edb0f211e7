#include "vocab/merge_list.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/prefetch.h"
#include "base/sort.h"
#include "vocab/merge_work.h"
#include "vocab/vocab.h"

/* Merges between two calls of st_go_on. */
#define STEP 256

static void release(st_merge_work *w)
{
    st_free(w->symbol_of);
    st_free(w->left_of);
    st_free(w->right_of);
    st_free(w->replaced);
    st_pairs_free(&w->pairs);
}

static st_status prepare(st_merge_work *w)
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

/* ---- merges that stand in the list several times ---- */

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

static st_status mark_replaced(st_merge_work *w, const uint32_t *first, const uint32_t *merges_of)
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

static st_status find_replaced(st_merge_work *w)
{
    int answer = 0;
    uint32_t *first = NULL, *merges_of = NULL;
    ST_TRY(may_repeat(w->list, &answer));
    if (!answer)
        return ST_OK;
    st_status status = st_merges_by_token(w->list, &first, &merges_of);
    if (!status)
        status = mark_replaced(w, first, merges_of);
    st_free(first);
    st_free(merges_of);
    return status;
}

/* ---- lists in order ---- */

/* The buckets of a merge are prefetched so many merges before its turn. */
#define MERGES_AHEAD 16

/* Prefetches where the merge will be entered, and what st_pairs_cross looks at first. */
static void expect_merge(const st_merge_work *w, size_t m)
{
    const uint32_t left = w->symbol_of[w->list->left[m]], right = w->symbol_of[w->list->right[m]];
    if (left == ST_NONE || right == ST_NONE || w->symbol_of[w->list->made[m]] != ST_NONE)
        return;
    st_prefetch(st_pairs_place(&w->pairs, left, right));
    if (left > right && w->right_of[left] != ST_NONE)
        st_prefetch(st_pairs_place(&w->pairs, w->right_of[left], right));
    else if (w->left_of[right] != ST_NONE)
        st_prefetch(st_pairs_place(&w->pairs, left, w->left_of[right]));
}

static st_status make_in_order(st_merge_work *w)
{
    const st_merge_list *list = w->list;
    st_merge_begin(w);
    for (size_t m = 0; m < list->merges; m++) {
        if (m + MERGES_AHEAD < list->merges)
            expect_merge(w, m + MERGES_AHEAD);
        if (m % STEP == STEP - 1)
            ST_TRY(st_go_on(STEP * MERGE_COSTS));
        const uint32_t left = w->symbol_of[list->left[m]], right = w->symbol_of[list->right[m]];
        if (w->symbol_of[list->made[m]] != ST_NONE || left == ST_NONE || right == ST_NONE)
            continue;
        if ((!w->replaced || !w->replaced[m]) && !st_pairs_cross(&w->pairs, w->left_of, w->right_of, left, right, 0))
            st_merge_make(w, m);
    }
    return ST_OK;
}

/* ---- the order ---- */

static int is_made(const st_merge_work *w, uint32_t token)
{
    return w->symbol_of[token] != ST_NONE && w->symbol_of[token] >= w->starts;
}

/* Whether the merges stand in the order of the ids of what they make. */
static int are_ascending(const st_merge_work *w, const uint32_t *order)
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
static st_status sort_by_merge(const st_merge_work *w, uint32_t *order)
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

static void write_splits(const st_merge_work *w, const uint32_t *order, uint32_t *splits)
{
    const st_merge_list *list = w->list;
    for (size_t i = 0; i < list->count; i++) {
        splits[i] = list->kinds[order[i]] == ST_TOKEN_SILENT ? ST_SILENT : 0;
        if (is_made(w, order[i]))
            splits[i] = list->lengths[list->left[w->symbol_of[order[i]] - w->starts]];
    }
}

/* Finds the canonical merges. */
static st_status make_all(st_merge_work *w, int *in_order)
{
    ST_TRY(prepare(w));
    ST_TRY(find_replaced(w));
    ST_TRY(make_in_order(w));
    return st_merge_rest(w, in_order);
}

st_status st_merge_list_order(const st_merge_list *list, uint32_t *order, uint32_t *splits, int *in_order)
{
    st_merge_work w = {.list = list};
    st_status status = make_all(&w, in_order);
    if (!status)
        status = st_sort_by_key(order, list->ids, list->count);
    if (!status && !are_ascending(&w, order))
        status = sort_by_merge(&w, order);
    if (!status)
        write_splits(&w, order, splits);
    release(&w);
    return status;
}
