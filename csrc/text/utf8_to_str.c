#include "text/utf8_to_str.h"

#include "base/interrupt.h"
#include "base/load.h"
#include "base/utf8.h"

/* ---- what a str needs ---- */

#define LANES 32
#define ROUNDS 255 /* of counts in bytes */

/* The compiler makes vectors of this: a count and the largest byte in each lane. */
static void measure_rounds(const uint8_t *text, size_t rounds, uint8_t *counts, uint8_t *largest)
{
    for (size_t round = 0; round < rounds; round++)
        for (size_t lane = 0; lane < LANES; lane++) {
            const uint8_t byte = text[round * LANES + lane];
            counts[lane] = (uint8_t)(counts[lane] + ((int8_t)byte >= -64));
            largest[lane] = byte > largest[lane] ? byte : largest[lane];
        }
}

st_utf8_facts st_utf8_measure(const uint8_t *text, size_t n)
{
    uint8_t largest[LANES] = {0}, most = 0;
    size_t characters = 0, at = 0;
    while (n - at >= LANES) {
        uint8_t counts[LANES] = {0};
        const size_t whole = (n - at) / LANES, rounds = whole < ROUNDS ? whole : ROUNDS;
        measure_rounds(text + at, rounds, counts, largest);
        for (size_t lane = 0; lane < LANES; lane++)
            characters += counts[lane];
        at += rounds * LANES;
    }
    for (; at < n; at++) {
        characters += !st_utf8_is_continuation(text[at]);
        most = text[at] > most ? text[at] : most;
    }
    for (size_t lane = 0; lane < LANES; lane++)
        most = largest[lane] > most ? largest[lane] : most;
    /* Lead bytes are above all continuation bytes, and C4 begins U+0100, F0 U+10000. */
    return (st_utf8_facts){characters, most < 0x80 ? 0x80 : most < 0xC4 ? 0x100 : most < 0xF0 ? 0x10000 : 0x110000};
}

/* ---- code points ---- */

#define AT_ONCE 16

static int is_ascii(const uint8_t *text)
{
    return !((st_load64(text) | st_load64(text + 8)) & UINT64_C(0x8080808080808080));
}

/* Text of mostly ASCII goes 16 bytes at a time; other text a character at a time, and looks for ASCII again behind 16 bytes. Returns
 * where the characters end. */
#define ST_TO_CODE_POINTS(name, type)                                                       \
    static void *name(const uint8_t *text, size_t n, void *place)                           \
    {                                                                                       \
        type *to = place;                                                                   \
        unsigned size;                                                                      \
        for (size_t at = 0; at < n;) {                                                      \
            if (n - at >= AT_ONCE && is_ascii(text + at)) {                                 \
                for (size_t i = 0; i < AT_ONCE; i++)                                        \
                    to[i] = text[at + i];                                                   \
                to += AT_ONCE;                                                              \
                at += AT_ONCE;                                                              \
                continue;                                                                   \
            }                                                                               \
            for (const size_t end = n - at < AT_ONCE ? n : at + AT_ONCE; at < end; at += size) \
                *to++ = (type)st_utf8_decode(text + at, &size);                             \
        }                                                                                   \
        return to;                                                                          \
    }

ST_TO_CODE_POINTS(to_bytes, uint8_t)
ST_TO_CODE_POINTS(to_halves, uint16_t)
ST_TO_CODE_POINTS(to_words, uint32_t)

/* Bytes between two calls of st_go_on. */
#define STEP ((size_t)1 << 20)

st_status st_utf8_to_code_points(const uint8_t *text, size_t n, unsigned width, void *to)
{
    for (size_t at = 0, end; at < n; at = end) {
        end = n - at < STEP ? n : at + STEP;
        while (end < n && st_utf8_is_continuation(text[end]))
            end++;
        to = (width == 1 ? to_bytes : width == 2 ? to_halves : to_words)(text + at, end - at, to);
        if (end < n)
            ST_TRY(st_go_on(end - at));
    }
    return ST_OK;
}
