#include "listing/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

void st_json_blank(st_json *json)
{
    while (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t')
        json->at++;
}

int st_json_take(st_json *json, uint8_t byte)
{
    st_json_blank(json);
    if (*json->at != byte)
        return 0;
    json->at++;
    st_json_blank(json);
    return 1;
}

/* The value of four hexadecimal digits, or UINT32_MAX. */
static uint32_t hex_at(const uint8_t *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        const uint8_t c = at[i], low = c | 0x20;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            value = value << 4 | (uint32_t)(low - 'a' + 10);
        else
            return UINT32_MAX; /* also the 0 behind the text */
    }
    return value;
}

/* The character of \uXXXX or of a pair of them, and moves behind it. The fault is set where there is none. */
static uint32_t escaped_character(st_json *json)
{
    const uint32_t high = hex_at(json->at + 2);
    if (high == UINT32_MAX) {
        json->fault = "\\u is followed by something else than four hexadecimal digits";
        return 0;
    }
    json->at += 6;
    if (high < 0xD800 || high > 0xDFFF)
        return high;
    const uint32_t low = high < 0xDC00 && json->at[0] == '\\' && json->at[1] == 'u' ? hex_at(json->at + 2) : UINT32_MAX;
    if (low < 0xDC00 || low > 0xDFFF) {
        json->fault = "one half of a surrogate pair stands alone";
        return 0;
    }
    json->at += 6;
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
}

static st_status append_character(st_bytes *out, uint32_t c)
{
    uint8_t bytes[4];
    return st_bytes_append(out, bytes, st_utf8_write(bytes, c));
}

static st_status append_escaped(st_json *json, st_bytes *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const uint8_t name = json->at[1];
    if (name == 'u') {
        const uint32_t c = escaped_character(json);
        return json->fault ? ST_OK : append_character(out, c);
    }
    for (size_t i = 0; i < sizeof names - 1; i++)
        if (name == (uint8_t)names[i]) {
            json->at += 2;
            return append_character(out, (uint8_t)values[i]);
        }
    json->fault = "a backslash is followed by a character that is no escape";
    return ST_OK;
}

st_status st_json_string(st_json *json, st_bytes *out)
{
    if (*json->at != '"') {
        json->fault = "a string is missing";
        return ST_OK;
    }
    json->at++;
    while (!json->fault) {
        const uint8_t *from = json->at;
        while (*json->at >= 0x20 && *json->at != '"' && *json->at != '\\')
            json->at++;
        ST_TRY(st_bytes_append(out, from, (size_t)(json->at - from)));
        if (*json->at == '"') {
            json->at++;
            return ST_OK;
        }
        if (*json->at == '\\')
            ST_TRY(append_escaped(json, out));
        else
            json->fault = "a string does not end, or holds a control character";
    }
    return ST_OK;
}

uint32_t st_json_number(st_json *json, uint32_t most)
{
    uint64_t value = 0;
    const uint8_t *from = json->at;
    while (*json->at >= '0' && *json->at <= '9' && value <= most)
        value = 10 * value + (uint64_t)(*json->at++ - '0');
    if (json->at == from || value > most || (*from == '0' && json->at > from + 1) || *json->at == '.' ||
        (*json->at | 0x20) == 'e') {
        json->at = from;
        json->fault = "an id is no whole number from 0 to 2**31 - 1";
        return 0;
    }
    return (uint32_t)value;
}

static int is_digit(uint8_t byte)
{
    return (uint8_t)(byte - '0') < 10;
}

/* Takes digits into *value for as long as it has room; returns how many. */
static int take_digits(st_json *json, uint64_t *value)
{
    const uint8_t *from = json->at;
    for (; is_digit(*json->at); json->at++) {
        const uint64_t digit = (uint64_t)(*json->at - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            break;
        *value = 10 * *value + digit;
    }
    return (int)(json->at - from);
}

/* Moves behind digits; returns how many, but no more than a large number. */
static int pass_digits(st_json *json)
{
    const uint8_t *from = json->at;
    while (is_digit(*json->at))
        json->at++;
    return json->at - from < 100000 ? (int)(json->at - from) : 100000;
}

/* What stands behind an `e`; 0 where none is. */
static int take_exponent(st_json *json)
{
    uint64_t value = 0;
    if ((*json->at | 0x20) != 'e')
        return 0;
    json->at++;
    const int negative = *json->at == '-';
    json->at += negative || *json->at == '+';
    if (!is_digit(*json->at))
        json->fault = "a number has no exponent behind its e";
    take_digits(json, &value);
    if (pass_digits(json) || value > 200000)
        value = 200000;
    return negative ? -(int)value : (int)value;
}

static double power_of_ten(int exponent)
{
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    char text[16];
    if (exponent < (int)(sizeof exact / sizeof *exact))
        return exact[exponent];
    snprintf(text, sizeof text, "1e%d", exponent);
    return strtod(text, NULL);
}

double st_json_real(st_json *json)
{
    const int negative = *json->at == '-';
    uint64_t digits = 0;
    int exponent = 0;
    json->at += negative;
    const uint8_t *from = json->at;
    if (!is_digit(*from) || (*from == '0' && is_digit(from[1]))) {
        json->fault = "a number is missing";
        return 0;
    }
    take_digits(json, &digits);
    exponent = pass_digits(json);
    if (*json->at == '.') {
        json->at++;
        if (!is_digit(*json->at))
            json->fault = "no digit stands behind the point of a number";
        exponent -= take_digits(json, &digits);
        pass_digits(json);
    }
    exponent += take_exponent(json);
    double value = (double)digits;
    for (; exponent < -308 && value > 0; exponent += 308)
        value /= 1e308;
    if (value > 0)
        value = exponent > 308 ? HUGE_VAL : exponent >= 0 ? value * power_of_ten(exponent) : value / power_of_ten(-exponent);
    if (value > 1.7976931348623157e308)
        json->fault = "a number is too large";
    return negative ? -value : value;
}

/* Bytes that skipping looks at, in a string and outside of one; all others are passed over at once. */
#define IN_STRING 1
#define OUTSIDE 2

static const uint8_t marks[256] = {[0] = IN_STRING | OUTSIDE, ['"'] = IN_STRING | OUTSIDE, ['\\'] = IN_STRING,
                                   ['{'] = OUTSIDE,           ['}'] = OUTSIDE,             ['['] = OUTSIDE,
                                   [']'] = OUTSIDE,           [','] = OUTSIDE};

/* Moves behind a string, whatever it holds. */
static void skip_string(st_json *json)
{
    const uint8_t *at = json->at + 1;
    for (;;) {
        while (!(marks[*at] & IN_STRING))
            at++;
        if (*at != '\\')
            break;
        at += at[1] ? 2 : 1;
    }
    json->at = at + (*at != 0);
    if (!*at)
        json->fault = "a string does not end";
}

void st_json_skip(st_json *json)
{
    size_t depth = 0;
    const uint8_t *from = json->at;
    do {
        while (!(marks[*json->at] & OUTSIDE))
            json->at++;
        const uint8_t c = *json->at;
        if (c == '"') {
            skip_string(json);
            continue;
        }
        if (!depth && (c == ',' || c == ']' || c == '}')) /* the end of a number or a word */
            break;
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        if (!c)
            json->fault = "the text ends inside a value";
        else
            json->at++;
        if (depth == 0 && (c == '}' || c == ']'))
            break;
    } while (!json->fault && (depth || *from != '"'));
    if (json->at == from)
        json->fault = "a value is missing";
}
