/* A hash table from strings of bytes to their numbers. The strings lie one behind the other in memory of the caller, who gives it
 * with each call: string i is bytes[starts[i]..starts[i + 1]). */
#ifndef ST_BASE_STRING_TABLE_H
#define ST_BASE_STRING_TABLE_H

#include "base/hash.h"
#include "base/portable.h"
#include "base/prefetch.h"
#include "base/status.h"

typedef struct st_string_table {
    uint64_t *slots; /* hash of the bytes (high half) and number (low half), UINT64_MAX = free */
    uint64_t mask;
} st_string_table;

/* An empty table of at least `slots` slots. It may not become full. */
st_status st_string_table_init(st_string_table *table, size_t slots);
void st_string_table_free(st_string_table *table);

/* The slot of the string text[0..n), or the free one where it would go. `hash` is one that all calls derive alike from the bytes. */
static inline uint64_t *st_string_slot(const st_string_table *table, const uint8_t *bytes, const uint32_t *starts, uint64_t hash,
                                       const uint8_t *text, size_t n)
{
    for (uint64_t at = hash & table->mask;; at = (at + 1) & table->mask) {
        uint64_t *slot = &table->slots[at];
        if (*slot == UINT64_MAX)
            return slot;
        const uint32_t number = (uint32_t)*slot;
        if (*slot >> 32 != hash >> 32 || starts[number + 1] - starts[number] != n)
            continue;
        if (n == 0 || st_same_bytes(bytes + starts[number], text, n))
            return slot;
    }
}

/* The number of a string; ST_NONE, as a free slot reads: it is not there. */
static inline uint32_t st_string_find(const st_string_table *table, const uint8_t *bytes, const uint32_t *starts, uint64_t hash,
                                      const uint8_t *text, size_t n)
{
    return (uint32_t)*st_string_slot(table, bytes, starts, hash, text, n);
}

/* What the slot of a string holds. */
static inline uint64_t st_string_entry(uint64_t hash, uint32_t number)
{
    return hash >> 32 << 32 | number;
}

/* Enters a string that is not there. */
static inline void st_string_add(st_string_table *table, uint64_t hash, uint32_t number)
{
    uint64_t at = hash & table->mask;
    while (table->slots[at] != UINT64_MAX)
        at = (at + 1) & table->mask;
    table->slots[at] = st_string_entry(hash, number);
}

static inline void st_string_expect(const st_string_table *table, uint64_t hash)
{
    st_prefetch(&table->slots[hash & table->mask]);
}

#endif
