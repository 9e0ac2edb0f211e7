#include "train/pairs.h"

#define LEAST_CAPACITY ((size_t)1 << 10)

void st_train_pairs_free(st_train_pairs *pairs)
{
    st_free(pairs->entries);
    memset(pairs, 0, sizeof *pairs);
}

static st_train_pair *place_of(st_train_pair *entries, size_t capacity, st_train_key key)
{
    size_t at = st_hash_number(key) & (capacity - 1);
    while (entries[at].key != key && entries[at].key != ST_TRAIN_NO_PAIR)
        at = (at + 1) & (capacity - 1);
    return &entries[at];
}

st_train_pair *st_train_pairs_find(const st_train_pairs *pairs, st_train_key key)
{
    if (!pairs->capacity)
        return NULL;
    st_train_pair *pair = place_of(pairs->entries, pairs->capacity, key);
    return pair->key == key ? pair : NULL;
}

static int is_full(size_t count, size_t capacity)
{
    return count >= capacity / 8 * 5;
}

/* Moves the pairs, without those below `least`, to a table with room for `more` further ones. */
static st_status rebuild(st_train_pairs *pairs, uint64_t least, size_t more)
{
    size_t capacity = LEAST_CAPACITY, kept = 0;
    for (size_t i = 0; i < pairs->capacity; i++)
        kept += pairs->entries[i].key != ST_TRAIN_NO_PAIR && pairs->entries[i].count >= least;
    /* At most five sixteenths full, so that as many pairs again can be added before the next time. */
    while (is_full(2 * (kept + more), capacity))
        capacity *= 2;
    if (capacity > SIZE_MAX / sizeof *pairs->entries)
        return ST_NO_MEMORY;
    st_train_pair *entries = st_alloc_large(capacity * sizeof *entries);
    if (!entries)
        return ST_NO_MEMORY;
    for (size_t i = 0; i < capacity; i++)
        entries[i].key = ST_TRAIN_NO_PAIR;
    for (size_t i = 0; i < pairs->capacity; i++) {
        const st_train_pair *pair = &pairs->entries[i];
        if (pair->key != ST_TRAIN_NO_PAIR && pair->count >= least)
            *place_of(entries, capacity, pair->key) = *pair;
    }
    st_free(pairs->entries);
    *pairs = (st_train_pairs){entries, kept, capacity};
    return ST_OK;
}

st_train_pair *st_train_pairs_add(st_train_pairs *pairs, st_train_key key, uint64_t least)
{
    if (is_full(pairs->count, pairs->capacity) && rebuild(pairs, least, 1))
        return NULL;
    st_train_pair *pair = place_of(pairs->entries, pairs->capacity, key);
    if (pair->key != key) {
        *pair = (st_train_pair){key, 0, 0, 0};
        pairs->count++;
    }
    return pair;
}

st_status st_train_pairs_compact(st_train_pairs *pairs, uint64_t least)
{
    return rebuild(pairs, least, 0);
}
