#include "merge_windows.h"

#include "compatible.h"
#include "merge.h"

/* A joint is tried behind so many tokens, one after the other, before the run is given up. */
#define TRIES 12

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

/* First try: keep what ends before the last eighth of the window, where the border's influence mostly ends. */
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

/* Merges the window behind `w` into `next`, from a joint that holds. Returns how many tokens of w stay, 0 if no joint
 * was found. */
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

/* Does the window go on from what was appended since `before`? */
static size_t joins(const st_vocab *v, uint64_t *memo, const st_ids *out, size_t before, const window *w)
{
    return out->size == before || st_compatible(v, memo, out->data[out->size - 1], w->tokens[0]) == 1;
}

st_status st_merge_windows(const st_vocab *v, uint64_t *memo, const uint8_t *text, size_t n, size_t largest,
                           st_ids *out, int *done)
{
    window windows[2], *w = &windows[0], *next = &windows[1];
    size_t before = out->size, size = ST_SMALL_WINDOW;
    *done = 1;
    merge_window(v, w, text, n, 0, size);
    while (end_of(v, w, w->count) < n) {
        size_t keep = join(v, memo, text, n, w, size, next);
        if (!keep && size < largest) {
            size *= 2;
            merge_window(v, w, text, n, w->start, size);
            keep = joins(v, memo, out, before, w); /* its first token may be another now: the joint must still hold */
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
    }
    return append(out, w->tokens, w->count);
}
