/* A text on its way through the steps of a normalizer. */
#include "base/alloc.h"
#include "base/interrupt.h"
#include "normal/quick.h"
#include "normal/step.h"
#include "split/scan.h"

/* ---- traced text ---- */

/* n bytes were appended behind what is kept, which begins at `start`; the first `begun` come from the first character. */
static void note_begun(st_traced *traced, size_t start, size_t n, size_t begun)
{
    const size_t before = traced->text.size - n;
    if (begun && (before == start || before == traced->begun))
        traced->begun = before + begun;
}

static st_status append_part(st_traced *traced, size_t start, st_part part)
{
    ST_TRY(st_bytes_append(&traced->text, part.text, part.n));
    note_begun(traced, start, part.n, part.begun);
    return part.source ? st_bytes_append(&traced->source, part.source, part.n * sizeof *part.source) : ST_OK;
}

static void free_traced(st_traced *traced)
{
    st_bytes_free(&traced->text);
    st_bytes_free(&traced->source);
}

static void resize(st_traced *traced, size_t size)
{
    traced->text.size = size;
    traced->begun = traced->begun < size ? traced->begun : size;
    if (traced->source.data)
        traced->source.size = size * sizeof(size_t);
}

static st_part part_of(const st_traced *traced, size_t start)
{
    static const uint8_t nothing[1];
    const size_t *source = (const size_t *)(const void *)traced->source.data;
    const st_part part = {traced->text.data ? traced->text.data + start : nothing, source ? source + start : NULL,
                          traced->text.size - start, traced->begun > start ? traced->begun - start : 0};
    return part;
}

/* ---- what steps call ---- */

st_part st_step_held(const st_flow *flow, size_t step)
{
    return part_of(&flow->states[step].held, flow->states[step].start);
}

void st_step_drop_held(st_flow *flow, size_t step)
{
    flow->states[step].start = flow->states[step].held.text.size;
}

/* Frees what was held and dropped since the feed began; moves no more than it frees. */
static void tidy(st_step_state *state)
{
    const size_t size = state->held.text.size, held = size - state->start;
    if (state->start < state->kept || state->start - state->kept < held + ST_NORMAL_DIRECT)
        return;
    memmove(state->held.text.data + state->kept, state->held.text.data + state->start, held);
    if (state->held.source.data) {
        size_t *source = (size_t *)(void *)state->held.source.data;
        memmove(source + state->kept, source + state->start, held * sizeof *source);
    }
    const size_t begun = state->held.begun, gone = state->start - state->kept;
    state->held.begun = begun > state->start ? begun - gone : begun < state->kept ? begun : state->kept;
    state->start = state->kept;
    resize(&state->held, state->kept + held);
}

st_status st_step_hold(st_flow *flow, size_t step, st_part part)
{
    tidy(&flow->states[step]);
    return append_part(&flow->states[step].held, flow->states[step].start, part);
}

static st_status run_step(st_flow *flow, size_t step, st_part part, int end)
{
    static st_step_function *const functions[] = {st_step_form,    st_step_lower, st_step_replace, st_step_class,
                                                  st_step_prepend, st_step_strip, st_step_clean, st_step_map,
                                                  st_step_words,   st_step_sentence, st_step_matches, st_step_matches,
                                                  st_step_letters};
    return functions[flow->normalizer->steps[step].kind](flow, step, part, end);
}

static st_status to_sink(st_flow *flow, st_part part)
{
    flow->begun = part.begun;
    return flow->sink(flow->context, part.text, part.source, part.n);
}

static st_status give_on(st_flow *flow, size_t step, st_part part)
{
    if (!part.n)
        return ST_OK;
    ST_TRY(st_go_on(part.n)); /* each step may make more than it is given, and a later one may drop it all */
    if (step + 1 == flow->normalizer->count)
        return to_sink(flow, part);
    return run_step(flow, step + 1, part, 0);
}

static st_status flush(st_flow *flow, size_t step)
{
    st_traced *out = &flow->states[step].out;
    const st_status status = give_on(flow, step, part_of(out, 0));
    resize(out, 0);
    return status;
}

/* Hands on what was made if it is much, and ends with a whole character. */
st_status st_step_made(st_flow *flow, size_t step)
{
    const st_bytes *made = &flow->states[step].out.text;
    return made->size < ST_NORMAL_BLOCK || st_utf8_unfinished(made->data, made->size) ? ST_OK : flush(flow, step);
}

st_status st_step_hand_on(st_flow *flow, size_t step, size_t last, int *holds)
{
    *holds = 0;
    for (size_t i = step; i < last; i++) {
        ST_TRY(flush(flow, i));
        *holds |= st_step_held(flow, i).n > 0 || flow->states[i].matched;
    }
    return ST_OK;
}

st_status st_step_pass(st_flow *flow, size_t step, st_part part, int last)
{
    st_traced *out = &flow->states[step].out;
    size_t rest = 0; /* of a character whose first bytes were handed on before */
    if (part.n < ST_NORMAL_DIRECT && (!last || out->text.size)) {
        ST_TRY(append_part(out, 0, part));
        return st_step_made(flow, step);
    }
    while (rest < part.n && st_utf8_is_continuation(part.text[rest]))
        rest++;
    ST_TRY(append_part(out, 0, st_part_of(part, 0, rest)));
    ST_TRY(flush(flow, step));
    return give_on(flow, step, st_part_of(part, rest, part.n));
}

