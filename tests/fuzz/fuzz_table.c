/* Tables of patterns: whatever st_dfa_new takes splits a text into pieces that cover it, and as a whole as in parts; what a state
 * says of the open piece comes true; the two sides of a sync point split alone. */
#include <stdio.h>

#include "base/tier.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "split/scan.h"

#define MOST 4000
#define ROOM (MOST + 300) /* so that a text is split in one call */

static uint8_t text[MOST + 8];
static size_t size;
static uint64_t whole[ROOM], parts[ROOM];
static uint64_t texts, pieces;

static void describe(void)
{
    fprintf(stderr, "  tier %s\n", st_tier_name());
    print_bytes("text", text, size);
}

static void make_text(rng *r)
{
    static const char *const units[] = {"a", "B", " ", "\n", "1", "!", "'", "\xc3\xa9", "\xe4\xb8\xad", "\xf0\x9f\x98\x80"};
    const size_t most = 1 + rng_below(r, rng_one_in(r, 3) ? MOST : 60), kinds = 1 + rng_below(r, 10);
    for (size = 0; size < most;) {
        const char *unit = units[rng_below(r, kinds)];
        memcpy(text + size, unit, strlen(unit));
        size += strlen(unit);
    }
}

/* The pieces of part[0..n) as one text, at once; their ends count from its beginning. */
static size_t split_whole(st_pattern pattern, const uint8_t *part, size_t n, uint64_t *ends)
{
    st_scan scan;
    size_t used = 0, count = 0;
    st_scan_init(&scan);
    if (n)
        count = st_scan_feed(pattern, &scan, part, n, &used, ends, ROOM);
    CHECK(used == n);
    const uint64_t start = count ? ends[count - 1] & ~ST_DROPPED : 0;
    const size_t more = st_scan_finish(pattern, &scan, ends + count);
    for (size_t i = count; i < count + more; i++)
        ends[i] += start;
    count += more;
    uint64_t last = 0;
    for (size_t i = 0; i < count; last = ends[i++] & ~ST_DROPPED)
        CHECK((ends[i] & ~ST_DROPPED) > last);
    CHECK(last == n);
    return count;
}

/* In chunks. What is sure of the open piece never shrinks while it is open, the end does not lie in front of it, and it is dropped
 * if that was said. A wrong table may have an end at a mark that is not inside the piece; then nothing is sure. */
static size_t split_parts(rng *r, st_pattern pattern)
{
    st_scan scan;
    uint64_t ends[400], open = 0, sure = 0;
    size_t count = 0, used;
    int dropped = 0;
    const size_t capacity = ST_SCAN_MIN_CAPACITY + rng_below(r, rng_one_in(r, 2) ? 390 : 8), most = rng_one_in(r, 2) ? 5 : 300;
    st_scan_init(&scan);
    for (size_t at = 0, stop; at <= size; at += used) {
        stop = at + 1 + rng_below(r, most);
        stop = stop < size ? stop : size;
        while (stop < size && st_utf8_is_continuation(text[stop]))
            stop++;
        used = 1;
        const size_t more = at < size ? st_scan_feed(pattern, &scan, text + at, stop - at, &used, ends, capacity)
                                      : st_scan_finish(pattern, &scan, ends);
        if (more) {
            CHECK((ends[0] & ~ST_DROPPED) >= sure && (!dropped || !sure || ends[0] & ST_DROPPED));
            sure = 0;
        }
        for (size_t i = 0; i < more; i++)
            parts[count++] = open + ends[i];
        open += more ? ends[more - 1] & ~ST_DROPPED : 0;
        CHECK(st_scan_valid(pattern, &scan) && st_scan_sure(pattern, &scan) >= sure);
        sure = st_scan_sure(pattern, &scan);
        dropped = scan.length && st_scan_open_is_dropped(pattern, &scan);
        CHECK(sure <= scan.length);
    }
    return count;
}

static void check_sync_point(rng *r, st_pattern pattern, size_t count)
{
    size_t end = rng_below(r, size + 1);
    while (end > 0 && end < size && st_utf8_is_continuation(text[end]))
        end--;
    const size_t point = st_last_sync_point(pattern, text, end);
    if (!point)
        return;
    const size_t left = split_whole(pattern, text, point, parts);
    CHECK(same_bytes(parts, whole, left * sizeof *parts));
    const size_t right = split_whole(pattern, text + point, size - point, parts);
    CHECK(left + right == count);
    for (size_t i = 0; i < right; i++)
        CHECK(parts[i] + point == whole[left + i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    describe_failure = describe;
    st_dfa *const dfa = table_random(&r);
    const st_pattern pattern = st_pattern_of(ST_SPLIT_TABLE, dfa);
    for (int i = 0; i < 4; i++) {
        make_text(&r);
        const size_t count = split_whole(pattern, text, size, whole);
        CHECK(split_parts(&r, pattern) == count && same_bytes(parts, whole, count * sizeof *parts));
        check_sync_point(&r, pattern, count);
        pieces += count;
        texts++;
    }
    st_dfa_free(dfa);
    return 0;
}

void harness_close(void)
{
    printf("fuzz_table: %llu texts, %llu pieces, tier %s: no difference\n", (unsigned long long)texts, (unsigned long long)pieces,
           st_tier_name());
}
