#include "train/queue.h"

void st_train_queue_free(st_train_queue *queue)
{
    st_free(queue->entries);
    memset(queue, 0, sizeof *queue);
}

st_status st_train_queue_reserve(st_train_queue *queue, size_t more)
{
    if (more <= queue->room - queue->count)
        return ST_OK;
    const size_t room = queue->count + more + queue->room / 2;
    st_train_entry *entries = st_realloc(queue->entries, room * sizeof *entries);
    if (!entries)
        return ST_NO_MEMORY;
    queue->entries = entries;
    queue->room = room;
    return ST_OK;
}

static int is_better(const st_train_tokens *tokens, const st_train_entry *a, const st_train_entry *b)
{
    return a->count != b->count ? a->count > b->count : st_train_before(tokens, a->key, b->key);
}

/* Puts the entry at `at` or below it, where children are better. */
static void sink(st_train_queue *queue, const st_train_tokens *tokens, size_t at, st_train_entry entry)
{
    st_train_entry *entries = queue->entries;
    for (size_t child; (child = 2 * at + 1) < queue->count; at = child) {
        child += child + 1 < queue->count && is_better(tokens, &entries[child + 1], &entries[child]);
        if (!is_better(tokens, &entries[child], &entry))
            break;
        entries[at] = entries[child];
    }
    entries[at] = entry;
}

void st_train_queue_push(st_train_queue *queue, const st_train_tokens *tokens, st_train_entry entry)
{
    st_train_entry *entries = queue->entries;
    size_t at = queue->count++;
    for (size_t parent; at > 0 && is_better(tokens, &entry, &entries[parent = (at - 1) / 2]); at = parent)
        entries[at] = entries[parent];
    entries[at] = entry;
}

void st_train_queue_pop(st_train_queue *queue, const st_train_tokens *tokens)
{
    if (--queue->count)
        sink(queue, tokens, 0, queue->entries[queue->count]);
}

void st_train_queue_lower(st_train_queue *queue, const st_train_tokens *tokens, uint64_t count)
{
    sink(queue, tokens, 0, (st_train_entry){count, queue->entries[0].key});
}

void st_train_queue_order(st_train_queue *queue, const st_train_tokens *tokens)
{
    for (size_t at = queue->count / 2; at-- > 0;)
        sink(queue, tokens, at, queue->entries[at]);
}
