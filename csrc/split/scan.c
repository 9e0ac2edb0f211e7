/* Splits by blocks, and between them by the table; and functions of a state alone. */
#include "split/scan.h"

#include "base/tier.h"
#include "base/utf8.h"
#include "split/block.h"
#include "split/blocks.h"
#include "split/dfa.h"
#include "split/dfa_table.h"

#include <string.h>

/* Longer than any text, and small enough that no sum of a length and an offset overflows. */
#define ST_SCAN_MAX_LENGTH ((uint64_t)1 << 62)

void st_scan_init(st_scan *scan)
{
    memset(scan, 0, sizeof *scan);
}

#define ROW_NAME(name, text, ...)                                                                                                \
    case ST_SPLIT_##name:                                                                                                        \
        return text;

const char *st_row_name(st_split_family family)
{
    switch (family) {
        ST_EACH_ROW(ROW_NAME)
    default:
        return NULL;
    }
}

/* With fewer bytes, setting up blocks costs more than they save. */
#define BLOCKS_FROM 64
#define ROOM_FOR_BLOCKS (2 * ST_BLOCK_BYTES)

/* Bytes that the table reads behind a place that blocks cannot decide; more while such places follow each other closely. */
#define DETOUR 64
#define LONGEST_DETOUR 4096

/* A feed under way. Ends, and the offset of text[at], count from the start of the piece that was open at the call. */
typedef struct feed {
    st_pattern pattern;
    st_scan *scan;
    const uint8_t *text;
    size_t n, at;
    uint64_t origin; /* the offset of text[0] */
    uint64_t *ends;
    size_t count, capacity;
} feed;

/* Runs the table from where the feed stands up to `limit`, or until there is no room. */
static void feed_table(feed *f, size_t limit)
{
    const uint64_t start = f->origin + f->at - f->scan->length; /* of the piece open now */
    size_t used;
    while (limit < f->n && st_utf8_is_continuation(f->text[limit]))
        limit++;
    const size_t count = st_dfa_feed(f->pattern.dfa, f->scan, f->text + f->at, limit - f->at, &used, f->ends + f->count,
                                     f->capacity - f->count);
    for (size_t i = f->count; start && i < f->count + count; i++)
        f->ends[i] += start;
    f->count += count;
    f->at += used;
}

/* Runs the table until a piece has ended about behind `limit`. Then goes back to the start of the open piece, where blocks can
 * begin, because a start needs nothing of the text in front of it. */
static void detour(feed *f, size_t limit)
{
    const size_t count = f->count;
    while (f->at < f->n && f->count == count) {
        feed_table(f, limit < f->n ? limit : f->n);
        limit += limit - f->at + DETOUR;
    }
    if (f->at < f->n && f->scan->length < DETOUR && f->scan->length <= f->at) {
        f->at -= (size_t)f->scan->length;
        st_scan_init(f->scan);
    }
}

/* Reads blocks from a start on, and the table where they cannot decide. */
static void feed_blocks(feed *f, size_t *reach)
{
    const size_t from = f->at;
    const st_split_progress p = st_tier()->split_blocks(f->pattern.family, f->text + from, f->n - from, f->origin + from,
                                                        f->ends + f->count, f->capacity - f->count);
    f->count += p.count;
    f->at += p.advance;
    if (p.hard) {
        *reach = p.advance >= DETOUR ? DETOUR : *reach < LONGEST_DETOUR ? 2 * *reach : *reach;
        detour(f, from + p.hard + *reach);
    } else if (f->capacity - f->count >= ROOM_FOR_BLOCKS) {
        feed_table(f, f->n);
    }
}

/* Without a pattern the piece stays open: a scan only measures it. */
static size_t stay_open(st_scan *scan, size_t n, size_t *consumed)
{
    scan->length += n;
    *consumed = n;
    return 0;
}

size_t st_scan_feed(st_pattern pattern, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed, uint64_t *ends,
                    size_t capacity)
{
    if (pattern.family == ST_SPLIT_NONE)
        return stay_open(scan, n, consumed);
    if (pattern.family == ST_SPLIT_TABLE || n < BLOCKS_FROM)
        return st_dfa_feed(pattern.dfa, scan, text, n, consumed, ends, capacity);
    feed f = {pattern, scan, text, n, 0, scan->length, ends, 0, capacity};
    size_t reach = DETOUR;
    while (f.at < n && capacity - f.count >= ST_SCAN_MIN_CAPACITY) {
        if (n - f.at < BLOCKS_FROM || capacity < 2 * ROOM_FOR_BLOCKS)
            feed_table(&f, n);
        else if (scan->length)
            detour(&f, f.at + DETOUR);
        else if (capacity - f.count >= ROOM_FOR_BLOCKS)
            feed_blocks(&f, &reach);
        else
            break;
    }
    *consumed = f.at;
    return f.count;
}

size_t st_scan_finish(st_pattern pattern, st_scan *scan, uint64_t *ends)
{
    if (pattern.dfa)
        return st_dfa_finish(pattern.dfa, scan, ends);
    ends[0] = scan->length;
    st_scan_init(scan);
    return ends[0] > 0;
}

uint64_t st_scan_sure(st_pattern pattern, const st_scan *scan)
{
    return pattern.dfa ? st_dfa_sure(pattern.dfa, scan) : scan->length;
}

size_t st_pattern_marks(st_pattern pattern)
{
    return pattern.dfa ? pattern.dfa->mark_count : 0;
}

uint64_t st_pattern_identity(st_pattern pattern)
{
    return pattern.dfa ? pattern.dfa->identity : 0;
}

int st_scan_same(const st_scan *a, const st_scan *b)
{
    return a->length == b->length && a->state == b->state && a->memo == b->memo &&
           memcmp(a->marks, b->marks, sizeof a->marks) == 0;
}

int st_pattern_drops(st_pattern pattern)
{
    return pattern.dfa && pattern.dfa->drops;
}

int st_scan_open_is_dropped(st_pattern pattern, const st_scan *scan)
{
    return pattern.dfa && st_dfa_open_is_dropped(pattern.dfa, scan);
}

int st_scan_valid(st_pattern pattern, const st_scan *scan)
{
    const st_scan measured = {.length = scan->length};
    if (scan->length > ST_SCAN_MAX_LENGTH)
        return 0;
    return pattern.dfa ? st_dfa_valid(pattern.dfa, scan) : st_scan_same(scan, &measured);
}

int st_scan_is_piece(st_pattern pattern, const uint8_t *text, size_t n)
{
    uint64_t ends[2 * ST_SCAN_MIN_CAPACITY];
    size_t count = 0, used = 0;
    st_scan scan;
    st_scan_init(&scan);
    for (size_t at = 0; at < n && count < 2 && !(count && ends[0] & ST_DROPPED); at += used)
        count += st_scan_feed(pattern, &scan, text + at, n - at, &used, ends, ST_SCAN_MIN_CAPACITY);
    if (count < 2)
        count += st_scan_finish(pattern, &scan, ends + count);
    return count == 1 && !(ends[0] & ST_DROPPED);
}

int st_scan_can_follow(st_pattern pattern, const st_scan *scan, uint64_t taken, const uint8_t *text, size_t n)
{
    return !pattern.dfa || st_dfa_can_follow(pattern.dfa, scan, taken, text, n);
}

size_t st_last_sync_point(st_pattern pattern, const uint8_t *text, size_t n)
{
    return pattern.dfa ? st_dfa_last_sync_point(pattern.dfa, text, n) : 0;
}
