/* The first look: some hundred spans get keys, and their entries of the hot table are prefetched; then each is looked up there.
 * No branch depends on the text: for every span ids are copied and a miss is noted, and then the end of one of the two lists
 * moves on. */
#ifndef ST_LOOKUP_FIRST_LOOK_H
#define ST_LOOKUP_FIRST_LOOK_H

#include "base/prefetch.h"
#include "lookup/round.h"

/* Adds the pieces text[at..ends[0]), text[ends[0]..ends[1]), ... up to one that is longer than ST_KEY_BYTES, or begins at or behind
 * `readable`: 16 bytes can be read from each place before that. Returns how many it added. */
typedef size_t st_add_pieces_function(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at,
                                      const uint64_t *ends, size_t count);

/* The same for the pieces text[starts[0]..ends[0]), text[starts[1]..ends[1]), ... , in order, apart from each other. */
typedef size_t st_add_apart_function(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, const uint64_t *starts,
                                     const uint64_t *ends, size_t count);

/* As st_add_pieces for spans of any length, text[at..at + ends[0]), text[at + ends[0]..at + ends[1]), ... , from each of whose starts
 * 16 bytes can be read. */
typedef void st_add_spans_function(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends,
                                   size_t count);

/* Looks up all spans that were added. */
typedef void st_first_look_function(st_spans *s, const st_hot *hot);

/* The stages (base/tier.h) of the tier in use, and for those that have none of their own. */
st_add_pieces_function st_add_pieces, st_add_pieces_portable;
st_add_apart_function st_add_apart, st_add_apart_portable;
st_add_spans_function st_add_spans, st_add_spans_portable;
st_first_look_function st_first_look, st_first_look_portable;

/* Adds one span, which begins at `start` in the round's text. */
static inline void st_add_span(st_spans *s, const st_hot *hot, size_t start, st_key key)
{
    st_waiting *w = &s->waiting;
    const size_t i = s->waiting_count++;
    w->low[i] = key.low;
    w->high[i] = key.high;
    w->starts[i] = start;
    w->places[i] = (uint64_t)st_hot_place(key) << ST_ENTRY_SHIFT;
    st_prefetch(st_hot_entry(hot, w->places[i]));
    s->count++;
}

#endif
