/* A list of merges, as a tokenizer file has it, turned into what a vocabulary needs: the order of its tokens, and the split of each.
 *
 * The list says of each pair of tokens when it merges: the pair that stands first merges first, the leftmost of equal ones before the
 * others. Several pairs may make one token, and a token may have parts that are made later.
 *
 * Each token has ONE pair all the same. Let a token t be made in some text. No merge has crossed the ends of its span before, so the
 * merges inside of the span were those of merging the bytes of t alone, in the same order, and the last of them joined the same two
 * tokens. So a token that merging its own bytes gives is made by the last pair of that merging, in every text; its CANONICAL pair.
 * Other pairs that make the same token never merge, and a token that its own bytes do not give is never made. Leaving out a pair that
 * never merges changes nothing. What is left is a table of one pair for each token, in which a token merges before another where its
 * canonical pair stands before the other's: with the tokens in this order it is the table of pairs/pair_table.h. Nothing was asked of
 * the list. The tokens' ids play no part in merging.
 *
 * How canonical pairs are found. A list is in ORDER if each token's canonical pair stands behind those of its parts. Then one pass is
 * enough: a pair whose parts have been made is canonical unless, in merging the two parts side by side, a pair across their border
 * merges before both are made. Undoing the latest merge again and again answers that (as merge/compatible.h), and it needs only pairs
 * that stand before. By induction over the length nothing wrong is entered, in any list; and a canonical pair is missed only if it
 * stands before one of its parts is made, and then nothing makes its token. So where there are such pairs, the bytes of their tokens
 * are merged, the shortest first, and then those of the tokens that hold what this has found. Should that take back what the pass
 * has entered, which needs a pair that merges across a border much earlier than its parts, every token's bytes are merged. */
#ifndef ST_VOCAB_MERGE_LIST_H
#define ST_VOCAB_MERGE_LIST_H

#include "vocab/merge_source.h"

/* Writes the places of the tokens in the order of the index, and by index the bytes of the left part of each token's canonical pair:
 * 0 for a start symbol and for a token that no merge makes, ST_SILENT (vocab/vocab.h) for a silent one. Tokens are in the order of their ids where
 * that is the order of their merges. *in_order: whether the list is. */
st_status st_merge_list_order(const st_merge_list *list, uint32_t *order, uint32_t *splits, int *in_order);

#endif
