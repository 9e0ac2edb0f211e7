#include "merge/windows.h"

#include "base/interrupt.h"
#include "merge/compatible.h"
#include "pairs/merge_short.h"

/* Joints tried in a window, behind one token after the other, before the run is given up. */
#define TRIES 12

/* A ruler may have tokens longer than a small window, even if the unit that it repeats is short. Larger windows pay if it goes on
 * for long; other text takes longer in them. */
#define LONGEST_UNIT 8
#define LONG_REPEAT 2048

/* One window: its tokens, and how many of them are kept. */
typedef struct window {
    uint32_t tokens[ST_SHORT_MERGE];
    size_t start, count;
} window;

static void merge_window(const st_vocab *v, window *w, const uint8_t *text, size_t n, size_t start, size_t size)
{
    size_t left = n - start;
    w->start = start;
    w->count = st_merge_short(&v->pairs, text + start, left < size ? left : size, w->tokens);
}

/* The first joint to try: keeps the tokens that end before the last eighth of the window. Tokens further back seldom change with
 * the bytes behind the window. */
static size_t first_cut(const st_vocab *v, const window *w, size_t size)
{
    size_t keep = w->count, dropped = 0;
    while (keep && dropped < size / 8)
        dropped += st_token_length(v, w->tokens[--keep]);
    return keep;
}

static size_t end_of(const st_vocab *v, const window *w, size_t keep)
{
    size_t end = w->start;
    for (size_t i = 0; i < keep; i++)
        end += st_token_length(v, w->tokens[i]);
    return end;
}

/* Finds a joint in `w` and merges the next window from there into `next`. Returns how many tokens of w are kept, 0 if no joint was
 * found. */
static size_t join(const st_vocab *v, uint64_t *memo, const uint8_t *text, size_t n, const window *w, size_t size,
                   window *next)
{
    size_t keep = first_cut(v, w, size);
    for (int tries = 0; keep && tries < TRIES; tries++, keep--) {
        merge_window(v, next, text, n, end_of(v, w, keep), size);
        if (st_compatible(v, memo, w->tokens[keep - 1], next->tokens[0]) == 1)
            return keep;
    }
    return 0;
}

static st_status append(st_ids *out, const uint32_t *tokens, size_t count)
{
    ST_TRY(st_ids_reserve(out, count));
    memcpy(out->data + out->size, tokens, count * sizeof *tokens);
    out->size += count;
    return ST_OK;
}

/* Bytes whose repeats are searched, and whose tokens are copied, between two calls of st_go_on. */
#define STEP ((size_t)1 << 20)

/* How many bytes from text[0] on are equal to those `period` bytes further, within text[0..n). Stops soon after STEP bytes. */
static size_t repeated(const uint8_t *text, size_t n, size_t period)
{
    size_t same = 0;
    n = n < period + STEP ? n : period + STEP;
    while (same + period + ST_SMALL_WINDOW <= n && !memcmp(text + same, text + same + period, ST_SMALL_WINDOW))
        same += ST_SMALL_WINDOW;
    while (same + period < n && text[same] == text[same + period])
        same++;
    return same;
}

/* How far text[0..n) repeats the few bytes with which it begins; 0 if that is too short for larger windows. */
static size_t long_repeat(const uint8_t *text, size_t n)
{
    for (size_t period = 1; period <= LONGEST_UNIT && period + LONG_REPEAT <= n; period++)
        if (!memcmp(text, text + period, LONG_REPEAT))
            return period + repeated(text, n, period);
    return 0;
}

/* Appends the first `count` tokens of a window `times` times. */
static st_status append_times(st_ids *out, const uint32_t *tokens, size_t count, size_t times)
{
    const size_t total = count * times;
    ST_TRY(st_ids_reserve(out, total));
    uint32_t *to = out->data + out->size;
    memcpy(to, tokens, count * sizeof *to);
    for (size_t have = count, more; have < total; have += more) {
        more = have < total - have ? have : total - have;
        memcpy(to + have, to, more * sizeof *to);
    }
    out->size += total;
    return ST_OK;
}

/* If the first token of the window occurs again in it, and the bytes between the two are repeated beyond the window, the tokens
 * between them are repeated as well. Appends them up to the last place where the same window occurs, and moves the window
 * there. */
static st_status take_repeats(const st_vocab *v, const uint8_t *text, size_t n, window *w, st_ids *out)
{
    const uint8_t *from = text + w->start;
    const size_t left = n - w->start, size = end_of(v, w, w->count) - w->start; /* the next window may be smaller */
    for (size_t i = 1; i < w->count; i++) {
        if (w->tokens[i] != w->tokens[0])
            continue;
        const size_t period = end_of(v, w, i) - w->start;
        if (period + size > left || memcmp(from, from + period, size))
            continue;
        const size_t times = (repeated(from, left, period) - size) / period + 1;
        w->start += times * period;
        return append_times(out, w->tokens, i, times);
    }
    return ST_OK;
}

/* Whether the first token of the window is compatible with the last one appended since `before`. */
static size_t joins(const st_vocab *v, uint64_t *memo, const st_ids *out, size_t before, const window *w)
{
    return out->size == before || st_compatible(v, memo, out->data[out->size - 1], w->tokens[0]) == 1;
}

st_status st_merge_windows(const st_vocab *v, uint64_t *memo, const uint8_t *text, size_t n, size_t largest,
                           st_ids *out, int *done)
{
    window windows[2], *w = &windows[0], *next = &windows[1];
    size_t before = out->size, size = ST_SMALL_WINDOW, seen = 0, until = 0; /* where a ruler ends */
    *done = 1;
    merge_window(v, w, text, n, 0, size);
    while (end_of(v, w, w->count) < n) {
        ST_TRY(st_go_on(w->start - seen + size));
        seen = w->start;
        ST_TRY(take_repeats(v, text, n, w, out));
        size_t keep = join(v, memo, text, n, w, size, next);
        if (!keep && w->start >= until)
            until = w->start + long_repeat(text + w->start, n - w->start);
        if (!keep && size < (w->start < until ? ST_SHORT_MERGE : largest)) {
            size *= 2;
            merge_window(v, w, text, n, w->start, size);
            keep = joins(v, memo, out, before, w); /* its first token may have changed: the joint must still hold */
            if (keep)
                continue;
        }
        if (!keep) {
            out->size = before;
            *done = 0;
            return ST_OK;
        }
        ST_TRY(append(out, w->tokens, keep));
        window *merged = next;
        next = w;
        w = merged;
        if (size > largest && w->start >= until)
            size = ST_SMALL_WINDOW;
    }
    return append(out, w->tokens, w->count);
}
