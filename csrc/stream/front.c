#include "stream/front.h"

void st_front_use(st_front *front, const st_normalizer *normalizer, const st_special *names)
{
    front->is_on = 1;
    front->names.names = names;
    const int splits = normalizer && normalizer->count && normalizer->steps[normalizer->count - 1].kind == ST_STEP_PIECES;
    const st_normalizer *behind = splits || !normalizer ? normalizer : normalizer->behind;
    st_flow_init(&front->flow, splits ? NULL : normalizer);
    st_flow_init(&front->behind, behind);
    st_flow_init(&front->piece, behind ? behind->behind : NULL);
    front->late.names = names && names->late && (names->late->flags || front->behind.normalizer) ? names->late : NULL;
}

void st_front_free(st_front *front)
{
    st_cutter_free(&front->names);
    st_cutter_free(&front->late);
    st_flow_free(&front->flow);
    if (front->behind.normalizer) {
        st_flow_free(&front->behind);
        st_flow_free(&front->piece);
    }
}

void st_front_reset(st_front *front)
{
    st_cutter_reset(&front->names);
    st_cutter_reset(&front->late);
    front->flow.later = front->behind.later = 0;
    st_flow_reset(&front->flow);
    if (front->behind.normalizer) {
        st_flow_reset(&front->behind);
        st_flow_reset(&front->piece);
    }
}

size_t st_front_held(const st_front *front)
{
    return st_cutter_held(&front->names) + st_flow_held(&front->flow) + st_cutter_held(&front->late) + st_flow_held(&front->behind) +
           st_flow_held(&front->piece);
}

/* ---- a feed ---- */

typedef struct stages {
    st_front *front;
    const st_cutter_sink *sink, *late; /* of the late names: the sink itself, or what is done behind them */
} stages;

static st_status take_normal(void *context, const uint8_t *text, const size_t *source, size_t n)
{
    const stages *s = context;
    (void)source;
    return st_cutter_feed(&s->front->late, text, n, 0, s->late);
}

static st_status take_text(void *context, const uint8_t *text, size_t n)
{
    const stages *s = context;
    return st_flow_feed(&s->front->flow, text, n, 0);
}

static st_status take_end(void *context)
{
    static const uint8_t nothing[1];
    const stages *s = context;
    ST_TRY(st_flow_feed(&s->front->flow, nothing, 0, 1));
    return st_cutter_feed(&s->front->late, nothing, 0, 1, s->late);
}

static st_status take_name(void *context, uint32_t id, const uint8_t *text)
{
    const stages *s = context;
    s->front->flow.later = s->front->behind.later = 1;
    return s->sink->name(s->sink->context, id, text);
}

static st_status take_between(void *context, const uint8_t *text, size_t n)
{
    const stages *s = context;
    return st_flow_feed(&s->front->behind, text, n, 0);
}

static st_status end_between(void *context)
{
    static const uint8_t nothing[1];
    const stages *s = context;
    ST_TRY(st_flow_feed(&s->front->behind, nothing, 0, 1));
    return s->sink->end(s->sink->context);
}

static st_status take_late_name(void *context, uint32_t id, const uint8_t *text)
{
    const stages *s = context;
    s->front->behind.later = 1;
    return s->sink->name(s->sink->context, id, text);
}

static st_status take_last(void *context, const uint8_t *text, const size_t *source, size_t n)
{
    const stages *s = context;
    (void)source;
    return s->sink->text(s->sink->context, text, n);
}

/* Text with ST_PIECE_END behind each piece. */
static st_status take_pieces(void *context, const uint8_t *text, const size_t *source, size_t n)
{
    const stages *s = context;
    (void)source;
    for (size_t at = 0; at < n;) {
        const uint8_t *border = memchr(text + at, ST_PIECE_END, n - at);
        const size_t stop = border ? (size_t)(border - text) : n;
        ST_TRY(st_flow_feed(&s->front->piece, text + at, stop - at, border != NULL));
        if (border)
            ST_TRY(s->sink->end(s->sink->context));
        at = stop + (border != NULL);
    }
    return ST_OK;
}

st_status st_front_feed(st_front *front, const uint8_t *text, size_t n, int final, const st_cutter_sink *sink)
{
    stages s = {front, sink, sink};
    const st_cutter_sink next = {take_text, take_end, take_name, &s}, between = {take_between, end_between, take_late_name, &s};
    front->flow.sink = take_normal;
    front->behind.sink = front->piece.normalizer ? take_pieces : take_last;
    front->piece.sink = take_last;
    front->flow.context = front->behind.context = front->piece.context = &s;
    if (front->behind.normalizer)
        s.late = &between;
    return st_cutter_feed(&front->names, text, n, final, &next);
}

/* ---- from feed to feed ---- */

void st_front_mark(const st_front *front, st_front_marks *marks)
{
    st_cutter_mark(&front->names, &marks->names);
    st_cutter_mark(&front->late, &marks->late);
    marks->later = front->flow.later;
    marks->behind_later = front->behind.later;
    st_flow_mark(&front->flow, &marks->flow);
    if (front->behind.normalizer) {
        st_flow_mark(&front->behind, &marks->behind);
        st_flow_mark(&front->piece, &marks->piece);
    }
}

void st_front_roll_back(st_front *front, const st_front_marks *marks)
{
    st_cutter_roll_back(&front->names, &marks->names);
    st_cutter_roll_back(&front->late, &marks->late);
    front->flow.later = marks->later;
    front->behind.later = marks->behind_later;
    st_flow_roll_back(&front->flow, &marks->flow);
    if (front->behind.normalizer) {
        st_flow_roll_back(&front->behind, &marks->behind);
        st_flow_roll_back(&front->piece, &marks->piece);
    }
}

void st_front_commit(st_front *front)
{
    st_cutter_commit(&front->names);
    st_cutter_commit(&front->late);
    st_flow_commit(&front->flow);
    if (front->behind.normalizer) {
        st_flow_commit(&front->behind);
        st_flow_commit(&front->piece);
    }
}

st_status st_front_copy(st_front *target, const st_front *source)
{
    ST_TRY(st_cutter_copy(&target->names, &source->names));
    ST_TRY(st_cutter_copy(&target->late, &source->late));
    ST_TRY(st_flow_copy(&target->flow, &source->flow));
    ST_TRY(st_flow_copy(&target->behind, &source->behind));
    return st_flow_copy(&target->piece, &source->piece);
}
