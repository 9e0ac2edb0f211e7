/* The step that brings a text into a normal form, as UAX #15 describes. */
#include "base/interrupt.h"
#include "normal/quick.h"
#include "normal/step.h"

/* Marks behind each other: up to this many are sorted by insertion, more by counting. */
#define FEW 12

/* A character of a run. change: 0 it stands for one character of the text; 1 it is new; below 0 it stands for so many more. */
typedef struct glyph {
    uint32_t point;
    uint16_t rank; /* of the combining class */
    int16_t change;
} glyph;

/* ---- one run ---- */

static st_status decompose_run(st_form form, const uint8_t *text, size_t n, st_bytes *glyphs)
{
    unsigned size;
    glyphs->size = 0;
    for (size_t at = 0; at < n; at += size) {
        uint32_t parts[ST_MOST_PARTS];
        const unsigned count = st_decompose(form, st_utf8_decode(text + at, &size), parts);
        ST_TRY(st_bytes_reserve(glyphs, count * sizeof(glyph)));
        glyph *to = (glyph *)(void *)(glyphs->data + glyphs->size);
        for (unsigned i = 0; i < count; i++) {
            const glyph g = {parts[i], (uint16_t)st_class_of_entry(st_normal_entry(parts[i])), i > 0};
            to[i] = g;
        }
        glyphs->size += count * sizeof(glyph);
    }
    return ST_OK;
}

static void sort_few(glyph *g, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const glyph moved = g[i];
        size_t to = i;
        for (; to && g[to - 1].rank > moved.rank; to--)
            g[to] = g[to - 1];
        g[to] = moved;
    }
}

static st_status sort_many(glyph *g, size_t n, st_bytes *spare)
{
    size_t first[ST_ENTRY_CLASS + 2] = {0};
    spare->size = 0;
    ST_TRY(st_bytes_reserve(spare, n * sizeof(glyph)));
    glyph *sorted = (glyph *)(void *)spare->data;
    for (size_t i = 0; i < n; i++)
        first[g[i].rank + 1]++;
    for (unsigned i = 0; i <= ST_ENTRY_CLASS; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < n; i++)
        sorted[first[g[i].rank]++] = g[i];
    memcpy(g, sorted, n * sizeof(glyph));
    return ST_OK;
}

/* Puts the marks behind each starter in the order of their classes; those of one class stay as they are. */
static st_status sort_marks(glyph *g, size_t n, st_bytes *spare)
{
    for (size_t at = 0, end; at < n; at = end) {
        end = at + 1;
        if (!g[at].rank)
            continue;
        while (end < n && g[end].rank)
            end++;
        if (end - at <= FEW)
            sort_few(g + at, end - at);
        else
            ST_TRY(sort_many(g + at, end - at, spare));
    }
    return ST_OK;
}

/* Returns how many are left. A character composes with the starter in front unless one between them stands in the way. */
static size_t compose_run(glyph *g, size_t n)
{
    size_t kept = 0;
    glyph *starter = NULL;
    unsigned between = 0; /* rank of the last one behind the starter */
    for (size_t i = 0; i < n; i++) {
        const glyph here = g[i];
        int joins;
        if (starter && (!between || between < here.rank)) {
            const uint32_t made = st_compose_or_join(starter->point, here.point, &joins);
            if (made != ST_NO_CHAR) {
                starter->point = made;
                starter->change = (int16_t)(starter->change + here.change - 1);
                continue;
            }
        }
        between = here.rank;
        if (!between)
            starter = g + kept;
        g[kept++] = here;
    }
    return kept;
}

/* Each character's place in the text: tokenizers counts off the characters that the earlier ones stand for. */
static st_status put_run(st_flow *flow, size_t step, const glyph *g, size_t n, st_part run)
{
    const int is_asked = flow->traced || run.begun;
    uint8_t bytes[4];
    size_t at = 0; /* in the run */
    for (size_t i = 0; i < n; i++) {
        const size_t from = g[i].change > 0 && at ? at - 1 : at;
        const size_t source = is_asked ? st_source_at(run, from) : 1;
        for (int left = 1 - g[i].change; is_asked && left > 0 && at < run.n; left--)
            at += st_utf8_size(run.text[at]);
        ST_TRY(st_step_put(flow, step, bytes, st_utf8_write(bytes, g[i].point), source));
    }
    return ST_OK;
}

