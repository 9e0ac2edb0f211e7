#include "special/disallowed.h"

void st_watch_reset(st_watch *watch)
{
    watch->node = 0;
    watch->offset = 0;
}

/* Text to search, which follows what the watch holds. */
typedef struct stretch {
    const st_text_stage *stage;
    const st_segments *segments;
    const uint8_t *text;
    size_t n;
    int is_joined; /* the joined character, not the rest */
    int final;
} stretch;

/* The offset in the stream of a place that is counted from the start of a node of `before` bytes in front of the text. */
static uint64_t origin(const st_watch *w, const stretch *s, size_t before, size_t at)
{
    if (at < before)
        return w->offset + at;
    if (s->is_joined)
        return s->stage->offset - s->stage->partial_size + (at - before);
    return st_text_stage_origin(s->stage, s->segments, at - before);
}

static st_status look_through(st_watch *w, const stretch *s, uint64_t *offset, uint32_t *id)
{
    st_special_match match;
    if (s->n == 0 && !(s->final && w->node))
        return ST_OK;
    st_special_search search = st_special_search_behind(w->names, w->node);
    const st_special_result result = st_special_find(w->names, &search, s->text, SIZE_MAX, s->n, s->final, &match);
    w->node = search.node;
    if (result == ST_SPECIAL_NONE)
        return ST_OK;
    const uint64_t begin = origin(w, s, search.before, match.start);
    if (match.id != ST_NO_SPECIAL) { /* a name, even one that a longer name begins with, is refused at once */
        *offset = begin;
        *id = match.id;
        return ST_DISALLOWED_SPECIAL;
    }
    w->offset = begin;
    return ST_OK;
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
