/* Pairs of bytes that surely merge, whatever stands around the two bytes beside them. A word begins with these merged already,
 * which spares half of its merges and, above all, half of the look-ups that wait for each other.
 *
 * The bytes w x y z stand side by side. A merge that takes x away from y makes a token of something that ends with w, and of x; one
 * that takes y away from x makes a token of y, and of something that begins with z. If x y merge to an earlier token than all of
 * these, they merge first: until then their pair is there, and comes before any other that could touch them. And it does not matter
 * when they do, as long as every token that they are a part of comes later (st_sure_build leaves out a pair where one does not).
 * Two such pairs never overlap: each would come before the other. */
#ifndef ST_MERGE_SURE_PAIRS_H
#define ST_MERGE_SURE_PAIRS_H

#include "base/load.h"
#include "vocab/vocab.h"

/* Entries from one first byte to the next: a cache line more than there are bytes, because letters would lie in the same few sets of
 * the first-level cache otherwise. */
#define ST_SURE_ROW (256 + 8)

/* For the bytes x and y, at ST_SURE_ROW * x + y, three tokens: what they merge to; the first one that is made of something that ends with x, and of y;
 * the first one that is made of x, and of something that begins with y. ST_NO_TOKEN, which comes after all, where there is none. */
typedef struct st_sure_pairs {
    st_attached attached;
    uint64_t entries[256 * ST_SURE_ROW];
} st_sure_pairs;

#define ST_SURE_LEFT ST_INDEX_BITS        /* where the second one stands, */
#define ST_SURE_RIGHT (2 * ST_INDEX_BITS) /* and the third */
#define ST_SURE_NOTHING (UINT64_MAX >> (64 - 3 * ST_INDEX_BITS))

/* Built now if they are not there; NULL if memory is short: then words begin as their bytes. */
const st_sure_pairs *st_vocab_sure_pairs(st_vocab *vocab);
/* NULL: not built yet. */
const st_sure_pairs *st_vocab_sure_pairs_built(const st_vocab *vocab);

/* To be called before so many words are merged: builds them once the vocabulary has merged as many words as it has tokens. */
void st_sure_pairs_prepare(st_vocab *vocab, size_t words);

static inline size_t st_sure_place(unsigned left, unsigned right)
{
    return ST_SURE_ROW * left + right;
}

static inline uint64_t st_sure_entry(const st_sure_pairs *sure, unsigned left, unsigned right)
{
    return sure->entries[st_sure_place(left, right)];
}

static inline uint32_t st_sure_merged(uint64_t entry)
{
    return (uint32_t)entry & ST_NO_TOKEN;
}

/* Whether two bytes surely merge, by their entry and those of the pairs that begin a byte before and a byte behind. */
static inline int st_sure_is(uint64_t before, uint64_t entry, uint64_t behind)
{
    const uint64_t merged = entry & ST_NO_TOKEN;
    return (merged < (before >> ST_SURE_LEFT & ST_NO_TOKEN)) & (merged < behind >> ST_SURE_RIGHT);
}

/* The pairs of text[0..n) that surely merge: a bit for the first byte of each, 1 <= n <= 64. */
static inline uint64_t st_sure_find(const st_sure_pairs *sure, const uint8_t *text, size_t n)
{
    uint64_t found = 0, before = ST_SURE_NOTHING, entry = ST_SURE_NOTHING;
    for (size_t i = 0; i + 1 < n; i++) {
        const uint64_t behind = st_sure_entry(sure, text[i], text[i + 1]);
        found |= (uint64_t)st_sure_is(before, entry, behind) << i;
        before = entry;
        entry = behind;
    }
    return (found | (uint64_t)st_sure_is(before, entry, ST_SURE_NOTHING) << (n - 1)) >> 1;
}

#endif
