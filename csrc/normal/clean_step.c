/* What BERT's normalizer does to single characters: without control characters, white space as blanks, blanks around ideographs. */
#include "normal/step.h"

/* Ranges of ideographs, as tokenizers has them: U+2B820 to U+2B91F are left out there. */
static int is_ideograph(uint32_t c)
{
    return c - 0x4E00 < 0x5200 || c - 0x3400 < 0x19C0 || c - 0x20000 < 0xA6E0 || c - 0x2A700 < 0x1040 || c - 0x2B740 < 0xE0 ||
           c - 0x2B920 < 0x1590 || c - 0xF900 < 0x200 || c - 0x2F800 < 0x220;
}

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

/* Writes text[0..n) as it becomes, up to the first character that is not ASCII or does not stay one. Returns how many bytes. to: room
 * for n bytes. */
static size_t clean_ascii(const st_step *s, uint8_t *to, const uint8_t *text, size_t n)
{
    const uint8_t controls = s->controls != 0, lower = s->lower ? 0x20 : 0;
    size_t at = 0;
    for (; n - at >= ASCII_AT_ONCE; at += ASCII_AT_ONCE) { /* a loop that compilers make vectors of */
        uint8_t other = 0;
        for (size_t i = 0; i < ASCII_AT_ONCE; i++) {
            const uint8_t c = text[at + i], made = clean_one(c, controls, lower);
            to[at + i] = made;
            other |= made;
        }
        if (other & 0x80)
            break;
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

/* Writes what a character becomes, at most six bytes, and returns how many. */
static size_t clean_character(const st_step *s, uint8_t *to, const uint8_t *text, unsigned *size)
{
    const uint32_t point = st_utf8_decode(text, size);
    size_t n = 0;
    if (s->controls && st_normal_in(point, ST_MASK_CLEANED))
        return 0;
    if (s->controls && st_is_white(point)) {
        *to = ' ';
        return 1;
    }
    const int apart = s->ideographs && is_ideograph(point);
    if (apart)
        to[n++] = ' ';
    n += st_utf8_write(to + n, point + (s->lower && point - 'A' < 26 ? 0x20 : 0));
    if (apart)
        to[n++] = ' ';
    return n;
}

int st_step_clean_keeps(const st_step *s, const uint8_t *text)
{
    uint8_t made[6];
    unsigned size;
    const size_t n = clean_character(s, made, text, &size);
    return n == size && !memcmp(made, text, n);
}

static st_status clean_traced(st_flow *flow, size_t step, st_part part)
{
    uint8_t made[6];
    unsigned size;
    for (size_t at = 0; at < part.n; at += size) {
        const size_t n = clean_character(&flow->normalizer->steps[step], made, part.text + at, &size);
        ST_TRY(st_step_put(flow, step, made, n, st_source_at(part, at)));
    }
    return ST_OK;
}

/* Bytes that are taken at once: what is made of them lies in the nearest cache. */
#define TAKEN ((size_t)8192)

st_status st_step_clean(st_flow *flow, size_t step, st_part part, int end)
{
    const st_step *s = &flow->normalizer->steps[step];
    st_bytes *out = &flow->states[step].out.text;
    (void)end;
    if (flow->traced)
        return clean_traced(flow, step, part);
    ST_TRY(clean_traced(flow, step, st_part_of(part, 0, part.begun)));
    for (size_t at = part.begun; at < part.n;) {
        const size_t stop = part.n - at > TAKEN ? at + TAKEN : part.n;
        ST_TRY(st_bytes_reserve(out, 2 * TAKEN + 64)); /* of an ideograph, of three bytes and more, come two more */
        uint8_t *to = out->data + out->size;
        while (at < stop) {
            const size_t plain = clean_ascii(s, to, part.text + at, stop - at);
            unsigned size = 0;
            to += plain;
            at += plain;
            if (at < stop)
                to += clean_character(s, to, part.text + at, &size);
            at += size;
        }
        out->size = (size_t)(to - out->data);
        ST_TRY(st_step_put(flow, step, out->data, 0, 0)); /* hands on what is there if it is much */
    }
    return ST_OK;
}
