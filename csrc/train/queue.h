/* queue.h - the pairs to be merged, the best one first: a binary heap with lazy deletion.
 *
 * A pair's count never rises once the merge that made it is done, so an entry may be too high and is never too low. An
 * entry is not looked for when its pair's count falls; it is put right, or dropped, when it comes to the top.
 * Thread rule: one thread at a time. */
#ifndef ST_TRAIN_QUEUE_H
#define ST_TRAIN_QUEUE_H

#include "train/tokens.h"

typedef struct st_train_entry {
    uint64_t count;
    st_train_key key;
} st_train_entry;

typedef struct st_train_queue {
    st_train_entry *entries; /* [0] is the best */
    size_t count, capacity;
} st_train_queue;

void st_train_queue_free(st_train_queue *queue);

/* Makes room for so many more entries. */
st_status st_train_queue_reserve(st_train_queue *queue, size_t more);

/* Adds an entry; there must be room for it. */
void st_train_queue_push(st_train_queue *queue, const st_train_tokens *tokens, st_train_entry entry);

/* Removes the best entry. */
void st_train_queue_pop(st_train_queue *queue, const st_train_tokens *tokens);

/* Lowers the count of the best entry to `count`. */
void st_train_queue_lower(st_train_queue *queue, const st_train_tokens *tokens, uint64_t count);

/* Makes a heap of entries in any order. */
void st_train_queue_order(st_train_queue *queue, const st_train_tokens *tokens);

#endif
