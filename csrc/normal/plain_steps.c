/* The steps that take a character or a few bytes at a time: lower case, replacements, what is added and stripped at the ends. */
#include "base/bits.h"
#include "base/load.h"
#include "base/search.h"
#include "normal/step.h"

/* ---- lower case ---- */

static int is_ascii_upper(unsigned byte)
{
    return byte - 'A' < 26;
}

#define LOWER_AT_ONCE 32

/* Whether so many bytes are ASCII that stays as it is: a loop that compilers make vectors of. */
static int is_lower_ascii(const uint8_t *text)
{
    uint8_t other = 0;
    for (size_t i = 0; i < LOWER_AT_ONCE; i++)
        other |= (uint8_t)(text[i] | ((uint8_t)(text[i] - 'A') < 26 ? 0x80 : 0));
    return other < 0x80;
}

/* Bytes at the start of the part that stay as they are. */
static size_t already_lower(st_part part)
{
    size_t at = 0;
    while (at < part.n) {
        unsigned size = 1;
        if (part.n - at >= LOWER_AT_ONCE && is_lower_ascii(part.text + at)) {
            size = LOWER_AT_ONCE;
        } else if (part.text[at] < 0x80) {
            if (is_ascii_upper(part.text[at]))
                break;
        } else {
            const uint32_t point = st_utf8_decode(part.text + at, &size);
            if (st_lower_of(point) != point)
                break;
        }
        at += size;
    }
    return at;
}

static st_status put_lower(st_flow *flow, size_t step, uint32_t point, size_t source)
{
    uint8_t bytes[4];
    const uint32_t lower = st_lower_of(point);
    if (lower != ST_NO_CHAR)
        return st_step_put(flow, step, bytes, st_utf8_write(bytes, lower), source);
    ST_TRY(st_step_put(flow, step, bytes, st_utf8_write(bytes, ST_LOWER_TWO_FIRST), source));
    return st_step_put(flow, step, bytes, st_utf8_write(bytes, ST_LOWER_TWO_SECOND), source);
}

/* ASCII from text[at] on, in lower case; returns where it stops. */
static size_t lower_ascii(uint8_t *to, const uint8_t *text, size_t at, size_t n)
{
    for (; at < n && text[at] < 0x80; at++)
        *to++ = (uint8_t)(text[at] + (is_ascii_upper(text[at]) << 5));
    return at;
}

st_status st_step_lower(st_flow *flow, size_t step, st_part part, int end)
{
    uint8_t block[256];
    (void)end;
    for (size_t at = 0, stop; at < part.n; at = stop) {
        const st_part rest = st_part_of(part, at, part.n);
        stop = at + already_lower(rest);
        ST_TRY(st_step_pass(flow, step, st_part_of(part, at, stop), stop == part.n));
        if (stop == part.n)
            break;
        if (part.text[stop] >= 0x80) {
            unsigned size;
            const uint32_t point = st_utf8_decode(part.text + stop, &size);
            ST_TRY(put_lower(flow, step, point, st_source_at(part, stop)));
            stop += size;
            continue;
        }
        at = stop;
        const size_t most = flow->traced || at < part.begun ? 1 : sizeof block; /* at once: each with its own place */
        stop = lower_ascii(block, part.text, at, part.n - at < most ? part.n : at + most);
        ST_TRY(st_step_put(flow, step, block, stop - at, st_source_at(part, at)));
    }
    return ST_OK;
}

/* ---- a text by another ---- */

/* Hands on the first `n` bytes of what is held, which begins the pattern. */
static st_status release(st_flow *flow, size_t step, size_t n)
{
    st_step_state *state = &flow->states[step];
    ST_TRY(st_step_pass(flow, step, st_part_of(st_step_held(flow, step), 0, n), 0));
    state->start += n;
    return ST_OK;
}

/* The pattern ends with the last byte held. */
static st_status put_content(st_flow *flow, size_t step)
{
    const st_step *s = &flow->normalizer->steps[step];
    const st_part held = st_step_held(flow, step);
    const size_t source = st_source_at(held, held.n - 1);
    st_step_drop_held(flow, step);
    flow->states[step].matched = 0;
    return st_step_put(flow, step, s->content, s->content_size, source);
}

/* One more byte of the text, which follows on what is held. Held is what the text ends with of the beginning of the pattern. */
static st_status match_byte(st_flow *flow, size_t step, st_part byte)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    size_t k = state->matched;
    while (k && s->pattern[k] != byte.text[0])
        k = s->fails[k];
    ST_TRY(release(flow, step, state->matched - k));
    if (s->pattern[k] != byte.text[0]) {
        state->matched = 0;
        return st_step_pass(flow, step, byte, 0);
    }
    ST_TRY(st_step_hold(flow, step, byte));
    state->matched = k + 1;
    return state->matched == s->pattern_size ? put_content(flow, step) : ST_OK;
}

