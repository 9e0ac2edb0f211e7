/* A compiled map of characters as tokenizers applies it. A grapheme cluster of fewer than six bytes that a text of the map begins
 * becomes what the shortest such text does, all of it; else each character by itself does, if the map has it.
 *
 * So a cluster waits for its end as long as it is short. `matched` is what is known of the cluster (clusters.h), with a bit above for one
 * that is long, of which nothing is held.
 *
 * Places are those of tokenizers: of a replacement the first characters have those of the characters that it replaces, further ones that
 * of the last. A character that is left out is counted to the one in front; where none is, nobody counts it, and all further places lag
 * behind by so many characters. */
#include "normal/charsmap.h"
#include "normal/clusters.h"
#include "normal/step.h"

#define SHORT 6
#define LONG ST_CLUSTER_STATES
#define FROM_FIRST (2 * ST_CLUSTER_STATES) /* nothing was put yet, and the first character was left out */
#define ADDED (4 * ST_CLUSTER_STATES)      /* of a text whose places are asked for: the last character put stands for none of it */
#define FLAGS (FROM_FIRST | ADDED)

typedef struct mapping {
    st_flow *flow;
    size_t step;
    const st_step *s;
    st_step_state *state;
    st_charsmap map;
} mapping;

/* Where places lag, the sources of the characters that nobody has counted yet: in `spare`, from `glyphs`.size on, in numbers. */
static size_t lag_of(const mapping *m)
{
    return m->flow->traced ? m->state->spare.size / sizeof(size_t) - m->state->glyphs.size : 0;
}

/* The place that the next character takes which stands for one at `source`. */
static st_status count_one(mapping *m, size_t *source)
{
    if (!lag_of(m))
        return ST_OK;
    ST_TRY(st_bytes_append(&m->state->spare, source, sizeof *source));
    memcpy(source, m->state->spare.data + m->state->glyphs.size++ * sizeof *source, sizeof *source);
    return ST_OK;
}

/* The last character that was put, which stands for none, stands for one at `source` after all. */
static void take_place(mapping *m, size_t source)
{
    const st_bytes *made = &m->state->out.text;
    size_t *sources = (size_t *)(void *)m->state->out.source.data;
    for (size_t at = made->size, is_inside = m->state->matched & ADDED && at; is_inside; is_inside = st_utf8_is_continuation(made->data[at]))
        sources[--at] = source;
    m->state->matched &= ~(size_t)ADDED;
}

/* A character that is left out. */
static st_status leave_out(mapping *m, size_t source)
{
    if (m->state->begun) {
        ST_TRY(count_one(m, &source));
        take_place(m, source);
        return ST_OK;
    }
    m->state->matched |= source && !m->flow->traced ? 0 : FROM_FIRST;
    return m->flow->traced ? st_bytes_append(&m->state->spare, &source, sizeof source) : ST_OK;
}

/* Hands on characters that stand for one each. */
static st_status put_one(mapping *m, const uint8_t *text, unsigned size, size_t source)
{
    if (m->state->matched & FROM_FIRST && !m->flow->traced)
        source = 0;
    m->state->matched &= ~(size_t)FLAGS;
    m->state->begun = 1;
    ST_TRY(count_one(m, &source));
    return st_step_put(m->flow, m->step, text, size, source);
}

/* The characters of the part stay. */
static st_status keep(mapping *m, st_part part, int last)
{
    size_t at = 0;
    while (at < part.n && (lag_of(m) || (!m->state->begun && m->state->matched & FROM_FIRST))) {
        const unsigned size = st_utf8_size(part.text[at]);
        ST_TRY(put_one(m, part.text + at, size, st_source_at(part, at)));
        at += size;
    }
    m->state->begun |= part.n > 0;
    m->state->matched &= part.n ? ~(size_t)ADDED : SIZE_MAX;
    return st_step_pass(m->flow, m->step, st_part_of(part, at, part.n), last);
}

/* The characters of the part become `made`. */
static st_status put_mapped(mapping *m, st_part part, const st_mapped *made)
{
    size_t at = 0, source = 0;
    for (size_t i = 0; i < made->n;) {
        const unsigned size = st_utf8_size(made->text[i]);
        if (at < part.n) {
            source = st_source_at(part, at);
            at += st_utf8_size(part.text[at]);
            ST_TRY(put_one(m, made->text + i, size, source));
        } else {
            if (lag_of(m))
                memcpy(&source, m->state->spare.data + (m->state->glyphs.size - 1) * sizeof source, sizeof source);
            ST_TRY(st_step_put(m->flow, m->step, made->text + i, size, source));
            m->state->matched |= m->flow->traced ? ADDED : 0;
        }
        i += size;
    }
    for (; at < part.n; at += st_utf8_size(part.text[at]))
        ST_TRY(leave_out(m, st_source_at(part, at)));
    return ST_OK;
}