st_status st_step_put(st_flow *flow, size_t step, const uint8_t *text, size_t n, size_t source)
{
    st_traced *out = &flow->states[step].out;
    ST_TRY(st_bytes_append(&out->text, text, n));
    note_begun(out, 0, n, source ? 0 : n);
    for (size_t i = 0; flow->traced && i < n; i++)
        ST_TRY(st_bytes_append(&out->source, &source, sizeof source));
    return st_step_made(flow, step);
}

/* ---- a text on its way ---- */

void st_flow_init(st_flow *flow, const st_normalizer *normalizer)
{
    memset(flow, 0, sizeof *flow);
    flow->normalizer = normalizer;
}

size_t st_flow_steps(const st_flow *flow)
{
    return flow->normalizer ? flow->normalizer->count : 0;
}

static size_t count_of(const st_flow *flow)
{
    return flow->states ? flow->normalizer->count : 0;
}

void st_flow_free(st_flow *flow)
{
    for (size_t i = 0; i < count_of(flow); i++) {
        st_step_state *state = &flow->states[i];
        free_traced(&state->held);
        free_traced(&state->out);
        st_bytes_free(&state->glyphs);
        st_bytes_free(&state->spare);
    }
    st_free(flow->states);
    flow->states = NULL;
}

static void reset_step(st_step_state *state)
{
    resize(&state->held, 0);
    resize(&state->out, 0);
    state->start = state->matched = state->looked = 0;
    state->begun = 0;
}

void st_flow_reset(st_flow *flow)
{
    for (size_t i = 0; i < count_of(flow); i++)
        reset_step(&flow->states[i]);
    for (size_t i = 0; i < count_of(flow); i++)
        if (st_step_scans(&flow->normalizer->steps[i]))
            st_scan_init(&flow->states[i].scan);
    flow->at = 0;
}

/* How much of a whole text is in the one form asked for. */
static size_t plain_part(const st_flow *flow, size_t count, const uint8_t *text, size_t n, int end)
{
    const st_step *only = flow->normalizer ? flow->normalizer->steps : NULL;
    if (!end || flow->states || flow->traced || count != 1 || only->kind != ST_STEP_FORM)
        return 0;
    return st_normal_quick(only->form, text, n);
}

/* Bytes of a text that the first step takes before it is asked whether to go on: some of a millisecond, 50 where each matches. */
#define TAKEN_AT_ONCE ((size_t)1 << 20)

/* The first step takes a part, slice by slice. */
static st_status run_first(st_flow *flow, st_part part, int end)
{
    size_t at = 0;
    while (part.n - at > TAKEN_AT_ONCE) {
        size_t stop = at + TAKEN_AT_ONCE;
        while (st_utf8_is_continuation(part.text[stop]))
            stop--;
        const size_t plain = flow->plain;
        flow->plain = plain < stop - at ? plain : stop - at;
        ST_TRY(run_step(flow, 0, st_part_of(part, at, stop), 0));
        ST_TRY(st_go_on(stop - at));
        flow->plain = plain - flow->plain;
        at = stop;
    }
    return run_step(flow, 0, st_part_of(part, at, part.n), end);
}

static st_status run_steps(st_flow *flow, st_part part, int end)
{
    const size_t count = st_flow_steps(flow);
    st_status status = count || !part.n ? ST_OK : to_sink(flow, part);
    for (size_t i = 0; i < count && !status; i++, part.n = part.begun = 0) {
        if (end || !i)
            status = i ? run_step(flow, i, part, end) : run_first(flow, part, end);
        if (!status)
            status = flush(flow, i);
    }
    for (size_t i = 0; i < count; i++) {
        resize(&flow->states[i].out, 0);
        if (end && !status) { /* what was held before stays in front of `start`, for st_flow_roll_back */
            st_step_drop_held(flow, i);
            flow->states[i].matched = flow->states[i].looked = 0;
            flow->states[i].begun = 0;
            if (st_step_scans(&flow->normalizer->steps[i]))
                st_scan_init(&flow->states[i].scan);
        }
    }
    return status;
}

static st_status feed_traced(st_flow *flow, const uint8_t *text, size_t n, size_t begun, int end)
{
    st_bytes source = {NULL, 0, 0};
    st_status status = st_bytes_reserve(&source, n * sizeof(size_t) + 1);
    size_t *sources = (size_t *)(void *)source.data;
    for (size_t at = 0; !status && at < n; at++)
        sources[at] = st_utf8_is_continuation(text[at]) || (at && at < begun) ? sources[at - 1] : flow->at + at;
    if (!status) {
        const st_part part = {text, sources, n, begun};
        status = run_steps(flow, part, end);
    }
    st_bytes_free(&source);
    return status;
}

