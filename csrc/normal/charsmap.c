#include "normal/charsmap.h"

#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "base/utf8.h"

/* Bytes of a text of a map, at most. Those of SentencePiece have up to 18 or so. */
#define DEEPEST 256

/* Units that are looked at to find out whether a map is sound: several texts share the units of their ends. Those of SentencePiece have
 * 260,000. */
#define MOST_VISITED ((size_t)1 << 22)

static uint32_t unit_at(const st_charsmap *map, size_t at)
{
    const uint8_t *b = map->tree + 4 * at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 512) >> 6);
}

int st_charsmap_open(st_charsmap *map, const uint8_t *data, size_t n)
{
    memset(map, 0, sizeof *map);
    if (!n)
        return 1;
    if (n < 8)
        return 0;
    const size_t size = (size_t)data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16 | (size_t)data[3] << 24;
    if (size % 4 || !size || size > n - 4)
        return 0;
    map->tree = data + 4;
    map->units = size / 4;
    map->texts = data + 4 + size;
    map->size = n - 4 - size;
    return !map->size || !map->texts[map->size - 1];
}

/* The unit of a byte from the one whose children begin at *at, which moves on. 0: there is none. */
static int step(const st_charsmap *map, size_t *at, uint8_t byte, uint32_t *unit)
{
    const size_t place = *at ^ byte;
    if (!byte || place >= map->units)
        return 0;
    *unit = unit_at(map, place);
    if ((*unit & 0x800000FFu) != byte)
        return 0;
    *at = place ^ offset_of(*unit);
    return 1;
}

/* The replacement of the text that ends at a unit whose children begin at `at`. 0: no text ends there, or the map is not sound. */
static int text_at(const st_charsmap *map, size_t at, uint32_t unit, st_mapped *found)
{
    if (!(unit >> 8 & 1) || at >= map->units)
        return 0;
    const size_t place = unit_at(map, at) & 0x7FFFFFFFu;
    if (place >= map->size)
        return 0;
    found->text = map->texts + place;
    found->n = strlen((const char *)found->text);
    return 1;
}

int st_charsmap_find(const st_charsmap *map, const uint8_t *text, size_t n, int longest, st_mapped *found, int *open)
{
    size_t at = map->units ? offset_of(unit_at(map, 0)) : 0, i = 0;
    uint32_t unit = 0;
    int is_found = 0;
    while (i < n && map->units && step(map, &at, text[i], &unit)) {
        i++;
        if (!text_at(map, at, unit, found))
            continue;
        found->size = i;
        is_found = 1;
        if (!longest)
            break;
    }
    *open = map->units && i == n && (longest || !is_found);
    return is_found;
}

static int is_utf8(const uint8_t *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        const unsigned size = st_utf8_size(text[at]);
        if ((text[at] >= 0x80 && text[at] < 0xC2) || text[at] > 0xF4 || size > n - at ||
            (size > 1 && !st_utf8_may_follow(text[at], text[at + 1])))
            return 0;
        for (unsigned i = 2; i < size; i++)
            if (!st_utf8_is_continuation(text[at + i]))
                return 0;
        at += size;
    }
    return 1;
}

/* The units that are children, by the place that leads to them: first[place], then next[unit]. */
typedef struct children {
    uint32_t *first, *next;
} children;

static int list_children(const st_charsmap *map, children *c)
{
    const size_t places = map->units + 256;
    c->first = st_malloc(places * sizeof *c->first);
    c->next = st_malloc(map->units * sizeof *c->next);
    if (!c->first || !c->next || map->units > UINT32_MAX / 2)
        return 0;
    memset(c->first, 0xff, places * sizeof *c->first);
    for (size_t i = 0; i < map->units; i++) {
        const uint32_t unit = unit_at(map, i), byte = unit & 0xFF;
        if (!byte || unit >> 31)
            continue;
        c->next[i] = c->first[i ^ byte];
        c->first[i ^ byte] = (uint32_t)i;
    }
    return 1;
}

static uint32_t first_child(const st_charsmap *map, const children *c, size_t at)
{
    return at < map->units + 256 ? c->first[at] : UINT32_MAX;
}

