#include "special/cutter.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/utf8.h"

/* What is held is completed by this many bytes of the new text, then twice as many each time, until all that is open lies in the new
 * text alone; or at once by a text that is short. Fuzzers build with smaller numbers. */
#ifndef ST_CUTTER_BRIDGE
#define ST_CUTTER_BRIDGE 32
#endif
#ifndef ST_CUTTER_SHORT
#define ST_CUTTER_SHORT 8192
#endif

/* Contiguous text that is being cut. */
typedef struct view {
    const uint8_t *text;
    size_t n;
    size_t done; /* so many bytes have gone to the sink, or were taken */
} view;

void st_cutter_free(st_cutter *c)
{
    st_bytes_free(&c->held);
}

void st_cutter_reset(st_cutter *c)
{
    memset(&c->state, 0, sizeof c->state);
    c->held.size = 0;
}

/* ---- characters ---- */

static size_t behind_white(const uint8_t *text, size_t at, size_t until)
{
    for (unsigned size; at < until && st_is_white(st_utf8_decode(text + at, &size)); at += size)
        ;
    return at;
}

/* Where the white space in front of text[until] begins, not in front of `from`. If it reaches back to `blank`, it begins at `from`. */
static size_t before_white(const uint8_t *text, size_t from, size_t until, size_t blank)
{
    while (until > from) {
        if (until <= blank)
            return from;
        unsigned size;
        const size_t before = until - st_utf8_size_before(text, until);
        if (!st_is_white(st_utf8_decode(text + before, &size)))
            break;
        until = before;
    }
    return until;
}

/* Whether the character at text[at] belongs to a word. */
static int in_word(const st_special *s, const uint8_t *text, size_t at)
{
    unsigned size;
    const uint32_t point = st_utf8_decode(text + at, &size);
    size_t low = 0, high = s->word_ranges; /* the range sought is not in front of `low`, and in front of `high` */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->words[2 * middle + 1] < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->word_ranges && s->words[2 * low] <= point;
}

static int in_word_before(const st_special *s, const uint8_t *text, size_t at)
{
    return in_word(s, text, at - st_utf8_size_before(text, at));
}

/* ---- text and names ---- */

static st_status put_text(st_cutter *c, view *v, size_t until, const st_cutter_sink *sink)
{
    if (c->state.skips)
        v->done = behind_white(v->text, v->done, until);
    if (v->done >= until)
        return ST_OK;
    c->state.skips = 0;
    ST_TRY(sink->text(sink->context, v->text + v->done, until - v->done));
    v->done = until;
    return ST_OK;
}

static int stands_alone(const st_cutter *c, const view *v, const st_special_match *match)
{
    const int left = match->start ? in_word_before(c->names, v->text, match->start) : c->state.in_word;
    return !left && !(match->end < v->n && in_word(c->names, v->text, match->end));
}

/* Where the text in front of a name ends. */
static size_t left_end(const st_cutter *c, view *v, size_t start, int takes_left)
{
    if (c->state.skips)
        v->done = behind_white(v->text, v->done, start);
    return takes_left ? before_white(v->text, v->done, start, v->done ? 0 : c->state.blank) : start;
}

static st_status put_name(st_cutter *c, view *v, const st_special_match *match, const st_cutter_sink *sink)
{
    const int takes_left = match->flags & ST_NAME_TAKES_LEFT;
    size_t start = left_end(c, v, match->start, takes_left);
    ST_TRY(put_text(c, v, start, sink));
    if (takes_left && c->state.skips) /* the name in front has taken white space that this one begins with, too */
        start = behind_white(v->text, start, match->end);
    ST_TRY(sink->end(sink->context));
    ST_TRY(sink->name(sink->context, match->id, v->text + start));
    v->done = match->end;
    c->state.skips = (match->flags & ST_NAME_TAKES_RIGHT) != 0;
    return ST_OK;
}

/* The whole view was read. What no later text can change goes to the sink; what is open lies in front of `open`. */
static st_status put_rest(st_cutter *c, view *v, size_t open, const st_cutter_sink *sink)
{
    const st_special *s = c->names;
    const size_t until = left_end(c, v, open, s->flags & ST_NAME_TAKES_LEFT);
    ST_TRY(put_text(c, v, until, sink));
    if ((s->flags & ST_NAME_ALONE) && v->done)
        c->state.in_word = in_word_before(s, v->text, v->done);
    c->state.blank = open - v->done;
    return ST_OK;
}