/* Writes a text with `content` in the place of each `byte`; returns how much that is. to: room for that and eight bytes more. */
static size_t put_replaced(uint8_t *to, const uint8_t *text, size_t n, uint8_t byte, const uint8_t *content, size_t size)
{
    uint8_t *const begin = to;
    size_t at = 0;
#if ST_SWAR
    const uint64_t ones = UINT64_C(0x0101010101010101), all = ones * byte, by = st_load64(content);
    while (n - at >= 8) { /* eight bytes, or those in front of the first one that goes */
        const uint64_t eight = st_load64(text + at), other = eight ^ all, found = (other - ones) & ~other & ones << 7;
        const size_t kept = found ? st_first_bit(found) / 8 : 8;
        st_store64(to, eight);
        to += kept;
        at += kept;
        if (found) {
            st_store64(to, by);
            to += size;
            at++;
        }
    }
#endif
    for (; at < n; at++) {
        if (text[at] != byte) {
            *to++ = text[at];
            continue;
        }
        memcpy(to, content, size);
        to += size;
    }
    return (size_t)(to - begin);
}

/* Bytes of which an ASCII character is replaced at once. */
#define REPLACED_AT_ONCE ((size_t)8192)

/* The pattern is one ASCII character, as a blank, and the content has at most eight bytes. */
static st_status replace_ascii(st_flow *flow, size_t step, st_part part)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_bytes *out = &flow->states[step].out.text;
    uint8_t content[8] = {0};
    memcpy(content, s->content, s->content_size);
    for (size_t at = 0, stop; at < part.n; at = stop) {
        stop = part.n - at > REPLACED_AT_ONCE ? at + REPLACED_AT_ONCE : part.n;
        while (stop < part.n && st_utf8_is_continuation(part.text[stop]))
            stop++;
        ST_TRY(st_bytes_reserve(out, (stop - at) * (s->content_size + 1) + 8));
        out->size += put_replaced(out->data + out->size, part.text + at, stop - at, s->pattern[0], content, s->content_size);
        ST_TRY(st_step_put(flow, step, content, 0, 0)); /* hands on what is there if it is much */
    }
    return ST_OK;
}

st_status st_step_replace(st_flow *flow, size_t step, st_part part, int end)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    const int is_ascii = s->pattern_size == 1 && s->pattern[0] < 0x80 && s->content_size && s->content_size <= 8 && !flow->traced;
    const size_t n = is_ascii ? part.begun : part.n; /* of these the places matter */
    for (size_t at = 0; at < n;) {
        if (!state->matched) {
            const uint8_t *found = memchr(part.text + at, s->pattern[0], n - at);
            const size_t stop = found ? (size_t)(found - part.text) : n;
            ST_TRY(st_step_pass(flow, step, st_part_of(part, at, stop), stop == part.n));
            at = stop;
            if (at == n)
                break;
        }
        ST_TRY(match_byte(flow, step, st_part_of(part, at, at + 1)));
        at++;
    }
    if (is_ascii)
        return replace_ascii(flow, step, st_part_of(part, n, part.n));
    return end ? release(flow, step, st_step_held(flow, step).n) : ST_OK;
}

/* ---- characters of a class ---- */

static int in_class(const st_step *s, uint32_t point)
{
    if (s->mask)
        return st_normal_in(point, s->mask);
    size_t low = 0, high = s->range_count;
    ST_BISECT(low, high, at, s->ranges[2 * at + 1] < point) /* to the first range that does not end before the point */
    return low < s->range_count && s->ranges[2 * low] <= point;
}

int st_step_class_keeps(const st_step *s, const uint8_t *text)
{
    unsigned size;
    return !in_class(s, st_utf8_decode(text, &size));
}

/* No mask of a class has ASCII. Returns where the next other character begins; of runs, which ASCII ends, each counts. */
static size_t skip_ascii(const st_step *s, const uint8_t *text, size_t at, size_t n)
{
    if (!s->mask || s->runs)
        return at;
    while (n - at >= 8 && !(st_load64(text + at) & UINT64_C(0x8080808080808080)))
        at += 8;
    while (at < n && text[at] < 0x80)
        at++;
    return at;
}

/* A run ends, of which as many characters are held as are needed, and then the last one. */
static st_status end_run(st_flow *flow, size_t step, size_t needed)
{
    st_step_state *state = &flow->states[step];
    if (state->matched >= needed)
        return put_content(flow, step);
    state->matched = 0;
    ST_TRY(st_step_pass(flow, step, st_step_held(flow, step), 0));
    st_step_drop_held(flow, step);
    return ST_OK;
}

st_status st_step_class(st_flow *flow, size_t step, st_part part, int end)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    const size_t needed = s->least > 1 ? (size_t)s->least : 1;
    size_t at = skip_ascii(s, part.text, 0, part.n), plain = 0; /* part[plain..at) stays */
    unsigned size;
    for (; at < part.n; at = skip_ascii(s, part.text, at + size, part.n)) {
        if (in_class(s, st_utf8_decode(part.text + at, &size))) {
            ST_TRY(st_step_pass(flow, step, st_part_of(part, plain, at), 0));
            plain = at + size;
            if (s->runs) {
                if (state->matched + 1 > needed) /* the last one's place is that of the content */
                    st_step_drop_held(flow, step);
                ST_TRY(st_step_hold(flow, step, st_part_of(part, at, plain)));
                state->matched += state->matched < needed;
            } else {
                ST_TRY(st_step_put(flow, step, s->content, s->content_size, st_source_at(part, at)));
            }
        } else if (state->matched) {
            ST_TRY(end_run(flow, step, needed));
        }
    }
    ST_TRY(st_step_pass(flow, step, st_part_of(part, plain, at), 1));
    return end && state->matched ? end_run(flow, step, needed) : ST_OK;
}

