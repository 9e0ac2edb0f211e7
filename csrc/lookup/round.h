/* The spans of one round of look-ups: a batch's pieces, long ones cut into atoms. The ids of most are found at once and
 * written one behind the other; the others are MISSES, which know where among those ids theirs belong. */
#ifndef ST_LOOKUP_ROUND_H
#define ST_LOOKUP_ROUND_H

#include "lookup/hot_table.h"

#define ST_ROUND_SPANS 2048
/* The last stretch of a round (cut/cuts.h) may add up to 256 more. */
#define ST_SPANS (ST_ROUND_SPANS + 256)

/* Spans looked up in the hot table before their misses are prefetched. */
#define ST_LOOK_AHEAD 256

/* Room for the ids of a round's misses that no table holds. Spans for which there is no room are encoded one by one. */
#define ST_SPAN_IDS (ST_SPANS * 16)

/* Writes to a list may reach so far beyond its end: a vector of ids, or of misses. */
#define ST_SPARE_IDS 16
#define ST_SPARE_SPANS 8

/* Spans that have a key and wait for their first look: ST_LOOK_AHEAD, the rest of a stretch, and a vector. */
#define ST_WAITING (ST_LOOK_AHEAD + 256 + 64)

typedef struct st_waiting {
    uint64_t low[ST_WAITING], high[ST_WAITING]; /* keys */
    uint64_t starts[ST_WAITING];                /* in the round's text */
    uint64_t places[ST_WAITING];                /* in the hot table, in bytes */
} st_waiting; /* whole lines */

typedef struct st_spans {
    st_waiting waiting;
    size_t waiting_count;
    uint32_t found[ST_SPANS * ST_HOT_IDS + ST_SPARE_IDS]; /* the ids of all spans that are no misses */
    size_t found_count, count, limit;                        /* of ids; of spans; of spans for now */
    size_t first;                                            /* where the round starts in the text */

    size_t missed; /* misses, each with: */
    st_key keys[ST_SPANS + ST_SPARE_SPANS];
    uint32_t starts[ST_SPANS + ST_SPARE_SPANS];  /* in the round's text */
    uint32_t *places[ST_SPANS + ST_SPARE_SPANS]; /* in `found`, where its ids belong */
    uint64_t hashes[ST_SPANS];
    const uint32_t *ids[ST_SPANS]; /* ST_INLINE_IDS can be read, whatever the count */
    uint32_t counts[ST_SPANS];     /* of the ids; 0: too long for the round, encoded alone */

    /* Numbers of misses: those of more than ST_KEY_BYTES bytes, and the others. */
    uint16_t longs[ST_SPANS], shorts[ST_SPANS];
    size_t long_count, short_count, looked; /* of the short ones `looked` were looked up in their line; of those: */
    uint16_t others[ST_SPANS];              /* those that may lie further on */
    uint16_t absent[ST_SPANS];              /* those that are in no table */
    uint16_t many[ST_SPANS];                /* those whose ids had to be prefetched before they enter the hot table */
    size_t other_count, absent_count, many_count;
    uint32_t space[ST_SPAN_IDS]; /* for the ids of those */
} st_spans;

/* An empty round; its text begins at `first`. */
static inline void st_begin_spans(st_spans *s, size_t first)
{
    s->first = first;
    s->waiting_count = s->found_count = s->count = s->missed = 0;
    s->long_count = s->short_count = s->looked = s->other_count = s->absent_count = s->many_count = 0;
}

/* The key of a span that is too long for a key: the field for the length is 0, so no entry matches, and the rest holds n. */
static inline st_key st_key_of_long(size_t n)
{
    return (st_key){n, 0};
}

static inline int st_is_long_key(st_key key)
{
    return !(key.high >> 56);
}

static inline size_t st_miss_length(const st_spans *s, size_t miss)
{
    const st_key key = s->keys[miss];
    return (size_t)(st_is_long_key(key) ? key.low : key.high >> 56);
}

#endif
