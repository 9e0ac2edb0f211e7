/* Spans that the hot table does not hold: piece table, cache, merge. Each step prefetches the memory of the next one and works on
 * other misses meanwhile. What is found is entered into the hot table. */
#ifndef ST_LOOKUP_MISSES_H
#define ST_LOOKUP_MISSES_H

#include "lookup/workspace.h"

/* Prefetches the piece table's lines for the misses from number `from` on, and looks at the lines prefetched before. */
void st_send_for_misses(const st_vocab *vocab, st_workspace *workspace, size_t from);

/* Where whole pieces end, counted from where the batch's text begins; a span between two neighbouring ends is a whole piece. */
typedef struct st_whole_pieces {
    const uint64_t *starts, *ends; /* starts NULL: each begins where the one before ends */
    size_t count; /* 0: no span is a whole piece */
} st_whole_pieces;

/* Gives all misses of the round their ids. Spans with a count of 0 are then too long, or had no room, or are parts of pieces that
 * look like an unreachable token: encode them one by one. */
void st_answer_misses(st_vocab *vocab, st_workspace *workspace, const uint8_t *text, st_whole_pieces pieces);

#endif