/* Room for what the steps hold. */
static st_status make_states(st_flow *flow)
{
    const size_t count = st_flow_steps(flow);
    if (count && !flow->states)
        flow->states = st_calloc(count, sizeof *flow->states);
    return count && !flow->states ? ST_NO_MEMORY : ST_OK;
}

st_status st_flow_feed(st_flow *flow, const uint8_t *text, size_t n, int end)
{
    return st_flow_feed_piece(flow, text, n, n && !flow->at && !flow->later ? st_utf8_size(text[0]) : 0, end);
}

st_status st_flow_feed_piece(st_flow *flow, const uint8_t *text, size_t n, size_t begun, int end)
{
    const st_part part = {text, NULL, n, begun};
    const size_t count = st_flow_steps(flow);
    flow->plain = plain_part(flow, count, text, n, end);
    if (n && flow->plain == n) /* nothing is held: no state is needed */
        return to_sink(flow, part);
    ST_TRY(make_states(flow));
    for (size_t i = 0; i < count; i++)
        flow->states[i].kept = flow->states[i].held.text.size;
    const st_status status = flow->traced ? feed_traced(flow, text, n, part.begun, end) : run_steps(flow, part, end);
    flow->at = end && !status ? 0 : flow->at + n;
    return status;
}

size_t st_flow_held(const st_flow *flow)
{
    size_t held = 0;
    for (size_t i = 0; i < count_of(flow); i++)
        held += flow->states[i].held.text.size - flow->states[i].start;
    return held;
}

/* ---- rolling back ---- */

void st_flow_mark(const st_flow *flow, st_flow_marks *marks)
{
    marks->count = count_of(flow);
    marks->at = flow->at;
    for (size_t i = 0; i < marks->count; i++) {
        const st_step_state *state = &flow->states[i];
        st_step_mark *mark = &marks->steps[i];
        mark->start = state->start;
        mark->size = state->held.text.size;
        mark->matched = state->matched;
        mark->looked = state->looked;
        mark->first = state->held.begun;
        mark->begun = state->begun;
        if (st_step_scans(&flow->normalizer->steps[i]))
            mark->scan = state->scan;
    }
}

void st_flow_roll_back(st_flow *flow, const st_flow_marks *marks)
{
    if (!marks->count)
        st_flow_reset(flow);
    flow->at = marks->at;
    for (size_t i = 0; i < marks->count; i++) {
        const st_step_mark *mark = &marks->steps[i];
        st_step_state *state = &flow->states[i];
        resize(&state->held, mark->size);
        resize(&state->out, 0);
        state->held.begun = mark->first;
        state->start = mark->start;
        state->matched = mark->matched;
        state->looked = mark->looked;
        state->begun = mark->begun;
        if (st_step_scans(&flow->normalizer->steps[i]))
            state->scan = mark->scan;
    }
}

void st_flow_commit(st_flow *flow)
{
    for (size_t i = 0; i < count_of(flow); i++) {
        st_step_state *state = &flow->states[i];
        const size_t held = state->held.text.size - state->start;
        if (state->start < held) /* to move them would take longer than what it frees: linear */
            continue;
        st_bytes_drop(&state->held.text, state->start);
        state->held.begun -= state->held.begun < state->start ? state->held.begun : state->start;
        if (state->held.source.data)
            st_bytes_drop(&state->held.source, state->start * sizeof(size_t));
        state->start = 0;
    }
}

/* ---- saving ---- */

st_step_holds st_flow_holds(const st_flow *flow, size_t step)
{
    static const st_scan nothing;
    const int scans = st_step_scans(&flow->normalizer->steps[step]);
    st_step_holds holds = {0, 0, NULL, 0, 0, scans ? &nothing : NULL};
    if (flow->states) {
        const st_step_state *state = &flow->states[step];
        const st_part held = st_step_held(flow, step);
        holds = (st_step_holds){state->matched, state->begun, held.text, held.n, held.begun, scans ? &state->scan : NULL};
    }
    return holds;
}

st_status st_flow_restore(st_flow *flow, size_t step, const st_step_holds *holds)
{
    const st_part held = {holds->text, NULL, holds->n, holds->first};
    if (!st_step_may_hold(&flow->normalizer->steps[step], holds))
        return ST_BAD_STATE;
    ST_TRY(make_states(flow));
    flow->states[step].matched = holds->matched;
    flow->states[step].begun = holds->begun;
    if (holds->scan)
        flow->states[step].scan = *holds->scan;
    return st_step_hold(flow, step, held);
}

st_status st_flow_copy(st_flow *target, const st_flow *source)
{
    st_flow_reset(target);
    target->at = source->at;
    target->later = source->later;
    target->traced = source->traced;
    if (!source->states)
        return ST_OK;
    ST_TRY(make_states(target));
    for (size_t i = 0; i < st_flow_steps(source); i++) {
        target->states[i].matched = source->states[i].matched;
        target->states[i].looked = source->states[i].looked;
        target->states[i].begun = source->states[i].begun;
        target->states[i].scan = source->states[i].scan;
        const st_status status = st_step_hold(target, i, st_step_held(source, i));
        if (status) {
            st_flow_reset(target);
            return status;
        }
    }
    return ST_OK;
}
