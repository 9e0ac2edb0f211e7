/* merge_work.h - what merge_list.c and merge_rest.c share. Both find canonical merges (merge_list.h). */
#ifndef ST_VOCAB_MERGE_WORK_H
#define ST_VOCAB_MERGE_WORK_H

#include "pairs/pair_table.h"
#include "vocab/merge_source.h"

/* A SYMBOL is what a merge joins. Start symbols come first, in the order of their tokens' places. The token that merge number m
 * makes is the symbol starts + m, so the smaller of two such symbols merges first. */
typedef struct st_merge_work {
    const st_merge_list *list;
    uint32_t starts;      /* start symbols */
    uint32_t *symbol_of;  /* token -> symbol, ST_NONE: not made so far */
    uint32_t *left_of;    /* symbol -> its parts; ST_NONE for start symbols */
    uint32_t *right_of;
    uint8_t *replaced;    /* NULL, or whether a merge stands in the list again: then only the last place counts */
    st_pairs pairs;       /* of symbols; `merged` is a symbol, too */
} st_merge_work;

/* Work of looking at a merge or a token, in the unit of st_go_on (base/interrupt.h). */
#define MERGE_COSTS 32

/* Lets only start symbols be there. */
void st_merge_begin(st_merge_work *w);

/* Makes the token of a merge whose parts have been made. */
void st_merge_make(st_merge_work *w, size_t merge);

/* Lists the merges that make each token: those of token t are merges_of[first[t]..first[t + 1]), in their order. The caller frees
 * both, also after a failure. */
st_status st_merges_by_token(const st_merge_list *list, uint32_t **first, uint32_t **merges_of);

/* Makes what one pass over the list, in its order, has missed. *in_order: nothing. */
st_status st_merge_rest(st_merge_work *w, int *in_order);

#endif
