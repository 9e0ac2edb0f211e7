/* scan.h - the pre-tokenizer: cuts text into pieces, whatever chunks the text comes in.
 *
 * A scan reads the text once, from left to right, and remembers the piece it stands in: where it may still end, never
 * its bytes. An end is reported as soon as no continuation of the text could move it, and no sooner:
 *
 *     st_scan scan;
 *     st_scan_init(&scan);
 *     for each chunk:
 *         count = st_scan_feed(family, &scan, chunk, n, &used, ends, capacity);    again from chunk + used while used < n
 *     count = st_scan_finish(family, &scan, ends);
 *
 * Offsets count from the start of the piece that was open when the call began, so an end may lie in text that an
 * earlier call consumed. The caller keeps those bytes: scan.length of them are open after every call.
 *
 * Text is valid UTF-8 cut between characters; st_utf8_unfinished (base/utf8.h) finds such a cut. A scan may be used by one
 * thread at a time. Nothing here allocates or fails. */
#ifndef ST_SPLIT_SCAN_H
#define ST_SPLIT_SCAN_H

#include "split/scan_state.h"

void st_scan_init(st_scan *scan);

/* Consumes text[0..n), which directly follows what was consumed before, and writes the ends of the pieces that became
 * final; returns how many. The offset of text[0] is scan->length at the call; scan->length and scan->point count from
 * the start of the then open piece afterwards. Stops early, with *consumed < n, where the ends that the next character
 * may yield (ST_SCAN_MIN_CAPACITY at most) would not surely fit. With at least that capacity and n > 0, every call
 * consumes something or writes an end; with less it does nothing. */
size_t st_scan_feed(st_split_family family, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed, uint64_t *ends,
                    size_t capacity);

/* The text ends here: writes the ends of what was open (at most ST_SCAN_MIN_CAPACITY) and makes the scan new. */
size_t st_scan_finish(st_split_family family, st_scan *scan, uint64_t *ends);

/* How many of the open bytes belong to the open piece whatever follows. */
uint64_t st_scan_sure(st_split_family family, const st_scan *scan);

/* Could st_scan_feed have left this state behind? Ask before trusting a state that was read from outside. */
int st_scan_valid(st_split_family family, const st_scan *scan);

/* Largest i < n with a piece starting at text[i] in every family, whatever stands before text[0]; 0: none found. It is
 * where to cut a long text between threads; of no use without a pattern. Reads backwards from text[n], so it is quick
 * where such places are common. */
size_t st_last_sync_point(const uint8_t *text, size_t n);

#endif
