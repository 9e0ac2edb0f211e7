#include "watch.h"

void st_watch_free(st_watch *watch)
{
    st_bytes_free(&watch->tail);
    st_bytes_free(&watch->saved_tail);
}

/* Text to look through, behind what the watch holds. */
typedef struct stretch {
    const st_text_stage *stage;
    const st_segments *segments;
    const uint8_t *text;
    size_t n;
    int is_joined; /* the joined character, not the rest */
    int final;
} stretch;

static uint64_t origin(const stretch *s, size_t at)
{
    if (s->is_joined)
        return s->stage->offset - s->stage->partial_size + at;
    return st_text_stage_origin(s->stage, s->segments, at);
}

/* A name, even one that a longer name begins with, is refused at once. */
static int is_name(st_special_result result, const st_special_match *match)
{
    return result == ST_SPECIAL_FOUND || (result == ST_SPECIAL_HELD && match->id != ST_NO_SPECIAL);
}

/* Names that begin in what is held. 1: *status is the answer; 0: none of them goes on, look through the text itself. */
static int look_across(st_watch *w, const stretch *s, uint64_t *offset, uint32_t *id, st_status *status)
{
    st_special_match match;
    size_t held = w->tail.size, more = s->n < w->names->longest ? s->n : w->names->longest;
    *status = st_bytes_append(&w->tail, s->text, more);
    if (*status)
        return 1;
    st_special_result result =
        st_special_find(w->names, w->tail.data, 0, held, held + more, s->final && more == s->n, &match);
    if (is_name(result, &match)) {
        *offset = w->offset + match.start;
        *id = match.id;
        *status = ST_DISALLOWED_SPECIAL;
        return 1;
    }
    if (result == ST_SPECIAL_HELD) {
        st_bytes_drop(&w->tail, match.start);
        w->offset += match.start;
        return 1;
    }
    w->tail.size = 0;
    return 0;
}

static st_status look_through(st_watch *w, const stretch *s, uint64_t *offset, uint32_t *id)
{
    st_special_match match;
    st_status status;
    if (s->n == 0)
        return ST_OK;
    if (w->tail.size && look_across(w, s, offset, id, &status))
        return status;
    st_special_result result = st_special_find(w->names, s->text, 0, s->n, s->n, s->final, &match);
    if (result == ST_SPECIAL_NONE)
        return ST_OK;
    if (is_name(result, &match)) {
        *offset = origin(s, match.start);
        *id = match.id;
        return ST_DISALLOWED_SPECIAL;
    }
    w->offset = origin(s, match.start);
    return st_bytes_append(&w->tail, s->text + match.start, s->n - match.start);
}

st_status st_watch_chunk(st_watch *w, const st_text_stage *stage, const st_segments *segments, int final,
                         uint64_t *offset, uint32_t *id)
{
    if (!w->names)
        return ST_OK;
    stretch joined = {stage, segments, segments->joined, segments->joined_size, 1, final && !segments->n};
    stretch rest = {stage, segments, segments->text, segments->n, 0, final};
    ST_TRY(look_through(w, &joined, offset, id));
    return look_through(w, &rest, offset, id);
}

st_status st_watch_save(st_watch *w)
{
    w->saved_tail.size = 0;
    w->saved_offset = w->offset;
    return st_bytes_append(&w->saved_tail, w->tail.data, w->tail.size);
}

void st_watch_restore(st_watch *w)
{
    st_bytes tail = w->tail;
    w->tail = w->saved_tail;
    w->saved_tail = tail;
    w->offset = w->saved_offset;
}
