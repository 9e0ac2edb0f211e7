/* What BERT's normalizer does to single characters: without control characters, white space as blanks, blanks around ideographs. */
#include "base/bits.h"
#include "base/load.h"
#include "normal/joined.h"
#include "normal/step.h"

/* ---- ASCII ---- */

#define ASCII_AT_ONCE 32

/* One ASCII character as it becomes; 0x80: not a single one, or none. */
static inline uint8_t clean_one(uint8_t c, uint8_t controls, uint8_t lower)
{
    const uint8_t is_blank = (c == '\t') | (c == '\n') | (c == '\r'), is_low = c < 0x20;
    const uint8_t gone = (uint8_t)((is_low & (is_blank ^ 1)) | (c == 0x7F)) & controls;
    const uint8_t made = (uint8_t)(c | ((uint8_t)(c - 'A') < 26 ? lower : 0));
    return (uint8_t)((is_blank & controls ? ' ' : made) | (gone ? 0x80 : 0));
}

/* How many of ASCII_AT_ONCE bytes stand in front of the first one of 0x80 or more, which is there. */
static size_t count_plain(const uint8_t *made)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    size_t at = 0;
    while (!(st_load64(made + at) & high))
        at += 8;
    return at + st_first_bit(st_load64(made + at) & high) / 8;
}

/* Writes text[0..n) as it becomes, up to the first character that is not ASCII or does not stay one. Returns how many bytes. to: room
 * for n bytes. */
static size_t clean_ascii(const st_step *s, int is_lower, uint8_t *to, const uint8_t *text, size_t n)
{
    const uint8_t controls = s->clean.controls != 0, lower = is_lower ? 0x20 : 0;
    size_t at = 0;
    for (; n - at >= ASCII_AT_ONCE; at += ASCII_AT_ONCE) { /* a loop that compilers make vectors of */
        uint8_t other = 0;
        for (size_t i = 0; i < ASCII_AT_ONCE; i++) {
            const uint8_t c = text[at + i], made = clean_one(c, controls, lower);
            to[at + i] = made;
            other |= made;
        }
        if (other & 0x80)
            return at + count_plain(to + at);
    }
    for (; at < n; at++) {
        const uint8_t made = clean_one(text[at], controls, lower);
        if (made & 0x80)
            break;
        to[at] = made;
    }
    return at;
}

/* ---- all of it ---- */

/* Writes what the character at `text` becomes and returns the bytes of that. *size: those that it has. */
static size_t clean_character(const st_step *s, uint8_t *to, const uint8_t *text, unsigned *size)
{
    return st_clean_character(&s->clean, to, st_utf8_decode(text, size));
}

int st_step_clean_keeps(const st_step *s, const uint8_t *text)
{
    uint8_t made[ST_MOST_CLEANED];
    unsigned size;
    const size_t n = clean_character(s, made, text, &size);
    return n == size && !memcmp(made, text, n);
}

static st_status clean_traced(st_flow *flow, size_t step, st_part part)
{
    uint8_t made[ST_MOST_CLEANED];
    unsigned size;
    for (size_t at = 0; at < part.n; at += size) {
        const size_t n = clean_character(&flow->normalizer->steps[step], made, part.text + at, &size);
        ST_TRY(st_step_put(flow, step, made, n, st_source_at(part, at)));
    }
    return ST_OK;
}

/* Bytes that are taken at once: what is made of them lies in the nearest cache. */
#define TAKEN ((size_t)8192)

/* Bytes that a byte of text becomes at most, and that are written at once. */
#define GROWTH 8

/* Takes characters of text[0..n) through all steps that are joined to this one, up to one that the steps themselves have to look at.
 * *taken: their bytes. */
static st_status clean_joined(st_flow *flow, size_t step, const uint8_t *text, size_t n, size_t *taken)
{
    const st_step *s = &flow->normalizer->steps[step];
    const size_t last = step + s->joins;
    const int lower = s->clean.lower || flow->normalizer->steps[last].kind == ST_STEP_LOWER;
    st_bytes *out = &flow->states[last].out.text;
    ST_TRY(st_bytes_reserve(out, GROWTH * n + 64));
    uint8_t *to = out->data + out->size;
    size_t at = 0;
    for (int is_hard = 0; at < n && !is_hard;) {
        const size_t plain = clean_ascii(s, lower, to, text + at, n - at);
        to += plain;
        at += plain;
        at += at < n && text[at] < 0x80; /* a control that goes */
        while (at < n && text[at] >= 0x80) {
            unsigned size;
            const st_joined_entry *entry = st_joined_of(s->joined, st_utf8_decode(text + at, &size));
            is_hard = !entry || entry->n == ST_JOINED_HARD;
            if (is_hard)
                break;
            memcpy(to, entry->bytes, sizeof entry->bytes);
            to += entry->n;
            at += size;
        }
    }
    out->size = (size_t)(to - out->data);
    *taken = at;
    return st_step_made(flow, last);
}

/* Takes text[0..n) by itself. */
static st_status clean_alone(st_flow *flow, size_t step, const uint8_t *text, size_t n)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_bytes *out = &flow->states[step].out.text;
    ST_TRY(st_bytes_reserve(out, 2 * TAKEN + 64)); /* of an ideograph, of three bytes and more, come two more */
    uint8_t *to = out->data + out->size;
    for (size_t at = 0; at < n;) {
        const size_t plain = clean_ascii(s, s->clean.lower, to, text + at, n - at);
        unsigned size = 0;
        to += plain;
        at += plain;
        if (at < n)
            to += clean_character(s, to, text + at, &size);
        at += size;
    }
    out->size = (size_t)(to - out->data);
    return st_step_made(flow, step); /* hands on what is there if it is much */
}

st_status st_step_clean(st_flow *flow, size_t step, st_part part, int end)
{
    const st_step *s = &flow->normalizer->steps[step];
    (void)end;
    if (flow->traced)
        return clean_traced(flow, step, part);
    ST_TRY(clean_traced(flow, step, st_part_of(part, 0, part.begun)));
    for (size_t at = part.begun, stop; at < part.n; at = stop) {
        size_t taken = 0;
        for (stop = part.n - at > TAKEN ? at + TAKEN : part.n; stop < part.n && st_utf8_is_continuation(part.text[stop]);)
            stop++;
        if (s->joined) {
            int holds;
            ST_TRY(st_step_hand_on(flow, step, step + s->joins, &holds));
            if (!holds)
                ST_TRY(clean_joined(flow, step, part.text + at, stop - at, &taken));
        }
        if (at + taken < stop)
            ST_TRY(clean_alone(flow, step, part.text + at + taken, stop - at - taken));
    }
    return ST_OK;
}