/* Walks all texts. */
static int check_all(const st_charsmap *map, const children *c, double *growth, size_t *longest)
{
    uint32_t turn[DEEPEST + 1]; /* by depth: the unit that comes next */
    uint8_t text[DEEPEST];
    size_t depth = 0, visited = 0;
    turn[0] = first_child(map, c, offset_of(unit_at(map, 0)));
    for (;;) {
        const uint32_t place = turn[depth];
        if (place == UINT32_MAX && !depth)
            return 1;
        if (place == UINT32_MAX) {
            depth--;
            continue;
        }
        const uint32_t unit = unit_at(map, place);
        const size_t at = place ^ offset_of(unit);
        st_mapped found;
        turn[depth] = c->next[place];
        text[depth++] = (uint8_t)unit;
        if (++visited > MOST_VISITED || depth == DEEPEST)
            return 0;
        if (unit >> 8 & 1) {
            if (!text_at(map, at, unit, &found) || !is_utf8(text, depth) || !is_utf8(found.text, found.n))
                return 0;
            *growth = (double)found.n / (double)depth > *growth ? (double)found.n / (double)depth : *growth;
            *longest = depth > *longest ? depth : *longest;
        }
        turn[depth] = first_child(map, c, at);
    }
}

int st_charsmap_check(const st_charsmap *map, double *growth, size_t *longest)
{
    children c = {NULL, NULL};
    *growth = 1;
    *longest = 0;
    const int sound = !map->units || (list_children(map, &c) && check_all(map, &c, growth, longest));
    st_free(c.first);
    st_free(c.next);
    return sound;
}

/* ---- characters that it changes ---- */

static void set_bit(uint64_t *bits, uint32_t at)
{
    bits[at >> 6] |= UINT64_C(1) << (at & 63);
}

/* Goes over the characters behind the unit whose children begin at `at`, or what goes on there by `left` bytes more; touched NULL: they
 * are second ones. */
static void touch_characters(const st_charsmap *map, size_t at, uint32_t point, unsigned left, uint64_t *touched, uint64_t *seconds)
{
    for (unsigned byte = left ? 0x80 : 1; byte < (left ? 0xC0 : 0xF0); byte++) {
        size_t to = at;
        uint32_t unit;
        if ((!left && byte >= 0x80 && byte < 0xC2) || !step(map, &to, (uint8_t)byte, &unit))
            continue;
        const unsigned more = left ? left - 1 : st_utf8_size((uint8_t)byte) - 1;
        const uint32_t next = left ? point << 6 | (byte & 63) : byte < 0x80 ? byte : byte & (more == 1 ? 31 : 15);
        if (more) {
            touch_characters(map, to, next, more, touched, seconds);
            continue;
        }
        if (!touched) {
            set_bit(seconds, next);
            continue;
        }
        if (unit >> 8 & 1)
            set_bit(touched, next);
        touch_characters(map, to, 0, 0, NULL, seconds);
    }
}

void st_charsmap_touched(const st_charsmap *map, uint64_t *touched, uint64_t *seconds)
{
    if (map->units)
        touch_characters(map, offset_of(unit_at(map, 0)), 0, 0, touched, seconds);
}

/* Are eight bytes of ASCII, all of which print? */
static inline int all_print(uint64_t text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), blank = ones << 5, high = ones << 7;
    return !((text | (text + ones) | ~((text | high) - blank)) & high);
}

size_t st_still_until(const st_still *still, const uint8_t *text, size_t at, size_t n)
{
    size_t last = at, to = at;
    while (to < n) {
        uint32_t point = text[to];
        unsigned size = 1;
        if (point < 0x80 && still->prints && to + 8 <= n && all_print(st_load64(text + to))) {
            to += 8;
            last = to - 1;
            continue;
        }
        if (point >= 0x80) {
            if (point >= 0xF0)
                break;
            point = st_utf8_decode(text + to, &size);
        }
        if (!(still->bits[point >> 6] >> (point & 63) & 1))
            break;
        last = to;
        to += size;
    }
    return to > at && to < n && text[to] < 0x80 && still->behind[text[to] >> 6] >> (text[to] & 63) & 1 ? to : last;
}
