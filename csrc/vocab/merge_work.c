#include "vocab/merge_work.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "vocab/vocab.h"

void st_merge_begin(st_merge_work *w)
{
    const st_merge_list *list = w->list;
    const uint8_t *bytes = list->bytes;
    uint32_t symbol = 0;
    memset(w->left_of, 0xff, w->starts * sizeof *w->left_of);
    memset(w->right_of, 0xff, w->starts * sizeof *w->right_of);
    for (size_t t = 0; t < list->count; bytes += list->lengths[t++]) {
        w->symbol_of[t] = ST_NONE;
        if (list->kinds[t] != ST_TOKEN_START)
            continue;
        w->pairs.byte_token[*bytes] = symbol;
        w->symbol_of[t] = symbol++;
    }
}

void st_merge_make(st_merge_work *w, size_t merge)
{
    const uint32_t symbol = w->starts + (uint32_t)merge;
    const uint32_t left = w->symbol_of[w->list->left[merge]], right = w->symbol_of[w->list->right[merge]];
    w->left_of[symbol] = left;
    w->right_of[symbol] = right;
    w->symbol_of[w->list->made[merge]] = symbol;
    st_pairs_insert(&w->pairs, left, right, symbol);
}

st_status st_merges_by_token(const st_merge_list *list, uint32_t **first, uint32_t **merges_of)
{
    *first = st_calloc(list->count + 2, sizeof **first);
    *merges_of = st_malloc((list->merges + 1) * sizeof **merges_of);
    if (!*first || !*merges_of)
        return ST_NO_MEMORY;
    for (size_t m = 0; m < list->merges; m++)
        (*first)[list->made[m] + 2]++;
    for (size_t t = 2; t <= list->count + 1; t++)
        (*first)[t] += (*first)[t - 1];
    for (size_t m = 0; m < list->merges; m++)
        (*merges_of)[(*first)[list->made[m] + 1]++] = (uint32_t)m;
    return st_go_on(list->merges);
}