/* ---- the ends ---- */

/* A part has whole characters, so the first one is there. */
static int begins_with(st_part part, const st_step *s)
{
    return part.n >= s->content_size && !memcmp(part.text, s->content, s->content_size);
}

st_status st_step_prepend(st_flow *flow, size_t step, st_part part, int end)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    (void)end;
    if (part.n && !state->begun) {
        state->begun = 1;
        if ((s->first && (flow->later || st_source_at(part, 0))) || (s->unless && begins_with(part, s)))
            return st_step_pass(flow, step, part, 1);
        ST_TRY(st_step_put(flow, step, s->content, s->content_size, st_source_at(part, 0)));
    }
    return st_step_pass(flow, step, part, 1);
}

st_status st_step_strip(st_flow *flow, size_t step, st_part part, int end)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_step_state *state = &flow->states[step];
    size_t at = 0, tail = part.n;
    unsigned size;
    (void)end; /* white space that is held then is dropped */
    if (s->left && !state->begun)
        for (; at < part.n && st_is_white(st_utf8_decode(part.text + at, &size)); at += size)
            ;
    if (at == part.n)
        return ST_OK;
    state->begun = 1;
    while (s->right && tail > at) {
        const size_t before = tail - st_utf8_size_before(part.text, tail);
        if (!st_is_white(st_utf8_decode(part.text + before, &size)))
            break;
        tail = before;
    }
    if (tail > at) {
        ST_TRY(st_step_pass(flow, step, st_step_held(flow, step), 0));
        st_step_drop_held(flow, step);
        ST_TRY(st_step_pass(flow, step, st_part_of(part, at, tail), 1));
    }
    return st_step_hold(flow, step, st_part_of(part, tail, part.n));
}

/* ---- letters for bytes ---- */

/* GPT-2's letter for a byte: itself where that can be seen; the others in turn from U+0100 on. */
static uint32_t letter_of(uint8_t byte)
{
    if (byte >= 0x21 && byte != 0x7F && (byte < 0x7F || byte > 0xA0) && byte != 0xAD)
        return byte;
    return 0x100u + (byte < 0x21 ? byte : byte < 0xA1 ? byte - 0x7Fu + 0x21u : 0x43u);
}

st_status st_step_letters(st_flow *flow, size_t step, st_part part, int end)
{
    uint8_t bytes[4];
    (void)end;
    for (size_t at = 0; at < part.n; at++)
        ST_TRY(st_step_put(flow, step, bytes, st_utf8_write(bytes, letter_of(part.text[at])), st_source_at(part, at)));
    return ST_OK;
}

/* ---- saved states ---- */

static int all_white(const uint8_t *text, size_t n)
{
    unsigned size;
    for (size_t at = 0; at < n; at += size)
        if (!st_is_white(st_utf8_decode(text + at, &size)))
            return 0;
    return 1;
}

/* As many characters as are needed at most; of more, the last one. */
static int may_hold_run(const st_step *s, const st_step_holds *h)
{
    const size_t needed = s->least > 1 ? (size_t)s->least : 1;
    size_t count = 0;
    unsigned size;
    for (size_t at = 0; at < h->n; at += size, count++)
        if (!s->runs || !in_class(s, st_utf8_decode(h->text + at, &size)))
            return 0;
    return count ? h->matched <= needed && (h->matched == count || (h->matched == needed && count == 1)) : !h->matched;
}

int st_step_may_hold(const st_step *s, const st_step_holds *h)
{
    switch (s->kind) {
    case ST_STEP_FORM:
        return !h->matched && !h->begun && st_step_form_may_hold(s->form, h->text, h->n);
    case ST_STEP_REPLACE:
        return !h->begun && h->matched == h->n && h->n < s->pattern_size && (!h->n || !memcmp(h->text, s->pattern, h->n));
    case ST_STEP_CLASS:
        return !h->begun && may_hold_run(s, h);
    case ST_STEP_MAP:
        return st_step_map_may_hold(h);
    case ST_STEP_SENTENCE:
        return st_step_sentence_may_hold(s, h);
    case ST_STEP_MATCHES:
    case ST_STEP_PIECES:
        return st_step_matches_may_hold(s, h);
    case ST_STEP_STRIP:
        return !h->matched && (!h->n || (s->right && h->begun && all_white(h->text, h->n)));
    default:
        return !h->matched && !h->n && (s->kind == ST_STEP_PREPEND || s->kind == ST_STEP_WORDS || !h->begun);
    }
}
