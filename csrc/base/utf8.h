/* utf8.h - the little that streamtok needs of UTF-8.
 *
 * All functions but st_utf8_unfinished trust their input: the pointer stands at the first byte of a whole, valid
 * character. Whoever takes text from outside checks it first. */
#ifndef ST_BASE_UTF8_H
#define ST_BASE_UTF8_H

#include "base/portable.h"

/* Bytes in the character that begins with this byte; a sum, because a branch would mispredict where scripts mix. */
ST_INLINE unsigned st_utf8_size(uint8_t lead)
{
    return 1u + (lead >= 0x80) + (lead >= 0xE0) + (lead >= 0xF0);
}

ST_INLINE int st_utf8_is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* The code point at `text`; its length goes to *size. */
ST_INLINE uint32_t st_utf8_decode(const uint8_t *text, unsigned *size)
{
    const uint32_t lead = text[0];
    *size = st_utf8_size(text[0]);
    if (lead < 0x80)
        return lead;
    if (lead < 0xE0)
        return (lead & 0x1F) << 6 | (text[1] & 0x3Fu);
    if (lead < 0xF0)
        return (lead & 0x0F) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu);
    return (lead & 0x07) << 18 | (text[1] & 0x3Fu) << 12 | (text[2] & 0x3Fu) << 6 | (text[3] & 0x3Fu);
}

/* A code point as UTF-8, in up to 4 bytes; returns its size. */
ST_INLINE unsigned st_utf8_write(uint8_t *to, uint32_t point)
{
    if (point < 0x80) {
        to[0] = (uint8_t)point;
        return 1;
    }
    const unsigned size = 2u + (point >= 0x800) + (point >= 0x10000);
    for (unsigned i = size - 1; i; i--, point >>= 6)
        to[i] = (uint8_t)(0x80 | (point & 0x3F));
    to[0] = (uint8_t)((0xF00u >> size & 0xF0) | point);
    return size;
}

/* Whether a character is white space, as Rust's char::is_whitespace has it and \s of its regular expressions. */
ST_INLINE int st_is_white(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || c - 9 < 5u;
    return c == 0x85 || c == 0xA0 || c == 0x1680 || c - 0x2000 < 11u || c - 0x2028 < 2u || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

/* Length of the character that ends in front of text[end]; end > 0. */
ST_INLINE unsigned st_utf8_size_before(const uint8_t *text, size_t end)
{
    unsigned size = 1;
    while (st_utf8_is_continuation(text[end - size]))
        size++;
    return size;
}

/* May `second` follow `lead` in a character of two bytes or more? The second byte alone rules out overlong forms
 * (E0, F0), surrogates (ED) and what lies above U+10FFFF (F4); every later byte may be any continuation. */
ST_INLINE int st_utf8_may_follow(uint8_t lead, uint8_t second)
{
    const uint8_t first = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const uint8_t last = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    return first <= second && second <= last;
}

/* How many bytes at the end of text[0..n) begin a character that needs more bytes, and could still become a valid
 * one: 0 to 3. Wrong bytes count as no beginning: they stay for the check to find. */
ST_INLINE unsigned st_utf8_unfinished(const uint8_t *text, size_t n)
{
    unsigned held = 1;
    while (held <= 3 && held <= n && st_utf8_is_continuation(text[n - held]))
        held++;
    if (held > 3 || held > n)
        return 0;
    const uint8_t lead = text[n - held];
    if (lead < 0xC2 || lead > 0xF4 || st_utf8_size(lead) <= held)
        return 0;
    return held == 1 || st_utf8_may_follow(lead, text[n - held + 1]) ? held : 0;
}

#endif
