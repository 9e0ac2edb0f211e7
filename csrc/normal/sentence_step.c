/* The normalizer of SentencePiece. At each place of a text stands the longest user-defined symbol, which stays, or else the longest text
 * of the compiled map, which is replaced, or else a character. Blanks become marks. With `runs` set, blanks at the start go, and so do
 * those behind a blank, and all marks at the end, however they came. A mark is put in front, or behind, unless nothing is left of the
 * text once the blanks at its start are gone.
 *
 * What could begin a longer symbol or text of the map is held. `matched` says how many marks wait for what follows, and in its lowest
 * bit whether a blank came last; where places are asked for, those of the marks are in `spare`. */
#include "normal/charsmap.h"
#include "normal/step.h"

typedef struct sentence {
    st_flow *flow;
    size_t step;
    const st_step *s;
    st_step_state *state;
    st_charsmap map;
    const uint8_t *mark;
    size_t mark_size;
} sentence;

/* ---- what stands at a place ---- */

/* The longest symbol that text[0..n) begins with: its bytes, or 0. *open: whether a longer one might be there if the text went on. */
static size_t find_symbol(const st_step *s, const uint8_t *text, size_t n, int *open)
{
    size_t found = 0;
    *open = 0;
    if (!(s->firsts[text[0] >> 6] >> (text[0] & 63) & 1))
        return 0;
    for (size_t at = 0; at < s->content_size;) {
        const size_t size = (size_t)s->content[at] | (size_t)s->content[at + 1] << 8;
        const size_t shared = size < n ? size : n;
        if (!memcmp(s->content + at + 2, text, shared)) {
            found = size <= n && size > found ? size : found;
            *open |= size > n;
        }
        at += 2 + size;
    }
    return found;
}

/* 0: the text has to go on first. */
static int find_next(const sentence *c, const uint8_t *text, size_t n, int end, st_mapped *next)
{
    int open, open_map = 0;
    const size_t symbol = find_symbol(c->s, text, n, &open);
    *next = (st_mapped){symbol, text, symbol};
    if (!symbol && !st_charsmap_find(&c->map, text, n, 1, next, &open_map)) {
        const size_t size = st_utf8_size(text[0]);
        *next = (st_mapped){size, text, size};
    }
    return end || !(open || open_map);
}

/* ---- what comes out ---- */

static st_status put_marks(sentence *c)
{
    size_t source = 1;
    for (size_t i = 0; i < c->state->matched >> 1; i++) {
        if (c->flow->traced)
            memcpy(&source, c->state->spare.data + i * sizeof source, sizeof source);
        ST_TRY(st_step_put(c->flow, c->step, c->mark, c->mark_size, source));
    }
    c->state->matched &= 1;
    c->state->spare.size = 0;
    return ST_OK;
}

/* A mark, which waits where all at the end go. */
static st_status put_mark(sentence *c, size_t source)
{
    if (!c->s->runs)
        return st_step_put(c->flow, c->step, c->mark, c->mark_size, source);
    c->state->matched += 2;
    return c->flow->traced ? st_bytes_append(&c->state->spare, &source, sizeof source) : ST_OK;
}

static int is_mark(const sentence *c, const uint8_t *text, size_t n)
{
    return *text == ' ' || (n >= c->mark_size && !memcmp(text, c->mark, c->mark_size));
}

static st_status put_text(sentence *c, const uint8_t *text, size_t n, size_t source)
{
    for (size_t at = 0, to; at < n; at = to) {
        to = at + (text[at] == ' ' ? 1 : st_utf8_size(text[at]));
        if (is_mark(c, text + at, n - at)) {
            ST_TRY(put_mark(c, source));
            continue;
        }
        while (to < n && !is_mark(c, text + to, n - to))
            to += st_utf8_size(text[to]);
        ST_TRY(put_marks(c));
        ST_TRY(st_step_put(c->flow, c->step, text + at, to - at, source));
    }
    return ST_OK;
}

static st_status take_next(sentence *c, st_mapped next, size_t source)
{
    const int blanks_go = c->s->runs;
    if (!c->state->begun) {
        if (blanks_go && next.n == 1 && *next.text == ' ')
            return ST_OK;
        c->state->begun = 1;
        c->state->matched = blanks_go;
        if (c->s->left)
            ST_TRY(put_mark(c, source));
    }
    for (; c->state->matched & 1 && next.n && *next.text == ' '; next.n--)
        next.text++;
    if (!next.n)
        return ST_OK;
    c->state->matched &= ~(size_t)1;
    ST_TRY(put_text(c, next.text, next.n, source));
    c->state->matched |= blanks_go && next.text[next.n - 1] == ' ';
    return ST_OK;
}

/* ---- the step ---- */

/* Bytes that are made without a look at how many there are. */
#define SLICE ((size_t)4096)

