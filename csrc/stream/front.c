#include "stream/front.h"

#include "base/interrupt.h"

void st_front_use(st_front *front, const st_normalizer *normalizer, const st_special *names)
{
    front->is_on = 1;
    front->names = names;
    st_flow_init(&front->flow, normalizer);
}

void st_front_free(st_front *front)
{
    st_flow_free(&front->flow);
}

void st_front_reset(st_front *front)
{
    front->node = 0;
    front->flow.later = 0;
    st_flow_reset(&front->flow);
}

static size_t node_size(const st_front *front)
{
    size_t n = 0;
    if (front->node)
        st_special_bytes(front->names, front->node, &n);
    return n;
}

size_t st_front_held(const st_front *front)
{
    return st_flow_held(&front->flow) + node_size(front);
}

/* ---- a feed ---- */

/* New text behind the held beginning of a name. Places count from the start of that beginning. */
typedef struct stretch {
    const uint8_t *held, *text;
    size_t held_size;
} stretch;

/* Normalizes the text from one place to another. */
static st_status normalize(st_front *front, const stretch *s, size_t from, size_t until, int end)
{
    if (from < s->held_size) {
        const size_t stop = until < s->held_size ? until : s->held_size;
        ST_TRY(st_flow_feed(&front->flow, s->held + from, stop - from, end && stop == until));
        if (stop == until)
            return ST_OK;
        from = stop;
    }
    return st_flow_feed(&front->flow, s->text + (from - s->held_size), until - from, end);
}

static st_status end_part(st_front *front, const stretch *s, size_t from, size_t until, const st_front_sink *sink)
{
    ST_TRY(normalize(front, s, from, until, 1));
    return sink->end(sink->context);
}

static st_status feed_with_names(st_front *front, const uint8_t *text, size_t n, int final, const st_front_sink *sink)
{
    stretch s = {NULL, text, 0};
    st_special_search search = st_special_search_behind(front->names, front->node);
    if (front->node)
        s.held = st_special_bytes(front->names, front->node, &s.held_size);
    for (size_t at = 0;;) {
        st_special_match match;
        const st_special_result result = st_special_find(front->names, &search, text, SIZE_MAX, n, final, &match);
        ST_TRY(st_go_on(0)); /* a search that was ended early finds nothing */
        if (result != ST_SPECIAL_FOUND) {
            front->node = search.node;
            const size_t until = result == ST_SPECIAL_HELD ? match.start : s.held_size + n;
            return final ? end_part(front, &s, at, until, sink) : normalize(front, &s, at, until, 0);
        }
        ST_TRY(end_part(front, &s, at, match.start, sink));
        ST_TRY(sink->name(sink->context, match.id));
        front->flow.later = 1;
        at = match.end;
    }
}

st_status st_front_feed(st_front *front, const uint8_t *text, size_t n, int final, const st_front_sink *sink)
{
    front->flow.sink = sink->text;
    front->flow.context = sink->context;
    if (front->names)
        return feed_with_names(front, text, n, final, sink);
    ST_TRY(st_flow_feed(&front->flow, text, n, final));
    return final ? sink->end(sink->context) : ST_OK;
}

/* ---- from feed to feed ---- */

void st_front_mark(const st_front *front, st_front_marks *marks)
{
    marks->node = front->node;
    marks->later = front->flow.later;
    st_flow_mark(&front->flow, &marks->flow);
}

void st_front_roll_back(st_front *front, const st_front_marks *marks)
{
    front->node = marks->node;
    front->flow.later = marks->later;
    st_flow_roll_back(&front->flow, &marks->flow);
}

void st_front_commit(st_front *front)
{
    st_flow_commit(&front->flow);
}

st_status st_front_copy(st_front *target, const st_front *source)
{
    target->node = source->node;
    return st_flow_copy(&target->flow, &source->flow);
}
