/* pairs.h - pairs of neighbouring tokens, each with its count and the list of its places.
 *
 * Counts are exact. A list holds all places of the pair in ascending order, and may hold places where the pair no longer is. Its
 * reader checks each place.
 * Thread rule: one thread at a time. */
#ifndef ST_TRAIN_PAIRS_H
#define ST_TRAIN_PAIRS_H

#include "base/hash.h"
#include "base/prefetch.h"
#include "train/tokens.h"

#define ST_TRAIN_NO_PAIR UINT64_MAX

typedef struct st_train_pair {
    st_train_key key; /* ST_TRAIN_NO_PAIR: free */
    uint64_t count;
    uint64_t start; /* of its list, in st_trainer.lists */
    uint64_t n;     /* places in it */
} st_train_pair;

typedef struct st_train_pairs {
    st_train_pair *entries;
    size_t count, capacity; /* a power of two, or 0 */
} st_train_pairs;

void st_train_pairs_free(st_train_pairs *pairs); /* and empty again */

/* Prefetches where the search for a pair begins. */
static inline void st_train_pairs_prefetch(const st_train_pairs *pairs, st_train_key key)
{
    if (pairs->capacity)
        st_prefetch(&pairs->entries[st_hash_number(key) & (pairs->capacity - 1)]);
}

/* The pair, or NULL. */
st_train_pair *st_train_pairs_find(const st_train_pairs *pairs, st_train_key key);

/* The pair, entered with a count of 0 if it was not there. Where the table would have to grow, pairs with counts below `least`
 * are dropped first (0: none is). NULL: out of memory, and nothing has changed. */
st_train_pair *st_train_pairs_add(st_train_pairs *pairs, st_train_key key, uint64_t least);

/* Drops pairs with counts below `least`. ST_NO_MEMORY: nothing has changed. */
st_status st_train_pairs_compact(st_train_pairs *pairs, uint64_t least);

#endif