static st_status normalize_run(st_flow *flow, size_t step, st_part run)
{
    const st_form form = flow->normalizer->steps[step].form;
    st_step_state *state = &flow->states[step];
    ST_TRY(decompose_run(form, run.text, run.n, &state->glyphs));
    glyph *g = (glyph *)(void *)state->glyphs.data;
    size_t n = state->glyphs.size / sizeof(glyph);
    ST_TRY(sort_marks(g, n, &state->spare));
    if (st_form_composes(form))
        n = compose_run(g, n);
    ST_TRY(put_run(flow, step, g, n, run));
    return st_go_on(run.n);
}

/* ---- where runs begin ---- */

/* The first place in text[from..n), behind text[0], where a run begins; n = none. */
static size_t next_run(st_form form, const uint8_t *text, size_t from, size_t n)
{
    size_t at = from;
    while (at < n && !st_starts_run(form, text + at, at ? text + at - st_utf8_size_before(text, at) : NULL))
        at += st_utf8_size(text[at]);
    return at;
}

/* The last place in text[0..at] where a run begins; one begins at 0. */
static size_t run_of(st_form form, const uint8_t *text, size_t at)
{
    while (at) {
        const size_t before = at - st_utf8_size_before(text, at);
        if (st_starts_run(form, text + at, text + before))
            break;
        at = before;
    }
    return at;
}

/* How much of a text no later text can change. A run begins with the text. */
static size_t sure_part(st_form form, const uint8_t *text, size_t n)
{
    unsigned size;
    if (!n)
        return 0;
    const size_t last = n - st_utf8_size_before(text, n), run = run_of(form, text, last);
    return run == last && st_is_inert(form, st_utf8_decode(text + last, &size)) ? n : run;
}

/* ---- the step ---- */

/* The run that was held goes on in the part. *used: how much of the part was taken. */
static st_status finish_held(st_flow *flow, size_t step, st_part part, int end, size_t *used)
{
    const st_form form = flow->normalizer->steps[step].form;
    const st_part held = st_step_held(flow, step);
    size_t at = 0;
    if (part.n && !st_starts_run(form, part.text, held.text + held.n - st_utf8_size_before(held.text, held.n)))
        at = next_run(form, part.text, st_utf8_size(part.text[0]), part.n);
    ST_TRY(st_step_hold(flow, step, st_part_of(part, 0, at)));
    *used = at;
    if (at == part.n && !end)
        return ST_OK;
    ST_TRY(normalize_run(flow, step, st_step_held(flow, step)));
    st_step_drop_held(flow, step);
    return ST_OK;
}

st_status st_step_form(st_flow *flow, size_t step, st_part part, int end)
{
    const st_form form = flow->normalizer->steps[step].form;
    size_t used = 0;
    if (st_step_held(flow, step).n) {
        ST_TRY(finish_held(flow, step, part, end, &used));
        part = st_part_of(part, used, part.n);
        if (st_step_held(flow, step).n)
            return ST_OK;
    }
    const size_t sure = end ? part.n : sure_part(form, part.text, part.n);
    for (size_t at = 0, stop; at < sure; at = stop) {
        const uint8_t *text = part.text + at;
        const size_t known = at || used || step ? 0 : flow->plain;
        const size_t plain = known > sure - at ? sure - at : known ? known : st_normal_quick(form, text, sure - at);
        const size_t run = plain < sure - at ? run_of(form, text, plain) : plain;
        stop = at + run;
        ST_TRY(st_step_pass(flow, step, st_part_of(part, at, stop), stop == sure));
        if (stop == sure)
            break;
        stop = at + next_run(form, text, run + st_utf8_size(text[run]), sure - at);
        ST_TRY(normalize_run(flow, step, st_part_of(part, at + run, stop)));
    }
    return st_step_hold(flow, step, st_part_of(part, sure, part.n));
}

int st_step_form_may_hold(st_form form, const uint8_t *text, size_t n)
{
    return !sure_part(form, text, n);
}
