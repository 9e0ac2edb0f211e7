/* Which pieces may lie in a later line of the piece table than their own (vocab/piece_table.h): a set of bits by hash.
 *
 * A fifth of the lines of a full table have overflowed, though one entry in seven lies in a later line. Without the set, a look-up of
 * something that is in no line, as new words are, reads later lines each time it meets a marked one. With it, one in ten does.
 *
 * The set is built late, like the pairs that surely merge (merge/sure_pairs.h). Thread rule: immutable once built. */
#ifndef ST_LOOKUP_DISPLACED_H
#define ST_LOOKUP_DISPLACED_H

#include "vocab/vocab.h"

typedef struct st_displaced {
    st_attached attached;
    uint64_t mask; /* bits - 1 */
    uint64_t *bits;
} st_displaced;

/* The set, built now if it is not there; NULL if memory is short. */
const st_displaced *st_vocab_displaced(st_vocab *vocab);
/* The set as far as it is known: one in which all are, if it is not built. */
const st_displaced *st_vocab_displaced_known(const st_vocab *vocab);

/* To be called before so many words are merged: builds the set once the vocabulary has merged as many words as the table has lines. */
void st_displaced_prepare(st_vocab *vocab, size_t words);

/* 0: nothing with this hash lies in another line than its own. */
static inline int st_may_be_displaced(const st_displaced *displaced, uint64_t hash)
{
    const uint64_t bit = hash & displaced->mask;
    return (int)(displaced->bits[bit / 64] >> bit % 64 & 1);
}

#endif
