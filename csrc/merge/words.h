/* Short words merged side by side: while one waits for the pair table's memory, the others go on. With AVX-512 sixteen words are
 * merged by the same instructions, each in a lane of a vector. Few words, and those with too many symbols for a lane, take turns
 * instead, as they do in the other tiers (words_template.h). */
#ifndef ST_MERGE_WORDS_H
#define ST_MERGE_WORDS_H

#include "base/bits.h"
#include "cut/cuts.h"
#include "vocab/vocab.h"

/* Words that take turns. Each waits for two look-ups, and about 32 is what the memory system keeps in flight. */
#define ST_WORDS_IN_TURN 16

/* Candidates compared at a time: a ROW. A word has as many rows as its symbols need. */
#define ST_ROW 16

/* The candidate of a pair is merged << 8 | place, where place is that of its left symbol. If the pair does not merge, all bits of
 * `merged` are 1. */
#define ST_NO_CANDIDATE 0xFFFFFF00u

/* What the pair table has for two pairs: 1 + merged, or 0. */
typedef struct st_two_found {
    uint32_t first, second;
} st_two_found;

/* The stage merge_words (base/tier.h) gives the tokens of one or more words by merging alone: of valid UTF-8, 1 <= n <=
 * ST_WORD_BYTES. With cuts (not NULL) characters may begin whole (cut/cut_rule.h). buffer: ST_WORDS_ROOM bytes of any content, where
 * AVX-512 has its lanes: too much for the stack of a small thread. */
#define ST_WORDS_ROOM ((size_t)112 << 10)

/* The same, but the merging of a word stops when it has `enough` tokens or fewer. AVX-512 uses it for words with too many symbols
 * for a lane, and for few words. */
void st_shorten_words_avx2(const st_vocab *vocab, const st_cuts *cuts, st_word *words, size_t count, uint32_t enough);

#endif
