/* Steps that split a text by the table of a compiled pattern (split/dfa.h): what it matches is replaced, or each piece goes on by
 * itself. A table that replaces drops its matches, and what lies between two of them is one piece.
 *
 * Pieces may have GROUPS: a piece of characters of a class is divided by its length, from the left or from the right, so it waits for
 * its end. With `runs` each run of the class inside of a piece is. */
#include "normal/step.h"
#include "split/scan.h"

#define ROOM 64

/* ---- groups ---- */

static int is_grouped(const st_step *s)
{
    return s->pattern_size > 0;
}

/* Characters of the largest group. */
static size_t largest_group(const st_step *s)
{
    return s->pattern[0] | (size_t)s->pattern[1] << 8;
}

/* How many of `rest` characters the next group has. */
static size_t group_of(const st_step *s, size_t rest)
{
    if (s->right)
        return rest % largest_group(s) ? rest % largest_group(s) : largest_group(s);
    for (size_t i = 0; i < s->pattern_size; i += 2) {
        const size_t size = s->pattern[i] | (size_t)s->pattern[i + 1] << 8;
        if (size <= rest)
            return size;
    }
    return rest;
}

/* Where the characters of the class end that text[at..n) begins with; *count: how many there are. */
static size_t run_end(const st_step *s, const uint8_t *text, size_t at, size_t n, size_t *count)
{
    for (*count = 0; at < n && !st_step_class_keeps(s, text + at); at += st_utf8_size(text[at]))
        ++*count;
    return at;
}

/* Where the characters of the class begin that text[from..n) ends with. */
static size_t last_run(const st_step *s, const uint8_t *text, size_t from, size_t n)
{
    while (n > from) {
        const size_t before = n - st_utf8_size_before(text, n);
        if (st_step_class_keeps(s, text + before))
            break;
        n = before;
    }
    return n;
}

static st_status put_border(st_flow *flow, size_t step, size_t source)
{
    static const uint8_t border = ST_PIECE_END;
    return st_step_put(flow, step, &border, 1, source);
}

/* Hands on `count` characters of the class, with borders between the groups. */
static st_status pass_groups(st_flow *flow, size_t step, st_part part, size_t count)
{
    const st_step *s = &flow->normalizer->steps[step];
    for (size_t at = 0, from = 0; at < part.n; from = at) {
        const size_t group = group_of(s, count);
        for (size_t i = 0; i < group; i++)
            at += st_utf8_size(part.text[at]);
        ST_TRY(st_step_pass(flow, step, st_part_of(part, from, at), 0));
        if (at < part.n)
            ST_TRY(put_border(flow, step, st_source_at(part, at - 1)));
        count -= group;
    }
    return ST_OK;
}

/* Hands on whole runs of a piece, and what lies between them. A run of full groups stands apart from what is in front of it. */
static st_status pass_runs(st_flow *flow, size_t step, st_part part, int is_first)
{
    const st_step *s = &flow->normalizer->steps[step];
    size_t count;
    for (size_t at = 0, from; at < part.n;) {
        for (from = at; from < part.n && st_step_class_keeps(s, part.text + from);)
            from += st_utf8_size(part.text[from]);
        ST_TRY(st_step_pass(flow, step, st_part_of(part, at, from), 0));
        at = run_end(s, part.text, from, part.n, &count);
        if (count && count % largest_group(s) == 0 && (from || !is_first))
            ST_TRY(put_border(flow, step, from ? st_source_at(part, from - 1) : st_source_at(part, 0)));
        ST_TRY(pass_groups(flow, step, st_part_of(part, from, at), count));
    }
    return ST_OK;
}

/* Hands on the rest of a piece that ends. */
static st_status pass_last(st_flow *flow, size_t step, st_part piece, int is_first)
{
    const st_step *s = &flow->normalizer->steps[step];
    size_t count;
    if (!is_grouped(s))
        return st_step_pass(flow, step, piece, 0);
    if (s->runs)
        return pass_runs(flow, step, piece, is_first);
    if (is_first && run_end(s, piece.text, 0, piece.n, &count) == piece.n)
        return pass_groups(flow, step, piece, count);
    return st_step_pass(flow, step, piece, 0);
}

