/* White space divides a text into words, and each word begins with a mark, unless it begins with one. What tokenizers' WhitespaceSplit
 * does, with a Metaspace behind it. */
#include "normal/step.h"

/* Whether the text begins with the mark. A part has whole characters. */
static int is_marked(const st_step *s, const uint8_t *text, size_t n)
{
    return n >= s->content_size && !memcmp(text, s->content, s->content_size);
}

/* Whether white space may begin with this byte: no others are first bytes of it. */
static inline int may_be_white(uint8_t byte)
{
    return byte == 0xC2 || byte - 0xE1u < 3;
}

/* Bytes of the word that goes on at the start of the text. */
static size_t rest_of_word(const uint8_t *text, size_t n)
{
    size_t at = 0;
    unsigned size;
    for (; at < n; at += size) {
        size = st_utf8_size(text[at]);
        if (text[at] == ' ' || text[at] - 9u < 5u || (may_be_white(text[at]) && st_is_white(st_utf8_decode(text + at, &size))))
            break;
    }
    return at;
}

/* Bytes that are taken without a look at how many were made. */
#define SLICE ((size_t)4096)

/* Takes text[*at..n), or a slice of it, of a text whose places nobody asks for. */
static st_status take_words(st_flow *flow, size_t step, const uint8_t *text, size_t n, size_t *at)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    size_t from = *at, to, stop = n - from > SLICE ? from + SLICE : n;
    while (stop < n && st_utf8_is_continuation(text[stop]))
        stop++;
    ST_TRY(st_bytes_reserve(&state->out.text, (s->content_size + 1) * (stop - from + 4)));
    uint8_t *made = state->out.text.data + state->out.text.size;
    for (; from < stop; from = to) {
        unsigned size;
        to = from + rest_of_word(text + from, stop - from);
        if (to == from) {
            st_utf8_decode(text + from, &size);
            state->begun = 0;
            to = from + size;
            continue;
        }
        if (!state->begun && !is_marked(s, text + from, n - from)) {
            memcpy(made, s->content, s->content_size);
            made += s->content_size;
        }
        state->begun = 1;
        memcpy(made, text + from, to - from);
        made += to - from;
    }
    state->out.text.size = (size_t)(made - state->out.text.data);
    *at = from;
    return st_step_made(flow, step);
}

st_status st_step_words(st_flow *flow, size_t step, st_part part, int end)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    unsigned size;
    (void)end;
    for (size_t at = 0; at < part.n;) {
        if (!flow->traced && at >= part.begun) {
            ST_TRY(take_words(flow, step, part.text, part.n, &at));
            continue;
        }
        if (st_is_white(st_utf8_decode(part.text + at, &size))) {
            state->begun = 0;
            at += size;
            continue;
        }
        if (!state->begun && !is_marked(s, part.text + at, part.n - at))
            ST_TRY(st_step_put(flow, step, s->content, s->content_size, st_source_at(part, at)));
        state->begun = 1;
        const size_t stop = at + rest_of_word(part.text + at, part.n - at);
        ST_TRY(st_step_pass(flow, step, st_part_of(part, at, stop), stop == part.n));
        at = stop;
    }
    return ST_OK;
}
