/* heap_template.h - a binary heap in an array: the first entry comes before all others. A .c file includes it once, after defining
 *
 *     ST_HEAP_ENTRY                    the type of an entry
 *     ST_HEAP_CONTEXT                  the type of what the order depends on; handed to ST_HEAP_BEFORE as it is
 *     ST_HEAP_BEFORE(context, a, b)    1 if the entry *a comes before *b
 *
 * The array and its memory are the includer's. */
#include <stddef.h>

/* Puts `entry` at `at` or below: entries that come before it move up. */
static inline void st_heap_sift_down(ST_HEAP_CONTEXT context, ST_HEAP_ENTRY *entries, size_t count, size_t at, ST_HEAP_ENTRY entry)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && ST_HEAP_BEFORE(context, &entries[child + 1], &entries[child]);
        if (!ST_HEAP_BEFORE(context, &entries[child], &entry))
            break;
        entries[at] = entries[child];
    }
    entries[at] = entry;
}

/* Adds an entry to `count`; there is room for it. */
static inline void st_heap_push(ST_HEAP_CONTEXT context, ST_HEAP_ENTRY *entries, size_t count, ST_HEAP_ENTRY entry)
{
    size_t at = count;
    for (size_t parent; at > 0 && ST_HEAP_BEFORE(context, &entry, &entries[parent = (at - 1) / 2]); at = parent)
        entries[at] = entries[parent];
    entries[at] = entry;
}

/* Takes the first of `count` > 0 entries out and returns it. */
static inline ST_HEAP_ENTRY st_heap_pop(ST_HEAP_CONTEXT context, ST_HEAP_ENTRY *entries, size_t count)
{
    const ST_HEAP_ENTRY first = entries[0];
    st_heap_sift_down(context, entries, count - 1, 0, entries[count - 1]);
    return first;
}

/* Makes a heap of entries in any order. */
static inline void st_heap_order(ST_HEAP_CONTEXT context, ST_HEAP_ENTRY *entries, size_t count)
{
    for (size_t at = count / 2; at-- > 0;)
        st_heap_sift_down(context, entries, count, at, entries[at]);
}
