#include "vocab/merge_work.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/sort.h"
#include "base/string_table.h"
#include "pairs/merge_reference.h"
#include "pairs/merge_short.h"

/* What finding one token's canonical merge by merging its bytes takes. */
typedef struct scratch {
    uint32_t *starts; /* token -> its bytes; one more for the end */
    st_reference_scratch reference;
    st_ids parts;
} scratch;

static void release_scratch(scratch *s)
{
    st_free(s->starts);
    st_reference_scratch_free(&s->reference);
    st_ids_free(&s->parts);
}

static st_status prepare_scratch(const st_merge_list *list, scratch *s)
{
    s->starts = st_malloc((list->count + 1) * sizeof *s->starts);
    if (!s->starts || st_ids_reserve(&s->parts, ST_SHORT_MERGE))
        return ST_NO_MEMORY;
    s->starts[0] = 0;
    for (size_t t = 0; t < list->count; t++)
        s->starts[t + 1] = s->starts[t] + list->lengths[t];
    return ST_OK;
}

/* Merges a token's bytes, which do not make the token so far. */
static st_status merge_bytes(const st_merge_work *w, scratch *s, uint32_t token)
{
    const uint8_t *bytes = w->list->bytes + s->starts[token];
    const size_t n = w->list->lengths[token];
    s->parts.size = 0;
    if (n > ST_SHORT_MERGE)
        return st_reference_merge(&w->pairs, bytes, n, &s->reference, &s->parts);
    s->parts.size = st_merge_short(&w->pairs, bytes, n, s->parts.data);
    return st_go_on(n * MERGE_COSTS);
}

/* Whether the parts that merging left are those of this merge. */
static int are_parts(const st_merge_work *w, const scratch *s, size_t merge)
{
    return s->parts.size == 2 && w->symbol_of[w->list->left[merge]] == s->parts.data[0] &&
           w->symbol_of[w->list->right[merge]] == s->parts.data[1];
}

/* ---- any list: tokens by their length ---- */

/* Places of the tokens that merges may make, the shortest first. The caller frees the order, also without memory. */
static st_status sort_by_length(const st_merge_list *list, uint32_t **order, size_t *count)
{
    *count = 0;
    *order = st_malloc((list->count + 1) * sizeof **order);
    if (!*order)
        return ST_NO_MEMORY;
    ST_TRY(st_sort_by_key(*order, list->lengths, list->count));
    for (size_t i = 0; i < list->count; i++)
        if (list->kinds[(*order)[i]] == ST_TOKEN_MADE)
            (*order)[(*count)++] = (*order)[i];
    return ST_OK;
}

