/* Steps that split a text by the table of a compiled pattern (split/dfa.h): what it matches is replaced, or each piece goes on by
 * itself. A table that replaces drops its matches, and what lies between two of them is one piece. */
#include "normal/step.h"
#include "split/scan.h"

#define ROOM 64

/* A piece ends behind the first n bytes of what is held. */
static st_status end_piece(st_flow *flow, size_t step, size_t n, int dropped)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    static const uint8_t border = ST_PIECE_END;
    const st_part piece = st_part_of(st_step_held(flow, step), 0, n);
    const size_t source = n ? st_source_at(piece, n - 1) : 1;
    state->start += n;
    state->matched = 0;
    if (dropped)
        return s->kind == ST_STEP_MATCHES ? st_step_put(flow, step, s->content, s->content_size, source) : ST_OK;
    ST_TRY(st_step_pass(flow, step, piece, 0));
    return s->kind == ST_STEP_PIECES ? st_step_put(flow, step, &border, 1, source) : ST_OK;
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
    st_step_state *state = &flow->states[step];
    const st_dfa *dfa = flow->normalizer->steps[step].dfa;
    const size_t sure = (size_t)st_dfa_sure(dfa, &state->scan);
    if (sure <= state->matched || st_dfa_open_is_dropped(dfa, &state->scan))
        return ST_OK;
    const st_part part = st_part_of(st_step_held(flow, step), 0, sure - state->matched);
    state->matched = sure;
    state->start += part.n;
    return st_step_pass(flow, step, part, 0);
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