/* Maps the characters of a part each by itself, but for those that stay: these begin at *plain. */
static st_status map_each(mapping *m, st_part part, size_t from, size_t until, size_t *plain)
{
    for (size_t at = from, size; at < until; at += size) {
        st_mapped made;
        int open;
        size = st_utf8_size(part.text[at]);
        if (!st_charsmap_find(&m->map, part.text + at, size, 0, &made, &open))
            continue;
        ST_TRY(keep(m, st_part_of(part, *plain, at), 0));
        ST_TRY(put_mapped(m, st_part_of(part, at, at + size), &made));
        *plain = at + size;
    }
    return ST_OK;
}

/* A whole cluster. */
static st_status map_cluster(mapping *m, st_part part, size_t from, size_t until, size_t *plain)
{
    st_mapped made;
    int open;
    if (until - from >= SHORT || !st_charsmap_find(&m->map, part.text + from, until - from, 0, &made, &open))
        return map_each(m, part, from, until, plain);
    ST_TRY(keep(m, st_part_of(part, *plain, from), 0));
    *plain = until;
    return put_mapped(m, st_part_of(part, from, until), &made);
}

/* Moves from a character of a cluster, behind which it has the state, to the cluster's end, or the end of the text. Returns whether it
 * has ended. */
static int find_end(const uint8_t *text, size_t n, size_t *at, unsigned *state)
{
    unsigned size;
    while (*at < n) {
        const unsigned class = st_cluster_class(st_utf8_decode(text + *at, &size));
        if (!st_cluster_goes_on(*state, class))
            return 1;
        *state = st_cluster_state(*state, class);
        *at += size;
    }
    return 0;
}

/* A cluster is open: what of it is held, if anything, and the start of the part. *taken: how much of the part. */
static st_status go_on(mapping *m, st_part part, int end, size_t *taken)
{
    st_step_state *state = m->state;
    unsigned known = (unsigned)(state->matched & (ST_CLUSTER_STATES - 1));
    const int was_long = (state->matched & LONG) != 0;
    size_t plain = 0, at = 0;
    const int ends = find_end(part.text, part.n, &at, &known) || end;
    *taken = at;
    if (was_long) {
        ST_TRY(map_each(m, part, 0, at, &plain));
        ST_TRY(keep(m, st_part_of(part, plain, at), 0));
    } else {
        ST_TRY(st_step_hold(m->flow, m->step, st_part_of(part, 0, at)));
        const st_part held = st_step_held(m->flow, m->step);
        if (!ends && held.n < SHORT) {
            state->matched = (state->matched & FLAGS) | known;
            return ST_OK;
        }
        ST_TRY(map_cluster(m, held, 0, held.n, &plain));
        ST_TRY(keep(m, st_part_of(held, plain, held.n), 0));
        st_step_drop_held(m->flow, m->step);
    }
    state->matched = (state->matched & FLAGS) | (ends ? 0 : LONG | known);
    return ST_OK;
}

static int is_open(const mapping *m)
{
    return m->state->matched & LONG || st_step_held(m->flow, m->step).n;
}

st_status st_step_map(st_flow *flow, size_t step, st_part part, int end)
{
    mapping m = {flow, step, &flow->normalizer->steps[step], &flow->states[step], {0}};
    size_t at = 0, plain;
    unsigned size;
    st_charsmap_open(&m.map, m.s->pattern, m.s->pattern_size);
    if (!m.state->begun && !m.state->matched && !is_open(&m))
        m.state->spare.size = m.state->glyphs.size = 0;
    if (is_open(&m)) {
        ST_TRY(go_on(&m, part, end, &at));
        if (is_open(&m))
            return ST_OK;
    }
    for (plain = at; at < part.n;) {
        at = st_still_until(&m.s->still, part.text, at, part.n);
        const size_t from = at;
        unsigned state = st_cluster_state(0, st_cluster_class(st_utf8_decode(part.text + at, &size)));
        at += size;
        if (find_end(part.text, part.n, &at, &state) || end) {
            ST_TRY(map_cluster(&m, part, from, at, &plain));
            continue;
        }
        ST_TRY(keep(&m, st_part_of(part, plain, from), 0));
        plain = from;
        if (at - from >= SHORT)
            ST_TRY(map_each(&m, part, from, at, &plain));
        else
            plain = at;
        if (at - from < SHORT)
            ST_TRY(st_step_hold(flow, step, st_part_of(part, from, at)));
        m.state->matched = (m.state->matched & FLAGS) | state | (at - from >= SHORT ? LONG : 0);
    }
    return keep(&m, st_part_of(part, plain, at), 1);
}

int st_step_map_may_hold(const st_step_holds *h)
{
    unsigned state = 0, size;
    if (h->n >= SHORT || h->matched >= 2 * FROM_FIRST || (h->begun && h->matched & FROM_FIRST))
        return 0;
    if (!h->n)
        return !(h->matched & (LONG - 1)) || h->matched & LONG;
    for (size_t at = 0; at < h->n; at += size) {
        const unsigned class = st_cluster_class(st_utf8_decode(h->text + at, &size));
        if (at && !st_cluster_goes_on(state, class))
            return 0;
        state = st_cluster_state(state, class);
    }
    return (h->matched & ~(size_t)FROM_FIRST) == state;
}
