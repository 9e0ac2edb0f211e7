/* The fast merge of short runs of bytes: linked lists and a scan for the smallest pair, on the stack.
 * Quadratic in the length, but with so small a constant that it beats a heap up to some hundred bytes; longer pieces
 * take long_piece.h. */
#ifndef ST_MERGE_H
#define ST_MERGE_H

#include "pairs.h"

/* A candidate is packed as merged token << 8 | position, which an int32 holds: 21 + 8 bits. */
#define ST_SHORT_MERGE 256

/* Writes the tokens of text[0..n) by merging alone (no whole-piece rule), 1 <= n <= ST_SHORT_MERGE; returns how many.
 * tokens needs room for n. */
size_t st_merge_short(const st_pairs *pairs, const uint8_t *text, size_t n, uint32_t *tokens);

/* Words merged side by side: while one waits for the pair table's memory, the others go on. 16 words of two pending
 * look-ups each are about what the memory system keeps in flight. */
#define ST_GROUP 16
#define ST_GROUP_BYTES 32

typedef struct st_word {
    const uint8_t *text;
    uint32_t *tokens; /* room for n; receives the result */
    uint32_t n;       /* bytes, 1 <= n <= ST_GROUP_BYTES */
    uint32_t count;   /* tokens, set by the merge */
} st_word;

/* st_merge_short for each of `count` words, ST_GROUP at a time. */
void st_merge_words(const st_pairs *pairs, st_word *words, size_t count);

#endif
