/* The first look: each span gets its key and is looked for in the hot table. Nothing depends on what the text holds: ids are
 * copied and a miss is noted for every span, and then the end of the one list or of the other moves on. */
#ifndef ST_FIRST_LOOK_H
#define ST_FIRST_LOOK_H

#include "spans.h"

/* Looks for the pieces text[at..ends[0]), text[ends[0]..ends[1]), ... until one is longer than ST_KEY_BYTES, or begins at
 * `readable` or behind it: from each place before that 16 bytes can be read. Returns how many there were. */
typedef size_t st_first_look_function(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at,
                                      const uint64_t *ends, size_t count);

/* By tier (tier.h), and by the one in use. */
st_first_look_function st_first_look_portable, st_first_look_avx512, st_first_look;

/* The same for spans of any length, text[at..at + ends[0]), text[at + ends[0]..at + ends[1]), ... , from each of whose starts
 * 16 bytes can be read. */
typedef void st_first_look_any_function(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at,
                                        const uint32_t *ends, size_t count);

st_first_look_any_function st_first_look_any_portable, st_first_look_any_avx512, st_first_look_any;

/* The ends of the two lists, for a loop to keep. */
typedef struct st_list_ends {
    uint32_t *found;
    size_t missed;
} st_list_ends;

static inline st_list_ends st_list_ends_of(st_spans *s)
{
    return (st_list_ends){s->found + s->found_count, s->missed};
}

static inline void st_move_list_ends(st_spans *s, st_list_ends ends, size_t spans)
{
    s->found_count = (size_t)(ends.found - s->found);
    s->missed = ends.missed;
    s->count += spans;
}

/* One span, which begins at `start` in the round's text. */
static inline void st_look_at_span(st_spans *s, const st_hot *hot, st_list_ends *ends, size_t start, st_key key)
{
    const st_piece_entry *entry = &hot->entries[st_hot_place(key)];
    const uint64_t differ = (entry->key.low ^ key.low) | (entry->key.high ^ key.high) << 4;
    const uint64_t count = entry->key.high >> 60;
    memcpy(ends->found, entry->ids, sizeof entry->ids);
    s->keys[ends->missed] = key;
    s->starts[ends->missed] = (uint32_t)start;
    s->places[ends->missed] = ends->found;
    ends->missed += differ != 0;
    if (count > ST_INLINE_IDS) /* seldom; of a miss too, as that does no harm */
        memcpy(ends->found + count - ST_INLINE_IDS, hot->last[entry - hot->entries], sizeof hot->last[0]);
    ends->found += count & (0 - (uint64_t)(differ == 0));
}

#endif
