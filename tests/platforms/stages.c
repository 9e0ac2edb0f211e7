/* The stages of csrc/text on the tier in use, against definitions that share no code with them: which bytes are UTF-8, and what the
 * UTF-8 of a code point is. Every code point, every fault at every place of a block. Exit status 0: no difference; else what differed
 * is printed. Whatever is read ends where readable memory ends, where the system can arrange that.
 *
 *     stages [TIER [EVERY]]   nothing if another tier is in use; one of so many faults and code points (1: all of them) */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#if !defined(_WIN32)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "base/tier.h"
#include "text/str_to_utf8.h"
#include "text/utf8_check.h"
#include "text/utf8_valid.h"

#define MOST 8192

static uint8_t *readable_end; /* the page behind it cannot be read */
static unsigned long long checks;
static unsigned every = 1; /* one of so many is checked */

static _Noreturn void fail(const char *what, const uint8_t *data, size_t n)
{
    printf("tier %s: %s:", st_tier_name(), what);
    for (size_t i = 0; i < n; i++)
        printf(" %02x", data[i]);
    printf("\n");
    exit(1);
}

static void make_guard(void)
{
#if defined(_WIN32)
    uint8_t *const memory = malloc(4 * MOST);
    if (!memory)
        exit(2);
    readable_end = memory + 4 * MOST;
#else
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (4 * MOST + page - 1) / page * page;
    uint8_t *const memory = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + size, page, PROT_NONE))
        exit(2);
    readable_end = memory + size;
#endif
}

static uint8_t *guarded(const void *data, size_t n)
{
    return n ? memcpy(readable_end - n, data, n) : readable_end;
}

static uint64_t chance = 1;

static uint32_t below(uint32_t n)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(chance >> 33) % n;
}

/* ---- the definitions ---- */

/* The well-formed sequences of the Unicode standard, table 3-7: a range for each byte. */
static const uint8_t well_formed[9][8] = {
    {0x00, 0x7F},
    {0xC2, 0xDF, 0x80, 0xBF},
    {0xE0, 0xE0, 0xA0, 0xBF, 0x80, 0xBF},
    {0xE1, 0xEC, 0x80, 0xBF, 0x80, 0xBF},
    {0xED, 0xED, 0x80, 0x9F, 0x80, 0xBF},
    {0xEE, 0xEF, 0x80, 0xBF, 0x80, 0xBF},
    {0xF0, 0xF0, 0x90, 0xBF, 0x80, 0xBF, 0x80, 0xBF},
    {0xF1, 0xF3, 0x80, 0xBF, 0x80, 0xBF, 0x80, 0xBF},
    {0xF4, 0xF4, 0x80, 0x8F, 0x80, 0xBF, 0x80, 0xBF},
};

static size_t character_at(const uint8_t *text, size_t n)
{
    for (size_t row = 0; row < 9; row++) {
        size_t i = 0;
        while (i < 4 && well_formed[row][2 * i + 1] && i < n && text[i] >= well_formed[row][2 * i] && text[i] <= well_formed[row][2 * i + 1])
            i++;
        if (i && (i == 4 || !well_formed[row][2 * i + 1]))
            return i;
    }
    return 0;
}

static size_t valid_by_definition(const uint8_t *text, size_t n)
{
    size_t at = 0;
    for (size_t size; at < n && (size = character_at(text + at, n - at)); at += size)
        ;
    return at;
}

static size_t put_utf8(uint32_t c, uint8_t *to)
{
    if (c < 0x80) {
        to[0] = (uint8_t)c;
        return 1;
    }
    const size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size; --i; c /= 64)
        to[i] = (uint8_t)(128 + c % 64);
    to[0] = (uint8_t)((size == 2 ? 192 : size == 3 ? 224 : 240) + c);
    return size;
}

/* ---- valid UTF-8 ---- */

static void check_valid(const uint8_t *data, size_t n)
{
    const uint8_t *const text = guarded(data, n);
    const size_t want = valid_by_definition(text, n), seen = st_text_valid(text, n);
    st_text_error error;
    if (seen > want || (st_tier()->text_valid && want - seen > 67) || valid_by_definition(text, seen) != seen)
        fail("st_text_valid", data, n);
    if (st_text_check(text, n, &error) != want || (want < n && error.start != want))
        fail("st_text_check", data, n);
    checks++;
}

/* `fault` at every place of text made of one character. */
static void check_at_every_place(const uint8_t *fault, size_t n, uint32_t filler, size_t step)
{
    uint8_t text[300], unit[4];
    const size_t size = put_utf8(filler, unit);
    for (size_t at = 0; at < 140; at += step) {
        size_t end = 0;
        while (end + size <= at)
            end += put_utf8(filler, text + end);
        memcpy(text + end, fault, n);
        end += n;
        check_valid(text, end);
        for (int i = 0; i < 20; i++)
            end += put_utf8(filler, text + end);
        check_valid(text, end);
    }
}

