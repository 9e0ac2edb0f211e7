/* index.h - the pairs that may be merged next: counts, lists of places, and the queue.
 *
 * Only pairs seen `least` times or more are known. Rarer ones, which are most, have neither an entry nor a list. When the queue
 * is empty, `least` is lowered and the text is searched again. Counts only fall, so a pair that is not known stays below
 * `least`. A search also drops places and pairs that are out of date, so the text is also searched when the lists are full.
 * Thread rule: one thread at a time. */
#ifndef ST_TRAIN_INDEX_H
#define ST_TRAIN_INDEX_H

#include "train/pairs.h"
#include "train/queue.h"
#include "train/text.h"

typedef struct st_train_index {
    st_train_pairs pairs;
    st_train_queue queue;
    uint32_t *lists; /* places where the left token of a pair begins; the list of a pair is one range of it */
    size_t list_top, list_capacity;
    uint64_t least;
    uint64_t floor;    /* pairs seen less often are never merged; at least 1 */
    size_t most_lists; /* places that all lists together may hold, as far as that is possible */
    uint64_t searched; /* places looked at so far: a measure of the work */
} st_train_index;

void st_train_index_free(st_train_index *index);

/* Builds the index anew from the text: finds each pair with a count of `least` or more. `least` is raised if the lists of these
 * pairs would fill more than half of their room. */
st_status st_train_index_build(st_train_index *index, const st_train_text *text, const st_train_tokens *tokens);

#endif
