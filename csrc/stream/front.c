#include "stream/front.h"

void st_front_use(st_front *front, const st_normalizer *normalizer, const st_special *names)
{
    front->is_on = 1;
    front->names.names = names;
    const int splits = normalizer && st_normalizer_splits(normalizer);
    st_flow_init(&front->flows[0], splits ? NULL : normalizer);
    front->count = 1;
    const st_normalizer *next = splits || !normalizer ? normalizer : normalizer->behind;
    for (; next && front->count < ST_FRONT_FLOWS; next = next->behind)
        st_flow_init(&front->flows[front->count++], next);
    front->late.names = names && names->late && (names->late->flags || front->count > 1) ? names->late : NULL;
}

void st_front_free(st_front *front)
{
    st_cutter_free(&front->names);
    st_cutter_free(&front->late);
    for (size_t i = 0; i < front->count; i++)
        st_flow_free(&front->flows[i]);
}

void st_front_reset(st_front *front)
{
    st_cutter_reset(&front->names);
    st_cutter_reset(&front->late);
    for (size_t i = 0; i < front->count; i++) {
        front->flows[i].later = 0;
        st_flow_reset(&front->flows[i]);
    }
}

size_t st_front_held(const st_front *front)
{
    size_t held = st_cutter_held(&front->names) + st_cutter_held(&front->late);
    for (size_t i = 0; i < front->count; i++)
        held += st_flow_held(&front->flows[i]);
    return held;
}

/* ---- a feed ---- */

/* Takes parts of a text for the flow with number `at`. What ends there goes to `late`, which is NULL behind the late names. */
typedef struct stage {
    st_front *front;
    size_t at;
    const st_cutter_sink *sink, *late;
} stage;

static const uint8_t nothing[1];

static st_status take_text(void *context, const uint8_t *text, size_t n)
{
    const stage *s = context;
    return st_flow_feed(&s->front->flows[s->at], text, n, 0);
}

static st_status take_end(void *context)
{
    const stage *s = context;
    ST_TRY(st_flow_feed(&s->front->flows[s->at], nothing, 0, 1));
    return s->late ? st_cutter_feed(&s->front->late, nothing, 0, 1, s->late) : s->sink->end(s->sink->context);
}

static st_status take_name(void *context, uint32_t id, const uint8_t *text)
{
    const stage *s = context;
    for (size_t i = s->at; i < s->front->count && i < ST_FRONT_PIECE; i++)
        s->front->flows[i].later = 1;
    return s->sink->name(s->sink->context, id, text);
}

static st_status to_late_names(void *context, const uint8_t *text, const size_t *source, size_t n)
{
    const stage *s = context;
    (void)source;
    return st_cutter_feed(&s->front->late, text, n, 0, s->late);
}

static st_status to_sink(void *context, const uint8_t *text, const size_t *source, size_t n)
{
    const stage *s = context;
    (void)source;
    return s->sink->text(s->sink->context, text, n);
}

/* Text with ST_PIECE_END behind each piece, from the flow in front. */
static st_status to_pieces(void *context, const uint8_t *text, const size_t *source, size_t n)
{
    const stage *s = context;
    const size_t begun = s->front->flows[s->at - 1].begun;
    const int is_last = s->at + 1 == s->front->count;
    (void)source;
    for (size_t at = 0; at < n;) {
        const uint8_t *border = memchr(text + at, ST_PIECE_END, n - at);
        const size_t stop = border ? (size_t)(border - text) : n;
        ST_TRY(st_flow_feed_piece(&s->front->flows[s->at], text + at, stop - at, st_begun_from(begun, at, stop - at), border != NULL));
        if (border && is_last)
            ST_TRY(s->sink->end(s->sink->context));
        at = stop + (border != NULL);
    }
    return ST_OK;
}

st_status st_front_feed(st_front *front, const uint8_t *text, size_t n, int final, const st_cutter_sink *sink)
{
    stage behind[ST_FRONT_FLOWS] = {{NULL, 0, NULL, NULL}}, whole = {front, 0, sink, sink};
    const st_cutter_sink between = {take_text, take_end, take_name, &behind[1]}, next = {take_text, take_end, take_name, &whole};
    for (size_t i = front->count; i-- > 1;) {
        const size_t to = i + 1 < front->count ? i + 1 : i;
        behind[i] = (stage){front, i, sink, NULL};
        front->flows[i].sink = to > i ? to_pieces : to_sink;
        front->flows[i].context = &behind[to];
        whole.late = &between;
    }
    front->flows[0].sink = to_late_names;
    front->flows[0].context = &whole;
    return st_cutter_feed(&front->names, text, n, final, &next);
}

/* ---- from feed to feed ---- */

void st_front_mark(const st_front *front, st_front_marks *marks)
{
    st_cutter_mark(&front->names, &marks->names);
    st_cutter_mark(&front->late, &marks->late);
    for (size_t i = 0; i < front->count; i++) {
        marks->later[i] = front->flows[i].later;
        st_flow_mark(&front->flows[i], &marks->flows[i]);
    }
}

void st_front_roll_back(st_front *front, const st_front_marks *marks)
{
    st_cutter_roll_back(&front->names, &marks->names);
    st_cutter_roll_back(&front->late, &marks->late);
    for (size_t i = 0; i < front->count; i++) {
        front->flows[i].later = marks->later[i];
        st_flow_roll_back(&front->flows[i], &marks->flows[i]);
    }
}

void st_front_commit(st_front *front)
{
    st_cutter_commit(&front->names);
    st_cutter_commit(&front->late);
    for (size_t i = 0; i < front->count; i++)
        st_flow_commit(&front->flows[i]);
}

st_status st_front_copy(st_front *target, const st_front *source)
{
    ST_TRY(st_cutter_copy(&target->names, &source->names));
    ST_TRY(st_cutter_copy(&target->late, &source->late));
    for (size_t i = 0; i < source->count; i++)
        ST_TRY(st_flow_copy(&target->flows[i], &source->flows[i]));
    return ST_OK;
}
