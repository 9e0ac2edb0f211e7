/* The reference merge: a linked list of tokens and a heap of candidate merges, the oracle that every other engine is
 * tested against. It is written to be read, not to be fast: O(n log n).
 *
 * The smallest merged token goes first, the leftmost of equal ones before the others. A symbol's version rises whenever
 * the symbol or its right neighbour changes, so a candidate with an old version is stale and is dropped when it surfaces. */
#ifndef ST_PAIRS_MERGE_REFERENCE_H
#define ST_PAIRS_MERGE_REFERENCE_H

#include "base/buffer.h"
#include "pairs/pair_table.h"

/* Scratch of one merge; zero-initialise, reuse freely, free at the end. */
typedef struct st_reference_scratch {
    void *block;
    size_t capacity; /* bytes of text that the block has room for */
} st_reference_scratch;

void st_reference_scratch_free(st_reference_scratch *scratch);

/* Appends the tokens of text[0..n) by merging alone (no whole-piece rule). ST_NO_MEMORY leaves `out` as it was. */
st_status st_reference_merge(const st_pairs *pairs, const uint8_t *text, size_t n, st_reference_scratch *scratch,
                             st_ids *out);

#endif
