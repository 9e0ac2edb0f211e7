/* White space divides a text into words, and each word begins with a mark, unless it begins with one. What tokenizers' WhitespaceSplit
 * does, with a Metaspace behind it. */
#include "base/bits.h"
#include "base/load.h"
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

/* Whether white space begins at text[at]; *size: bytes of the character there. */
static inline int begins_white(const uint8_t *text, size_t at, unsigned *size)
{
    *size = st_utf8_size(text[at]);
    if (text[at] < 0x80)
        return text[at] == ' ' || text[at] - 9u < 5u;
    return may_be_white(text[at]) && st_is_white(st_utf8_decode(text + at, size));
}

/* Bytes of the word that goes on at the start of the text. */
static size_t rest_of_word(const uint8_t *text, size_t n)
{
    size_t at = 0;
    unsigned size;
    for (; at < n && !begins_white(text, at, &size); at += size)
        ;
    return at;
}

/* Bytes that are taken without a look at how many were made. */
#define SLICE ((size_t)4096)

/* Marks and words are written eight bytes at a time. */
#define SLACK 16

#if ST_SWAR
/* Of each of eight bytes the highest bit: whether white space may begin there, or a control. */
static inline uint64_t white_among(uint64_t eight)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7, low = eight & ~high;
    const uint64_t prints = low + ones * (0x80 - 0x21), is_c2 = ~((low ^ ones * 0x42) + ones * 0x7F);
    const uint64_t is_e = (low + ones * (0x80 - 0x61)) & ~(low + ones * (0x80 - 0x64)); /* 0xE1, 0xE2, 0xE3 */
    return (eight & (is_c2 | is_e) & high) | (~eight & ~prints & high);
}
#endif

/* Copies a word, or what is left of it, from text[from..stop) to `*to`, and returns where it ends. */
static inline size_t copy_word(uint8_t **to, const uint8_t *text, size_t from, size_t stop)
{
    uint8_t *made = *to;
    unsigned size;
    while (from < stop) {
#if ST_SWAR
        if (from + 8 <= stop) {
            const uint64_t eight = st_load64(text + from), white = white_among(eight);
            const size_t kept = white ? st_first_bit(white) / 8 : 8;
            st_store64(made, eight);
            from += kept;
            made += kept;
            if (!white)
                continue;
        }
        while (from < stop && st_utf8_is_continuation(text[from])) /* the eight bytes ended inside of a character */
            *made++ = text[from++];
        if (from == stop)
            break;
#endif
        if (begins_white(text, from, &size))
            break;
        do {
            for (unsigned i = 0; i < size; i++)
                made[i] = text[from + i];
            made += size;
            from += size;
        } while (from < stop && may_be_white(text[from]) && !begins_white(text, from, &size));
    }
    *to = made;
    return from;
}

/* The mark as eight bytes with zeros behind it, where it is no longer. */
typedef struct mark {
    uint64_t bytes, mask;
    size_t size; /* 0: it is longer */
} mark;

static inline mark mark_of(const st_step *s)
{
    mark m = {0, 0, s->content_size <= 8 ? s->content_size : 0};
    memcpy(&m.bytes, s->content, m.size);
    memset(&m.mask, 0xFF, m.size);
    return m;
}

/* Writes the mark in front of a word text[0..n), unless that begins with it; returns how far. to: room for eight bytes more. */
static inline uint8_t *put_mark(const st_step *s, mark m, uint8_t *to, const uint8_t *text, size_t n)
{
    uint64_t begins = 0;
    if (!m.size || n < 8) {
        if (is_marked(s, text, n))
            return to;
        memcpy(to, s->content, s->content_size);
        return to + s->content_size;
    }
    memcpy(&begins, text, 8);
    memcpy(to, &m.bytes, 8);
    return to + (((begins ^ m.bytes) & m.mask) ? m.size : 0);
}

/* Takes text[*at..n), or a slice of it, of a text whose places nobody asks for. */
static st_status take_words(st_flow *flow, size_t step, const uint8_t *text, size_t n, size_t *at)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    const mark m = mark_of(s);
    size_t from = *at, stop = n - from > SLICE ? from + SLICE : n;
    unsigned size;
    while (stop < n && st_utf8_is_continuation(text[stop]))
        stop++;
    ST_TRY(st_bytes_reserve(&state->out.text, (s->content_size + 1) * (stop - from + 4) + SLACK));
    uint8_t *made = state->out.text.data + state->out.text.size;
    while (from < stop) {
        if (begins_white(text, from, &size)) {
            state->begun = 0;
            from += size;
            continue;
        }
        if (!state->begun)
            made = put_mark(s, m, made, text + from, n - from);
        state->begun = 1;
        from = copy_word(&made, text, from, stop);
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
