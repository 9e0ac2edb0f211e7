/* index.h - where the pairs are that may be merged next: counts, lists of places, the queue.
 *
 * Only pairs seen `least` times or more are known. All rarer ones, which are most, cost neither an entry nor a list, until
 * the queue has run dry; then `least` is lowered and the text is searched again. Counts only fall, so whatever is not
 * known stays below `least`. Each search also drops places and pairs that are out of date, and so it is what happens
 * when the lists have no more room.
 * Thread rule: one thread at a time. */
#ifndef ST_TRAIN_INDEX_H
#define ST_TRAIN_INDEX_H

#include "train/pairs.h"
#include "train/queue.h"
#include "train/text.h"

typedef struct st_train_index {
    st_train_pairs pairs;
    st_train_queue queue;
    uint32_t *lists; /* places where the left token of a pair begins; the list of a pair is one stretch of it */
    size_t list_top, list_room;
    uint64_t least;
    uint64_t floor;    /* pairs seen less often are never merged; at least 1 */
    size_t most_lists; /* places that all lists together may hold, as far as that is possible */
    uint64_t searched; /* places looked at so far: a measure of the work */
} st_train_index;

void st_train_index_free(st_train_index *index);

/* Forgets all, and finds each pair with a count of `least` or more; `least` is raised where the lists of all of these
 * would fill more than half of their room. */
st_status st_train_index_build(st_train_index *index, const st_train_text *text, const st_train_tokens *tokens);

#endif
