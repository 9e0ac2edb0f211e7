#include "text/utf8_check.h"

#include "base/interrupt.h"
#include "base/utf8.h"
#include "text/utf8_valid.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

static size_t skip_ascii(const uint8_t *text, size_t at, size_t n)
{
    uint64_t block;
    while (at + 8 <= n) {
        memcpy(&block, text + at, 8);
        if (block & HIGH_BITS)
            break;
        at += 8;
    }
    while (at < n && text[at] < 0x80)
        at++;
    return at;
}

/* Is text[at..] a whole valid character of two or more bytes? Its length, or 0. */
static size_t whole_character(const uint8_t *text, size_t at, size_t n)
{
    uint8_t lead = text[at];
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    size_t size = st_utf8_size(lead);
    if (size > n - at || !st_utf8_may_follow(lead, text[at + 1]))
        return 0;
    for (size_t i = 2; i < size; i++)
        if (!st_utf8_is_continuation(text[at + i]))
            return 0;
    return size;
}

/* The extent is the longest beginning of a valid character, or one byte (Unicode's "maximal subpart"; CPython's rule). */
static void describe(const uint8_t *text, size_t at, size_t n, st_text_error *error)
{
    uint8_t lead = text[at];
    size_t end = at + 1, size = lead >= 0xC2 && lead <= 0xF4 ? st_utf8_size(lead) : 1;
    if (size > 1 && end < n && st_utf8_may_follow(lead, text[end]))
        while (end < n && end - at < size && st_utf8_is_continuation(text[end]))
            end++;
    error->start = at;
    error->end = end;
    error->fault = size == 1  ? ST_TEXT_INVALID_START
                   : end == n ? ST_TEXT_UNEXPECTED_END
                              : ST_TEXT_INVALID_CONTINUATION;
}

/* The length of the valid beginning. */
static size_t valid_size(const uint8_t *text, size_t n)
{
    size_t at = st_text_valid(text, n);
    while ((at = skip_ascii(text, at, n)) < n) {
        do { /* characters beyond ASCII come in runs: no test for ASCII after each */
            size_t size = whole_character(text, at, n);
            if (!size)
                return at;
            at += size;
        } while (at < n && text[at] >= 0x80);
    }
    return n;
}

/* Bytes checked between two calls of st_go_on. */
#define STEP ST_LONG_CHECK

/* The end of the step that begins at `from`: between characters, if all is valid. */
static size_t end_of_step(const uint8_t *text, size_t from, size_t n)
{
    if (n - from <= STEP)
        return n;
    size_t end = from + STEP;
    for (int back = 0; back < 3 && st_utf8_is_continuation(text[end]); back++)
        end--;
    return end;
}

size_t st_text_check(const uint8_t *text, size_t n, st_text_error *error)
{
    for (size_t at = 0, end; at < n; at = end) {
        end = end_of_step(text, at, n);
        const size_t valid = valid_size(text + at, end - at);
        if (valid < end - at) {
            describe(text, at + valid, n, error);
            return at + valid;
        }
        if (end < n && st_go_on((end - at) / 8)) /* far less work than others do for as many bytes */
            return n;
    }
    return n;
}

st_status st_text_repair(const uint8_t *text, size_t n, st_errors errors, st_bytes *out)
{
    static const uint8_t replacement[3] = {0xEF, 0xBF, 0xBD}; /* U+FFFD */
    while (n) {
        st_text_error error;
        size_t valid = st_text_check(text, n, &error);
        ST_TRY(st_go_on(8));
        if (st_bytes_append(out, text, valid))
            return ST_NO_MEMORY;
        if (valid == n)
            break;
        if (errors == ST_ERRORS_REPLACE && st_bytes_append(out, replacement, sizeof replacement))
            return ST_NO_MEMORY;
        text += error.end;
        n -= error.end;
    }
    return ST_OK;
}

st_span st_read_text(st_reader *r)
{
    st_text_error error;
    const st_span found = st_read_span(r);
    if (st_text_check(found.bytes, found.n, &error) != found.n)
        r->failed = 1;
    return found;
}