/* Cuts the view, as far as it can be done before more text is known. */
static st_status cut(st_cutter *c, view *v, int final, const st_cutter_sink *sink)
{
    st_special_search search = {0, c->state.searched, 0, c->state.node};
    for (;;) {
        st_special_match match = {v->n, v->n, ST_NO_SPECIAL, 0};
        const st_special_result result = st_special_find(c->names, &search, v->text, SIZE_MAX, v->n, final, &match);
        ST_TRY(st_go_on(0)); /* a search that was ended early finds nothing */
        if (final && result == ST_SPECIAL_NONE) {
            ST_TRY(put_text(c, v, v->n, sink));
            return sink->end(sink->context);
        }
        const int is_alone = result == ST_SPECIAL_FOUND && match.flags & ST_NAME_ALONE;
        if (result != ST_SPECIAL_FOUND || (is_alone && match.end == v->n && !final)) {
            const size_t open = result == ST_SPECIAL_NONE ? v->n : match.start;
            const size_t searched = result == ST_SPECIAL_FOUND ? open : v->n; /* such a name is sought once more */
            ST_TRY(put_rest(c, v, open, sink));
            c->state.node = searched == v->n ? search.node : 0;
            c->state.searched = searched - v->done;
            return ST_OK;
        }
        if (!is_alone || stands_alone(c, v, &match))
            ST_TRY(put_name(c, v, &match, sink));
    }
}

/* ---- a feed ---- */

/* Appends bytes of text[0..n) to what is held and cuts, until what is open lies in `text` alone. *direct is then where that begins in
 * `text`, or n. */
static st_status cross_border(st_cutter *c, const uint8_t *text, size_t n, int final, const st_cutter_sink *sink, size_t *direct)
{
    const size_t old = c->held.size;
    size_t used = 0, bridge = n <= ST_CUTTER_SHORT ? n : ST_CUTTER_BRIDGE;
    do {
        size_t part = n - used < bridge ? n - used : bridge;
        bridge *= 2;
        while (used + part < n && st_utf8_is_continuation(text[used + part]))
            part++;
        ST_TRY(st_bytes_append(&c->held, text + used, part));
        used += part;
        view v = {c->held.data + c->state.start, st_cutter_held(c), 0};
        ST_TRY(cut(c, &v, final && used == n, sink));
        c->state.start += v.done;
        if (c->state.start >= old && used < n) {
            *direct = c->state.start - old;
            c->state.start = c->held.size;
            return ST_OK;
        }
    } while (used < n);
    *direct = n;
    return ST_OK;
}

st_status st_cutter_feed(st_cutter *c, const uint8_t *text, size_t n, int final, const st_cutter_sink *sink)
{
    size_t at = 0;
    if (!c->names) {
        if (n)
            ST_TRY(sink->text(sink->context, text, n));
        return final ? sink->end(sink->context) : ST_OK;
    }
    if (!n && !final)
        return ST_OK;
    if (st_cutter_held(c)) {
        ST_TRY(cross_border(c, text, n, final, sink, &at));
        if (at == n)
            goto ended;
    }
    view v = {text + at, n - at, 0};
    ST_TRY(cut(c, &v, final, sink));
    c->state.start = c->held.size;
    ST_TRY(st_bytes_append(&c->held, v.text + v.done, final ? 0 : v.n - v.done));
ended:
    if (final) {
        const size_t size = c->held.size;
        memset(&c->state, 0, sizeof c->state);
        c->state.start = size;
    }
    return ST_OK;
}

/* ---- from feed to feed ---- */

void st_cutter_mark(const st_cutter *c, st_cutter_state *mark)
{
    *mark = c->state;
    mark->size = c->held.size;
}

void st_cutter_roll_back(st_cutter *c, const st_cutter_state *mark)
{
    c->state = *mark;
    c->held.size = mark->size;
}

void st_cutter_commit(st_cutter *c)
{
    if (c->state.start && c->state.start >= c->held.size - c->state.start) { /* moves no more than it frees: linear */
        st_bytes_drop(&c->held, c->state.start);
        c->state.start = 0;
    }
}

st_status st_cutter_copy(st_cutter *target, const st_cutter *source)
{
    st_cutter_reset(target);
    if (st_cutter_held(source))
        ST_TRY(st_bytes_append(&target->held, source->held.data + source->state.start, st_cutter_held(source)));
    target->state = source->state;
    target->state.start = 0;
    return ST_OK;
}

st_status st_cutter_restore(st_cutter *c, const st_cutter_state *state, size_t named, const uint8_t *held, size_t n)
{
    st_cutter_state s = *state;
    s.start = 0;
    s.node = c->names && named <= n && named ? st_special_walk(c->names, held + n - named, named) : 0;
    if (s.searched > n || s.blank > n || (named && (!s.node || s.searched != n)) || (s.skips | s.in_word) >> 1)
        return ST_BAD_STATE;
    if (!c->names && (n || s.skips || s.in_word))
        return ST_BAD_STATE;
    if ((s.blank < n && st_utf8_is_continuation(held[s.blank])) || behind_white(held, 0, s.blank) != s.blank)
        return ST_BAD_STATE;
    ST_TRY(st_bytes_append(&c->held, held, n));
    c->state = s;
    return ST_OK;
}