typedef struct any_list {
    uint32_t *first, *merges_of; /* st_merges_by_token */
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

static st_status prepare_any(const st_merge_work *w, any_list *a)
{
    const st_merge_list *list = w->list;
    ST_TRY(st_merges_by_token(list, &a->first, &a->merges_of));
    ST_TRY(sort_by_length(list, &a->order, &a->count));
    a->canonical = st_malloc((list->count + 1) * sizeof *a->canonical);
    return a->canonical ? ST_OK : ST_NO_MEMORY;
}

/* The canonical merge of a token when the pairs of all shorter tokens are known; ST_NONE: its bytes do not give it. */
static st_status find_canonical(const st_merge_work *w, any_list *a, scratch *s, uint32_t token)
{
    ST_TRY(merge_bytes(w, s, token));
    a->canonical[token] = ST_NONE;
    for (uint32_t i = a->first[token]; s->parts.size == 2 && i < a->first[token + 1]; i++)
        if (are_parts(w, s, a->merges_of[i]))
            a->canonical[token] = a->merges_of[i]; /* the last of equal ones */
    return ST_OK;
}

/* ---- what the one pass has missed ---- */

/* Marks the tokens not made that have a merge of two tokens that are, one of them made behind it. Returns how many tokens that merges
 * may make are not made; 0 where none is marked. */
static size_t mark_missed(const st_merge_work *w, uint8_t *marks)
{
    const st_merge_list *list = w->list;
    size_t marked = 0, count = 0;
    for (size_t m = 0; m < list->merges; m++) {
        const uint32_t made = list->made[m], left = w->symbol_of[list->left[m]], right = w->symbol_of[list->right[m]];
        if (w->symbol_of[made] != ST_NONE || left == ST_NONE || right == ST_NONE || (w->replaced && w->replaced[m]))
            continue;
        if (left < w->starts + m && right < w->starts + m)
            continue; /* both were made before its turn, so it was looked at */
        marks[made] = 1;
        marked++;
    }
    for (size_t t = 0; t < list->count && marked; t++)
        count += list->kinds[t] == ST_TOKEN_MADE && w->symbol_of[t] == ST_NONE;
    return count;
}

/* Tokens that the one pass has missed. */
typedef struct missed {
    uint8_t *marks; /* of each token: it may be one */
    st_string_table found;
    st_ids lengths; /* of those found, each once, ascending */
    uint64_t begins[1 << 10]; /* a bit for each pair of bytes: whether one of those found begins with it */
} missed;

static void release_missed(missed *x)
{
    st_free(x->marks);
    st_string_table_free(&x->found);
    st_ids_free(&x->lengths);
}

static int begins_one(const missed *x, const uint8_t *bytes)
{
    return x->begins[(size_t)bytes[0] << 2 | bytes[1] >> 6] >> (bytes[1] & 63) & 1;
}

/* Whether a token holds one of those found, which have two bytes at least. */
static int holds_missed(const st_merge_work *w, const scratch *s, const missed *x, uint32_t token)
{
    const uint8_t *bytes = w->list->bytes + s->starts[token];
    const size_t n = w->list->lengths[token];
    for (size_t at = 0; at + 2 <= n; at++) {
        if (!begins_one(x, bytes + at))
            continue;
        for (size_t i = 0; i < x->lengths.size && x->lengths.data[i] < n && x->lengths.data[i] <= n - at; i++) {
            const size_t size = x->lengths.data[i];
            const uint64_t hash = st_hash_span(bytes + at, size);
            if (st_string_find(&x->found, w->list->bytes, s->starts, hash, bytes + at, size) != ST_NONE)
                return 1;
        }
    }
    return 0;
}

static st_status enter_missed(const st_merge_work *w, const scratch *s, missed *x, uint32_t token)
{
    const uint32_t n = w->list->lengths[token];
    const uint8_t *bytes = w->list->bytes + s->starts[token];
    x->begins[(size_t)bytes[0] << 2 | bytes[1] >> 6] |= (uint64_t)1 << (bytes[1] & 63);
    st_string_add(&x->found, st_hash_span(bytes, n), token);
    if (x->lengths.size && x->lengths.data[x->lengths.size - 1] == n)
        return ST_OK;
    ST_TRY(st_ids_reserve(&x->lengths, 1));
    x->lengths.data[x->lengths.size++] = n;
    return ST_OK;
}

/* Makes what was missed, the shortest first. What the one pass says of a token is right unless the token was marked or holds one that
 * was missed: else merging its bytes never looks at a pair that was. *all = 0: a token has another pair, so all have to be found anew. */
static st_status make_missed(st_merge_work *w, any_list *a, scratch *s, missed *x, int *all)
{
    *all = 1;
    for (size_t i = 0; i < a->count; i++) {
        const uint32_t token = a->order[i];
        ST_TRY(st_go_on(w->list->lengths[token]));
        if (!x->marks[token] && !holds_missed(w, s, x, token))
            continue;
        ST_TRY(find_canonical(w, a, s, token));
        if (s->parts.size == 1)
            continue; /* made by the pair that was found */
        if (w->symbol_of[token] != ST_NONE) {
            *all = 0;
            return ST_OK;
        }
        if (a->canonical[token] == ST_NONE)
            continue;
        st_merge_make(w, a->canonical[token]);
        ST_TRY(enter_missed(w, s, x, token));
    }
    return ST_OK;
}

static st_status add_missed(st_merge_work *w, any_list *a, scratch *s, missed *x, int *in_order, int *all)
{
    *in_order = *all = 1;
    x->marks = st_calloc(w->list->count + 1, 1);
    if (!x->marks)
        return ST_NO_MEMORY;
    const size_t count = mark_missed(w, x->marks);
    if (!count)
        return ST_OK;
    ST_TRY(prepare_any(w, a));
    ST_TRY(st_string_table_init(&x->found, 4 * count));
    ST_TRY(make_missed(w, a, s, x, all));
    *in_order = *all && x->lengths.size == 0;
    return ST_OK;
}

/* ---- any list ---- */

static st_status make_by_length(st_merge_work *w, any_list *a, scratch *s)
{
    const uint32_t *lengths = w->list->lengths;
    for (size_t from = 0, end; from < a->count; from = end) {
        for (end = from; end < a->count && lengths[a->order[end]] == lengths[a->order[from]]; end++)
            ST_TRY(find_canonical(w, a, s, a->order[end]));
        for (size_t i = from; i < end; i++)
            if (a->canonical[a->order[i]] != ST_NONE)
                st_merge_make(w, a->canonical[a->order[i]]);
    }
    return ST_OK;
}

static st_status make_any(st_merge_work *w, any_list *a, scratch *s)
{
    st_pairs_free(&w->pairs);
    ST_TRY(st_pairs_init(&w->pairs, w->list->count, 0));
    st_merge_begin(w);
    return make_by_length(w, a, s);
}

st_status st_merge_rest(st_merge_work *w, int *in_order)
{
    any_list a = {0};
    missed x = {0};
    scratch s = {0};
    int all = 1;
    st_status status = prepare_scratch(w->list, &s);
    if (!status)
        status = add_missed(w, &a, &s, &x, in_order, &all);
    if (!status && !all)
        status = make_any(w, &a, &s);
    release_scratch(&s);
    release_missed(&x);
    release_any(&a);
    return status;
}
