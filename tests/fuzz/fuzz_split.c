/* The splitter in blocks against the machine that defines the pieces: random text, random chunks, the tier in use.
 *
 *     fuzz_split TEXTS SEED
 *
 * Exit status 1 and the first difference if there is one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pretoken.h"
#include "split_rules.h"
#include "tier.h"

#define MOST 6000

/* Everything that some rule treats in a way of its own, and runs of it longer than two blocks. */
static const char *const units[] = {
    "'", "s", "S", "t", "l", "L", "r", "e", "v", "a", "B", " ", " ", "\n", "\r", "\t", "\xc2\xa0", "\xe3\x80\x80", "\xc2\x85",
    "1", "\xc2\xb2", "\xe2\x85\xa7", "!", ".", "/", "-", "\xe4\xb8\xad", "\xe3\x81\x82", "\xcc\x81", "\xe0\xb8\xb1", "\xca\xb0",
    "\xc7\x85", "\xc3\xa9", "\xc3\x89", "\xf0\x9f\x98\x80", "\xef\xb8\x8f", "\xc5\xbf", "\xe2\x84\xaa", "\xd0\x9f", "\xd1\x80",
    "\xd1\xa0", "\xea\xb0\x80", "\xe0\xa4\x95", "\xe0\xa4\xbe", "'s", "'ll", "'RE", "\n/", "/!\xcc\x81", " the", "12345",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "\n                                                                              ",
    "1111111111111111111111111111111111111111111111111111111111111111111111111111",
};

#define UNITS (sizeof units / sizeof units[0])

static uint8_t text[MOST + 100];
static uint64_t wanted[MOST + 100], found[MOST + 100];

static size_t make_text(void)
{
    const size_t kinds = rand() % 3 ? 2 + (size_t)rand() % 6 : UNITS, most = 1 + (size_t)rand() % (rand() % 2 ? 200 : MOST - 100);
    size_t chosen[UNITS], n = 0;
    for (size_t i = 0; i < kinds; i++)
        chosen[i] = kinds == UNITS ? i : (size_t)rand() % UNITS;
    while (n < most) {
        const char *unit = units[chosen[(size_t)rand() % kinds]];
        memcpy(text + n, unit, strlen(unit));
        n += strlen(unit);
    }
    return n;
}

static size_t by_machine(st_split_family family, st_scan *scan, size_t n)
{
    size_t used;
    switch (family) {
    case ST_SPLIT_R50K:
        return st_split(ST_SPLIT_R50K, scan, text, n, &used, wanted, MOST + 100);
    case ST_SPLIT_CL100K:
        return st_split(ST_SPLIT_CL100K, scan, text, n, &used, wanted, MOST + 100);
    default:
        return st_split(ST_SPLIT_O200K, scan, text, n, &used, wanted, MOST + 100);
    }
}

/* Feeds the text in chunks, with a capacity that blocks may or may not have room in. */
static size_t by_feeding(st_split_family family, st_scan *scan, size_t n)
{
    const size_t capacity = ST_SCAN_MIN_CAPACITY + (size_t)rand() % (rand() % 2 ? 40 : 900);
    uint64_t ends[1000], open = 0;
    size_t count = 0;
    for (size_t at = 0, stop; at < n; at = stop) {
        stop = at + 1 + (size_t)rand() % (rand() % 2 ? 80 : 2000);
        stop = stop < n ? stop : n;
        while (stop < n && st_utf8_is_continuation(text[stop]))
            stop++;
        for (size_t used; at < stop; at += used) {
            const size_t more = st_scan_feed(family, scan, text + at, stop - at, &used, ends, capacity);
            for (size_t i = 0; i < more; i++)
                found[count++] = open + ends[i];
            open += more ? ends[more - 1] : 0;
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    const long texts = argc > 1 ? atol(argv[1]) : 10000;
    srand(argc > 2 ? (unsigned)atol(argv[2]) : 1);
    printf("tier %s\n", st_tier_name());
    for (long i = 0; i < texts; i++) {
        const size_t n = make_text();
        for (int family = ST_SPLIT_R50K; family <= ST_SPLIT_O200K; family++) {
            st_scan one, other;
            st_scan_init(&one);
            st_scan_init(&other);
            const size_t count = by_machine((st_split_family)family, &one, n);
            if (by_feeding((st_split_family)family, &other, n) != count || memcmp(wanted, found, count * sizeof *found) ||
                memcmp(&one, &other, sizeof one)) {
                printf("family %d, text %ld of %zu bytes: %.*s\n", family, i, n, (int)n, (const char *)text);
                return 1;
            }
        }
    }
    return 0;
}