/* Whether text[0] is a blank that becomes a mark, and the character of ASCII behind it stays. */
static int is_single_blank(const st_step *s, const uint8_t *text)
{
    return s->still.blank && text[0] == ' ' && text[1] < 0x80 && s->still.bits[text[1] >> 6] >> (text[1] & 63) & 1;
}

/* Takes words that stay, with single blanks in front, from text[*at..n) on, in a text that has begun and whose places nobody asks for. */
static st_status take_words(sentence *c, const uint8_t *text, size_t n, size_t *at)
{
    st_bytes *out = &c->state->out.text;
    const size_t stop = n - *at > SLICE ? *at + SLICE : n, blank = c->s->runs;
    size_t marks = c->state->matched >> 1, from = *at, to;
    ST_TRY(st_bytes_reserve(out, c->mark_size * (marks + stop - from) + 1));
    uint8_t *made = out->data + out->size;
    for (;;) {
        to = st_still_until(&c->s->still, text, from, stop);
        if (to > from) {
            for (; marks; marks--, made += c->mark_size)
                memcpy(made, c->mark, c->mark_size);
            memcpy(made, text + from, to - from);
            made += to - from;
            c->state->matched = 0;
        }
        if (to + 1 >= stop || c->state->matched & 1 || !is_single_blank(c->s, text + to))
            break;
        marks++;
        c->state->matched = blank;
        from = to + 1;
    }
    from = to;
    for (; marks && !blank; marks--, made += c->mark_size) /* nothing waits */
        memcpy(made, c->mark, c->mark_size);
    c->state->matched = (c->state->matched & 1) | marks << 1;
    out->size = (size_t)(made - out->data);
    *at = from;
    return st_step_made(c->flow, c->step);
}

static st_status take_part(sentence *c, st_part part, int end, size_t *taken)
{
    size_t at = 0;
    st_mapped next;
    while (at < part.n) {
        const size_t before = at;
        if (c->state->begun && at >= part.begun && !c->flow->traced)
            ST_TRY(take_words(c, part.text, part.n, &at));
        if (at > before)
            continue;
        if (!find_next(c, part.text + at, part.n - at, end, &next))
            break;
        ST_TRY(take_next(c, next, st_source_at(part, at)));
        at += next.size;
    }
    *taken = at;
    return ST_OK;
}

/* The text ends: marks at the end go, and one comes behind them. */
static st_status finish(sentence *c, size_t n)
{
    size_t source = c->flow->at + n;
    if (!c->state->begun)
        return ST_OK;
    if (c->s->runs && c->state->matched >> 1 && c->flow->traced)
        memcpy(&source, c->state->spare.data, sizeof source);
    c->state->spare.size = 0;
    c->state->matched = 0;
    return c->s->right ? st_step_put(c->flow, c->step, c->mark, c->mark_size, source) : ST_OK;
}

/* What is held, and the part behind it. */
static st_status join(sentence *c, st_part part, st_bytes *text, st_bytes *source, st_part *joined)
{
    const st_part held = st_step_held(c->flow, c->step);
    if (st_bytes_append(text, held.text, held.n) || st_bytes_append(text, part.text, part.n))
        return ST_NO_MEMORY;
    if (c->flow->traced && (st_bytes_append(source, held.source, held.n * sizeof(size_t)) ||
                            st_bytes_append(source, part.source, part.n * sizeof(size_t))))
        return ST_NO_MEMORY;
    *joined = (st_part){text->data, c->flow->traced ? (const size_t *)(const void *)source->data : NULL, text->size, 0};
    st_step_drop_held(c->flow, c->step);
    return ST_OK;
}

st_status st_step_sentence(st_flow *flow, size_t step, st_part part, int end)
{
    sentence c = {flow, step, &flow->normalizer->steps[step], &flow->states[step], {0}, (const uint8_t *)" ", 1};
    st_bytes text = {0}, source = {0};
    const size_t n = part.n;
    size_t taken = 0;
    st_status status = ST_OK;
    if (c.s->unless) {
        c.mark = (const uint8_t *)"\xE2\x96\x81";
        c.mark_size = 3;
    }
    if (!c.state->begun)
        c.state->spare.size = 0;
    st_charsmap_open(&c.map, c.s->pattern, c.s->pattern_size);
    if (st_step_held(flow, step).n)
        status = join(&c, part, &text, &source, &part);
    if (!status)
        status = take_part(&c, part, end, &taken);
    if (!status)
        status = st_step_hold(flow, step, st_part_of(part, taken, part.n));
    if (!status && end)
        status = finish(&c, n);
    st_bytes_free(&text);
    st_bytes_free(&source);
    return status;
}

int st_step_sentence_may_hold(const st_step *s, const st_step_holds *h)
{
    return h->n < (size_t)s->least && (h->begun || !h->matched) && (s->runs || !h->matched);
}
