#include "train/queue.h"

void st_train_queue_free(st_train_queue *queue)
{
    st_free(queue->entries);
    memset(queue, 0, sizeof *queue);
}

st_status st_train_queue_reserve(st_train_queue *queue, size_t more)
{
    if (more <= queue->capacity - queue->count)
        return ST_OK;
    const size_t capacity = queue->count + more + queue->capacity / 2;
    st_train_entry *entries = st_realloc(queue->entries, capacity * sizeof *entries);
    if (!entries)
        return ST_NO_MEMORY;
    queue->entries = entries;
    queue->capacity = capacity;
    return ST_OK;
}

static inline int is_better(const st_train_tokens *tokens, const st_train_entry *a, const st_train_entry *b)
{
    return a->count != b->count ? a->count > b->count : st_train_before(tokens, a->key, b->key);
}

#define ST_HEAP_ENTRY st_train_entry
#define ST_HEAP_CONTEXT const st_train_tokens *
#define ST_HEAP_BEFORE is_better
#include "base/heap_template.h"

void st_train_queue_push(st_train_queue *queue, const st_train_tokens *tokens, st_train_entry entry)
{
    st_heap_push(tokens, queue->entries, queue->count++, entry);
}

void st_train_queue_pop(st_train_queue *queue, const st_train_tokens *tokens)
{
    st_heap_pop(tokens, queue->entries, queue->count--);
}

void st_train_queue_lower(st_train_queue *queue, const st_train_tokens *tokens, uint64_t count)
{
    st_heap_sift_down(tokens, queue->entries, queue->count, 0, (st_train_entry){count, queue->entries[0].key});
}

void st_train_queue_order(st_train_queue *queue, const st_train_tokens *tokens)
{
    st_heap_order(tokens, queue->entries, queue->count);
}