static void check_faults(void)
{
    static const uint8_t leads[] = {0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
    static const uint8_t seconds[] = {0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xE0}, others[] = {0x7F, 0x80, 0xBF, 0xC2};
    static const uint32_t fillers[] = {'a', 0xE9, 0x4E2D, 0x1F600};
    for (unsigned pair = 0; pair < 65536; pair += every) {
        const uint8_t two[2] = {(uint8_t)(pair >> 8), (uint8_t)pair};
        check_at_every_place(two, 2, fillers[pair % 4], 31 + pair % 7);
    }
    for (size_t lead = 0; lead < sizeof leads; lead++)
        for (size_t second = 0; second < sizeof seconds; second++)
            for (size_t last = (lead + second) % every % 16; last < 16; last += every) {
                const uint8_t four[4] = {leads[lead], seconds[second], others[last / 4], others[last % 4]};
                for (size_t n = 1; n <= 4; n++)
                    check_at_every_place(four, n, fillers[(lead + second + last) % 4], n == 4 || last % 4 == 0 ? 1 : 29);
            }
}

static void check_random_bytes(void)
{
    uint8_t text[400];
    for (int round = 0; round < 20000; round += (int)every) {
        const size_t n = below(sizeof text - 4);
        size_t size = 0;
        while (size < n)
            size += put_utf8(below(4) ? below(0x80) : below(2) ? below(0xD800) : 0x10000 + below(0x100000), text + size);
        for (uint32_t faults = below(3); faults && size; faults--)
            text[below((uint32_t)size)] = (uint8_t)below(256);
        check_valid(text, size - (size ? below((uint32_t)(size < 5 ? size : 5)) : 0));
    }
}

/* ---- code points ---- */

static void check_points(const uint32_t *points, size_t n, unsigned width)
{
    static uint8_t narrow[4 * MOST], want[4 * MOST + 8], got[ST_CODE_POINTS_ROOM(MOST) + 64];
    size_t size = 0, end = ST_CODE_POINTS_ROOM(n);
    int surrogate = 0;
    for (size_t i = 0; i < n; i++) {
        const uint16_t two = (uint16_t)points[i];
        if (width == 1)
            narrow[i] = (uint8_t)points[i];
        else
            memcpy(narrow + i * width, width == 2 ? (const void *)&two : &points[i], width);
        surrogate |= points[i] >= 0xD800 && points[i] < 0xE000;
        size += put_utf8(points[i], want + size);
    }
    memset(got, 0xA5, end + 64);
    const size_t found = st_code_points(guarded(narrow, n * width), n, width, got);
    for (size_t i = end; i < end + 64; i++)
        if (got[i] != 0xA5)
            fail("st_code_points writes beyond its room", narrow, n * width);
    if (surrogate ? found != ST_NOT_CONVERTED : found != size || memcmp(got, want, size))
        fail("st_code_points", narrow, n * width);
    checks++;
}

static void check_every_point(unsigned width, uint32_t limit)
{
    static uint32_t points[2 * MOST];
    uint8_t utf8[4];
    for (uint32_t first = 0; first < limit; first += 1000 * every)
        for (unsigned group = 1; group < 4; group++) { /* alone, behind an `a`, behind `a` and a letter of two bytes */
            size_t n = 0;
            for (uint32_t c = first; c < first + 1000 && c < limit; c++) {
                if (c >= 0xD800 && c < 0xE000)
                    continue;
                points[n++] = c;
                for (unsigned i = 1; i < group; i++)
                    points[n++] = i == 1 ? 'a' : 0xE9;
            }
            check_points(points, n, width);
        }
    for (uint32_t c = 0; width == 4 && c < 0x110000; c += every) { /* and each is valid as UTF-8, but for surrogates */
        const size_t n = put_utf8(c, utf8);
        if (valid_by_definition(utf8, n) != (c >= 0xD800 && c < 0xE000 ? 0 : n))
            fail("the definitions", utf8, n);
        check_valid(utf8, n);
    }
}

static void check_surrogates(void)
{
    uint32_t points[80];
    for (unsigned width = 2; width <= 4; width += 2)
        for (size_t n = 1; n <= 80; n += every)
            for (size_t at = 0; at < n; at++) {
                for (size_t i = 0; i < n; i++)
                    points[i] = i % 3 ? 'b' : 0x3B1;
                check_points(points, n, width);
                points[at] = 0xD800 + below(0x800);
                check_points(points, n, width);
            }
}

static void check_random_points(void)
{
    static const uint32_t edges[] = {0, 'a', 0x7F, 0x80, 0xFF, 0x100, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
    static uint32_t points[400];
    for (int round = 0; round < 30000; round += (int)every) {
        const unsigned width = 1u << below(3);
        const uint32_t kinds = width == 1 ? 5 : width == 2 ? 11 : 13, ascii = below(3) ? below(40) : 0;
        const size_t n = below(400);
        for (size_t i = 0; i < n; i++)
            points[i] = below(ascii + 1) ? 'a' + below(26) : edges[below(kinds)];
        check_points(points, n, width);
    }
}

int main(int count, char **given)
{
    if (count > 1 && strcmp(given[1], st_tier_name())) {
        printf("tier %s is in use\n", st_tier_name());
        return 0;
    }
    every = count > 2 ? (unsigned)atoi(given[2]) : 1;
    make_guard();
    check_faults();
    check_random_bytes();
    if (st_code_points_has_tier()) {
        check_every_point(1, 0x100);
        check_every_point(2, 0x10000);
        check_every_point(4, 0x110000);
        check_surrogates();
        check_random_points();
    } else if (strcmp(st_tier_name(), "portable"))
        fail("this tier has vectors, but no str to UTF-8", NULL, 0);
    printf("tier %s: %llu checks, no difference\n", st_tier_name(), checks);
    return 0;
}
