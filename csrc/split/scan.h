/* scan.h - the pre-tokenizer: cuts text into pieces, whatever chunks the text comes in.
 *
 * A scan reads the text once, from left to right. Of the open piece it remembers where the piece may end, but not its bytes. An end
 * is reported as soon as no continuation of the text could move it:
 *
 *     st_scan scan;
 *     st_scan_init(&scan);
 *     for each chunk:
 *         count = st_scan_feed(pattern, &scan, chunk, n, &used, ends, capacity);    again from chunk + used while used < n
 *     count = st_scan_finish(pattern, &scan, ends);
 *
 * Offsets count from the start of the piece that was open when the call began, so an end may lie in text that an
 * earlier call consumed. The caller keeps those bytes: scan.length of them are open after every call.
 *
 * Text is valid UTF-8 cut between characters; st_utf8_unfinished (base/utf8.h) finds such a cut. A scan may be used by one
 * thread at a time. Nothing here allocates or fails. */
#ifndef ST_SPLIT_SCAN_H
#define ST_SPLIT_SCAN_H

#include "split/pattern.h"

void st_scan_init(st_scan *scan);

/* The name of a row (rows.h). NULL: it is none. */
const char *st_row_name(st_split_family family);

/* Consumes text[0..n), which directly follows what was consumed before, and writes the ends of the pieces that became
 * final; returns how many. The offset of text[0] is scan->length at the call; scan->length and the marks count from
 * the start of the then open piece afterwards. Stops early, with *consumed < n, when the ends that the next character
 * may give (at most ST_SCAN_MIN_CAPACITY) might not fit. With at least that capacity and n > 0, every call consumes a
 * character or writes an end; with less it does nothing. */
size_t st_scan_feed(st_pattern pattern, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed, uint64_t *ends,
                    size_t capacity);

/* How many of ends[0..count) stand in front of the first one that has ST_DROPPED. */
static inline size_t st_kept_ends(const uint64_t *ends, size_t count)
{
    size_t kept = 0;
    while (kept < count && !(ends[kept] & ST_DROPPED))
        kept++;
    return kept;
}

/* Ends the text: writes the ends of the open text (at most ST_SCAN_MIN_CAPACITY) and resets the scan. */
size_t st_scan_finish(st_pattern pattern, st_scan *scan, uint64_t *ends);

/* Whether text[0..n), n > 0, valid UTF-8, is one piece where nothing stands beside it. */
int st_scan_is_piece(st_pattern pattern, const uint8_t *text, size_t n);

/* What a state of the pattern has beside length, state and memo: that many marks. It means something with the table of this identity
 * alone. Both 0 without a pattern. */
size_t st_pattern_marks(st_pattern pattern);
uint64_t st_pattern_identity(st_pattern pattern);

/* Whether two states are the same. */
int st_scan_same(const st_scan *a, const st_scan *b);

/* Whether some pieces of the pattern are dropped: their ends have ST_DROPPED set. */
int st_pattern_drops(st_pattern pattern);

/* Whether the open piece is dropped, whatever follows. */
int st_scan_open_is_dropped(st_pattern pattern, const st_scan *scan);

/* How many of the open bytes belong to the open piece whatever follows. */
uint64_t st_scan_sure(st_pattern pattern, const st_scan *scan);

/* Whether st_scan_feed can have left this state. To be called for a state that was read from outside. */
int st_scan_valid(st_pattern pattern, const st_scan *scan);

/* Whether the state that st_scan_valid took can be that behind text[0..n), all of the open piece but its first `taken` bytes. Without a
 * pattern always. */
int st_scan_can_follow(st_pattern pattern, const st_scan *scan, uint64_t taken, const uint8_t *text, size_t n);

/* A SYNC POINT is a place where a piece starts, and the one before it ends as at the end of a text, whatever stands before text[0];
 * a pattern has its own ones. Returns the last one, i < n; 0: there is none. Long texts are cut there between threads. Without a
 * pattern there are none. Reads backwards from text[n], so it is fast where sync points are common. */
size_t st_last_sync_point(st_pattern pattern, const uint8_t *text, size_t n);

#endif
