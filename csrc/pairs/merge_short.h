/* The fast merge of up to 256 bytes: linked lists and a scan for the smallest pair, on the stack. The scan reads the smallest of
 * each 16 pairs, so for 256 bytes a merge reads 16 candidates, and 16 to 48 more to renew what it changed. Longer pieces take
 * endless/long_piece.h. */
#ifndef ST_PAIRS_MERGE_SHORT_H
#define ST_PAIRS_MERGE_SHORT_H

#include "pairs/pair_table.h"

/* A candidate is packed as merged token << 8 | position, which an int32 holds: 21 + 8 bits. */
#define ST_SHORT_MERGE 256

/* Writes the tokens of text[0..n) by merging alone (no whole-piece rule), 1 <= n <= ST_SHORT_MERGE; returns how many.
 * tokens needs room for n. */
size_t st_merge_short(const st_pairs *pairs, const uint8_t *text, size_t n, uint32_t *tokens);


#endif
