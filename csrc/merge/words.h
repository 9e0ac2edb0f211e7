/* Short words merged side by side: while one waits for the pair table's memory, the others go on. With AVX-512 sixteen of them
 * are merged by the same instructions, each in a lane of its own; elsewhere they take turns (words_template.h). */
#ifndef ST_MERGE_WORDS_H
#define ST_MERGE_WORDS_H

#include "base/bits.h"
#include "cut/cuts.h"
#include "vocab/vocab.h"

/* 16 words of two awaited look-ups each are about what the memory system keeps in flight. */
#define ST_GROUP 16
#define ST_GROUP_BYTES 60 /* with a stand-in at either end, a bit of 64 for each byte */

/* Candidates are compared so many at a time: as many rows of them as the word has symbols for. */
#define ST_ROW 16

/* A candidate is merged << 8 | place, by the left symbol of the pair; where nothing merges, merged is all ones. */
#define ST_NO_CANDIDATE 0xFFFFFF00u

typedef struct st_word {
    const uint8_t *text; /* valid UTF-8, whole characters */
    uint32_t *tokens;    /* room for n; receives the result */
    uint32_t n;          /* bytes, 1 <= n <= ST_GROUP_BYTES */
    uint32_t count;      /* tokens, set by the merge */
} st_word;

/* The tokens of each word by merging alone. cuts (or NULL) lets characters that nothing can break into begin whole. */
typedef void st_merge_words_function(const st_vocab *vocab, const st_cuts *cuts, st_word *words, size_t count);

/* By tier (base/tier.h), and by the one in use. */
st_merge_words_function st_merge_words_portable, st_merge_words_neon, st_merge_words_avx2, st_merge_words_avx512,
    st_merge_words;

/* The same, but that the merging of a word stops when it has no more than `enough` tokens: what the last tier does with words of
 * too many symbols for a lane. */
void st_shorten_words_avx2(const st_vocab *vocab, const st_cuts *cuts, st_word *words, size_t count, uint32_t enough);

#endif
