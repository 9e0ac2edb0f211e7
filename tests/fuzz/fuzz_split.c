/* The splitter in blocks, of the tier in use, against the table that defines the pieces: random text, random chunks. */
#include <stdio.h>

#include "base/tier.h"
#include "fuzz.h"
#include "split/scan.h"
#include "base/utf8.h"

#define MOST 6000

/* Characters that some rule treats in its own way, and runs of them longer than two blocks. */
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

static uint64_t texts;
static size_t size; /* of the text */

static void describe(void)
{
    fprintf(stderr, "  tier %s\n", st_tier_name());
    print_bytes("text", text, size);
}

static void make_text(rng *r)
{
    const size_t kinds = rng_one_in(r, 3) ? UNITS : 2 + rng_below(r, 6);
    const size_t most = 1 + rng_below(r, rng_one_in(r, 2) ? 200 : MOST - 100);
    size_t chosen[UNITS];
    for (size_t i = 0; i < kinds; i++)
        chosen[i] = kinds == UNITS ? i : rng_below(r, UNITS);
    for (size = 0; size < most;) {
        const char *unit = units[chosen[rng_below(r, kinds)]];
        memcpy(text + size, unit, strlen(unit));
        size += strlen(unit);
    }
}

/* A character at a time, so that only the plain steps of the table are made. */
static size_t by_table(st_pattern pattern, st_scan *scan)
{
    uint64_t open = 0;
    size_t count = 0;
    for (size_t at = 0, used; at < size; at += used) {
        const size_t more = st_dfa_feed(pattern.dfa, scan, text + at, st_utf8_size(text[at]), &used, wanted + count,
                                        ST_SCAN_MIN_CAPACITY);
        for (size_t i = count; i < count + more; i++)
            wanted[i] += open;
        count += more;
        open = count ? wanted[count - 1] : 0;
    }
    return count;
}

/* Feeds the text in chunks, with a capacity that blocks may or may not have room in. */
static size_t by_feeding(rng *r, st_pattern pattern, st_scan *scan)
{
    const size_t capacity = ST_SCAN_MIN_CAPACITY + rng_below(r, rng_one_in(r, 2) ? 40 : 900);
    const size_t most = rng_one_in(r, 2) ? 80 : 2000;
    uint64_t ends[1000], open = 0;
    size_t count = 0;
    for (size_t at = 0, stop; at < size; at = stop) {
        stop = at + 1 + rng_below(r, most);
        stop = stop < size ? stop : size;
        while (stop < size && st_utf8_is_continuation(text[stop]))
            stop++;
        for (size_t used; at < stop; at += used) {
            const size_t more = st_scan_feed(pattern, scan, text + at, stop - at, &used, ends, capacity);
            for (size_t i = 0; i < more; i++)
                found[count++] = open + ends[i];
            open += more ? ends[more - 1] : 0;
        }
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    describe_failure = describe;
    make_text(&r);
    for (int family = ST_SPLIT_R50K; family <= ST_SPLIT_O200K; family++) {
        st_scan one, other;
        st_scan_init(&one);
        st_scan_init(&other);
        const st_pattern pattern = pattern_of((st_split_family)family);
        const size_t count = by_table(pattern, &one);
        CHECK(by_feeding(&r, pattern, &other) == count);
        CHECK(same_bytes(wanted, found, count * sizeof *found) && !memcmp(&one, &other, sizeof one));
    }
    texts++;
    return 0;
}

void harness_close(void)
{
    printf("fuzz_split: %llu texts, tier %s: no difference\n", (unsigned long long)texts, st_tier_name());
}
