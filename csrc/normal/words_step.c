/* White space divides a text into words, and each word begins with a mark, unless it begins with one. What tokenizers' WhitespaceSplit
 * does, with a Metaspace behind it. */
#include "normal/step.h"

/* Whether the text begins with the mark. A part has whole characters. */
static int is_marked(const st_step *s, const uint8_t *text, size_t n)
{
    return n >= s->content_size && !memcmp(text, s->content, s->content_size);
}

/* Bytes of the word that goes on at the start of the text. */
static size_t rest_of_word(const uint8_t *text, size_t n)
{
    size_t at = 0;
    unsigned size;
    for (; at < n; at += size) {
        size = 1;
        if (text[at] < 0x80) {
            if (text[at] == ' ' || text[at] - 9u < 5u)
                break;
        } else if (st_is_white(st_utf8_decode(text + at, &size))) {
            break;
        }
    }
    return at;
}

st_status st_step_words(st_flow *flow, size_t step, st_part part, int end)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    unsigned size;
    (void)end;
    for (size_t at = 0; at < part.n;) {
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
