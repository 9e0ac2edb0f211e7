/* Splits by blocks, and between them by a table or a machine of scan_rules.h; and functions of a state alone. */
#include "split/scan.h"

#include "split/block.h"
#include "split/blocks.h"
#include "split/dfa.h"
#include "split/dfa_table.h"
#include "split/scan_rules.h"

#include <string.h>

/* Longer than any text, and small enough that no sum of a length and an offset overflows. */
#define ST_SCAN_MAX_LENGTH ((uint64_t)1 << 62)

void st_scan_init(st_scan *scan)
{
    memset(scan, 0, sizeof *scan); /* ST_IN_NOTHING; in a table, state 0 */
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

static size_t run_machine(st_pattern pattern, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed, uint64_t *ends,
                          size_t capacity)
{
    if (pattern.dfa)
        return st_dfa_feed(pattern.dfa, scan, text, n, consumed, ends, capacity);
    switch (pattern.family) {
    case ST_SPLIT_R50K:
        return st_split(ST_SPLIT_R50K, scan, text, n, consumed, ends, capacity);
    case ST_SPLIT_CL100K:
        return st_split(ST_SPLIT_CL100K, scan, text, n, consumed, ends, capacity);
    default:
        return st_split(ST_SPLIT_O200K, scan, text, n, consumed, ends, capacity);
    }
}

/* With fewer bytes, setting up blocks costs more than they save. */
#define BLOCKS_FROM 32
#define ROOM_FOR_BLOCKS (2 * ST_BLOCK_BYTES)

/* Bytes that the machine reads behind a place that blocks cannot decide; more while such places follow each other closely. */
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

/* Runs the machine from where the feed stands up to `limit`, or until there is no room. */
static void feed_machine(feed *f, size_t limit)
{
    const uint64_t start = f->origin + f->at - f->scan->length; /* of the piece open now */
    size_t used;
    while (limit < f->n && st_utf8_is_continuation(f->text[limit]))
        limit++;
    const size_t count = run_machine(f->pattern, f->scan, f->text + f->at, limit - f->at, &used, f->ends + f->count,
                                     f->capacity - f->count);
    for (size_t i = f->count; start && i < f->count + count; i++)
        f->ends[i] += start;
    f->count += count;
    f->at += used;
}

/* Runs the machine until a piece has ended about behind `limit`. Then goes back to the start of the open piece, where blocks can
 * begin, because a start needs nothing of the text in front of it. */
static void detour(feed *f, size_t limit)
{
    const size_t count = f->count;
    while (f->at < f->n && f->count == count) {
        feed_machine(f, limit < f->n ? limit : f->n);
        limit += limit - f->at + DETOUR;
    }
    if (f->at < f->n && f->scan->length < DETOUR && f->scan->length <= f->at) {
        f->at -= (size_t)f->scan->length;
        st_scan_init(f->scan);
    }
}

/* Reads blocks from a start on, and the machine where they cannot decide. */
static void feed_blocks(feed *f, size_t *reach)
{
    const size_t from = f->at;
    const st_split_progress p = st_split_blocks(f->pattern.family, f->text + from, f->n - from, f->origin + from,
                                              f->ends + f->count, f->capacity - f->count);
    f->count += p.count;
    f->at += p.advance;
    if (p.hard) {
        *reach = p.advance >= DETOUR ? DETOUR : *reach < LONGEST_DETOUR ? 2 * *reach : *reach;
        detour(f, from + p.hard + *reach);
    } else if (f->capacity - f->count >= ROOM_FOR_BLOCKS) {
        feed_machine(f, f->n);
    }
}

/* Without a pattern the piece stays open: a scan only measures it. */
static size_t stay_open(st_scan *scan, size_t n, size_t *consumed)
{
    scan->length += n;
    scan->state = scan->length ? ST_IN_WORD : ST_IN_NOTHING;
    *consumed = n;
    return 0;
}

size_t st_scan_feed(st_pattern pattern, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed, uint64_t *ends,
                    size_t capacity)
{
    if (pattern.family == ST_SPLIT_NONE)
        return stay_open(scan, n, consumed);
    if (pattern.dfa && (pattern.family == ST_SPLIT_TABLE || n < BLOCKS_FROM))
        return st_dfa_feed(pattern.dfa, scan, text, n, consumed, ends, capacity);
    feed f = {pattern, scan, text, n, 0, scan->length, ends, 0, capacity};
    size_t reach = DETOUR;
    while (f.at < n && capacity - f.count >= ST_SCAN_MIN_CAPACITY) {
        if (n - f.at < BLOCKS_FROM || capacity < 2 * ROOM_FOR_BLOCKS)
            feed_machine(&f, n);
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
    const st_split_family family = pattern.family;
    size_t count = 0;
    if (pattern.dfa)
        return st_dfa_finish(pattern.dfa, scan, ends);
    if (scan->length) {
        ends[count++] = family == ST_SPLIT_NONE ? scan->length : st_first_end_at_finish(family, scan);
        if (ends[0] < scan->length)
            ends[count++] = scan->length;
    }
    st_scan_init(scan);
    return count;
}

uint64_t st_scan_sure(st_pattern pattern, const st_scan *scan)
{
    if (pattern.dfa)
        return st_dfa_sure(pattern.dfa, scan);
    return pattern.family == ST_SPLIT_NONE ? scan->length : st_sure_bytes(pattern.family, scan);
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
    return a->length == b->length && a->point == b->point && a->state == b->state && a->memo == b->memo &&
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

/* The length of what the memo holds: 1 for an apostrophe, 2 with a letter behind it, 0 for anything else. */
static uint64_t tick_length(st_split_family family, uint32_t memo)
{
    return memo == ST_APOSTROPHE ? 1 : st_half_contraction(family, memo) ? 2 : 0;
}

/* White space: the point lies behind a line break and not inside the last character; a line break is one byte. */
static int white_is_valid(st_split_family family, const st_scan *scan)
{
    const uint32_t last = scan->memo & ~ST_LAST_IS_BLANK;
    if (last < 1 || last > 3 || (last > 1 && scan->memo != last) || scan->length < last)
        return 0;
    if (scan->point == scan->length)
        return family != ST_SPLIT_R50K && scan->memo == 1;
    return scan->point <= scan->length - last && (family != ST_SPLIT_R50K || scan->point == 0);
}

static int number_is_valid(st_split_family family, const st_scan *scan)
{
    if (family == ST_SPLIT_R50K)
        return scan->memo == 0;
    return (scan->memo == 1 || scan->memo == 2) && scan->length >= scan->memo && scan->length <= scan->memo * 4;
}

static int tick_is_valid(st_split_family family, const st_scan *scan)
{
    const uint64_t tick = tick_length(family, scan->memo);
    if (scan->state == ST_IN_FIRST_TICK)
        return family != ST_SPLIT_O200K && tick > 0 && scan->length == tick;
    return family == ST_SPLIT_O200K && tick > 0 && scan->point > 0 && scan->point + tick == scan->length;
}

int st_scan_valid(st_pattern pattern, const st_scan *scan)
{
    const st_split_family family = pattern.family;
    if (pattern.dfa)
        return scan->length <= ST_SCAN_MAX_LENGTH && st_dfa_valid(pattern.dfa, scan);
    const int point_fits = st_state_has_point(scan->state) || scan->point == 0;
    const int memo_fits = st_state_has_memo(scan->state) || scan->memo == 0;
    if (scan->length > ST_SCAN_MAX_LENGTH || scan->point > scan->length || !point_fits || !memo_fits)
        return 0;
    if (scan->length == 0)
        return scan->state == ST_IN_NOTHING;
    if (family == ST_SPLIT_NONE)
        return scan->state == ST_IN_WORD;
    switch (scan->state) {
    case ST_IN_WORD:
        return 1;
    case ST_IN_CAPS:
        return family == ST_SPLIT_O200K && scan->point != 1; /* no caseless letter or mark is ASCII */
    case ST_IN_TICK:
    case ST_IN_FIRST_TICK:
        return tick_is_valid(family, scan);
    case ST_IN_NUMBER:
        return number_is_valid(family, scan);
    case ST_IN_ONE:
        return scan->length <= 4;
    case ST_IN_PUNCT:
        return scan->length >= 2;
    case ST_IN_TAIL:
        return family != ST_SPLIT_R50K && scan->length >= 2;
    case ST_IN_WHITE:
        return white_is_valid(family, scan);
    default:
        return 0;
    }
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

/* A character and its place, for the window that slides backwards. */
typedef struct placed_char {
    size_t at;
    uint32_t point;
    unsigned kind;
} placed_char;

static placed_char char_before(const uint8_t *text, size_t end)
{
    placed_char c = {0, ST_NO_POINT, ST_KIND_NONE};
    unsigned size;
    if (end == 0)
        return c;
    c.at = end - st_utf8_size_before(text, end);
    c.point = st_utf8_decode(text + c.at, &size);
    c.kind = st_kind_of(c.point);
    return c;
}

size_t st_last_sync_point(st_pattern pattern, const uint8_t *text, size_t n)
{
    if (pattern.dfa)
        return st_dfa_last_sync_point(pattern.dfa, text, n);
    uint32_t next_point = ST_NO_POINT;
    placed_char here = char_before(text, n);
    placed_char left = char_before(text, here.at);
    while (here.at > 0) {
        const placed_char left_2 = char_before(text, left.at);
        if (st_starts_piece(left_2.kind, left_2.point, left.kind, here.kind, here.point, next_point))
            return here.at;
        next_point = here.point;
        here = left;
        left = left_2;
    }
    return 0;
}