/* How much of the first n bytes that are held is handed on before the piece ends; the rest is a run of the class so far. */
static size_t without_run(st_flow *flow, size_t step, size_t n)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    const size_t known = state->looked < n ? state->looked : n, run = last_run(s, st_step_held(flow, step).text, known, n);
    const size_t begins = run > known ? run : 0; /* what is known is of the run, too, if nothing else is behind it */
    const int waits = s->runs || (!state->matched && !begins);
    state->looked = waits ? n - begins : 0;
    return waits ? begins : n;
}

/* ---- pieces ---- */

/* A piece ends behind the first n bytes of what is held. */
static st_status end_piece(st_flow *flow, size_t step, size_t n, int dropped)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    const st_part held = st_step_held(flow, step), piece = st_part_of(held, 0, n);
    const size_t source = n ? st_source_at(piece, n - 1) : held.n ? st_source_at(held, 0) : 1; /* what is behind may be of the first one */
    const int is_first = !state->matched;
    state->start += n;
    state->matched = state->looked = 0;
    if (dropped)
        return s->kind == ST_STEP_MATCHES ? st_step_put(flow, step, s->content, s->content_size, source) : ST_OK;
    ST_TRY(pass_last(flow, step, piece, is_first));
    return s->kind == ST_STEP_PIECES ? put_border(flow, step, source) : ST_OK;
}

/* ends: as st_scan_feed gives them, from the start of the piece that was open. */
static st_status end_pieces(st_flow *flow, size_t step, const uint64_t *ends, size_t count)
{
    uint64_t start = flow->states[step].matched;
    for (size_t i = 0; i < count; i++) {
        const uint64_t end = ends[i] & ~ST_DROPPED;
        ST_TRY(end_piece(flow, step, (size_t)(end - start), (ends[i] & ST_DROPPED) != 0));
        start = end;
    }
    return ST_OK;
}

/* Hands on what belongs to the open piece whatever follows, if that stays. */
static st_status pass_sure(st_flow *flow, size_t step)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    const size_t sure = (size_t)st_dfa_sure(s->dfa, &state->scan), before = state->matched;
    if (sure <= before || st_dfa_open_is_dropped(s->dfa, &state->scan))
        return ST_OK;
    const size_t n = is_grouped(s) ? without_run(flow, step, sure - before) : sure - before;
    const st_part part = st_part_of(st_step_held(flow, step), 0, n);
    state->matched += n;
    state->start += n;
    return is_grouped(s) && s->runs ? pass_runs(flow, step, part, !before) : st_step_pass(flow, step, part, 0);
}

st_status st_step_matches(st_flow *flow, size_t step, st_part part, int end)
{
    const st_dfa *dfa = flow->normalizer->steps[step].dfa;
    st_step_state *state = &flow->states[step];
    uint64_t ends[ROOM];
    for (size_t at = 0, used; at < part.n; at += used) {
        st_scan scan = state->scan;
        const size_t count = st_dfa_feed(dfa, &scan, part.text + at, part.n - at, &used, ends, ROOM);
        ST_TRY(st_step_hold(flow, step, st_part_of(part, at, at + used)));
        state->scan = scan;
        ST_TRY(end_pieces(flow, step, ends, count));
    }
    if (!end)
        return part.n ? pass_sure(flow, step) : ST_OK;
    return end_pieces(flow, step, ends, st_dfa_finish(dfa, &state->scan, ends));
}

int st_step_matches_may_hold(const st_step *s, const st_step_holds *h)
{
    return h->scan && !h->begun && st_dfa_valid(s->dfa, h->scan) && h->scan->length == h->matched + h->n &&
           h->matched <= st_dfa_sure(s->dfa, h->scan) && st_dfa_can_follow(s->dfa, h->scan, h->matched, h->text, h->n);
}
