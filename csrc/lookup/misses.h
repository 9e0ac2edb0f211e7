/* Spans that the hot table does not hold: piece table, cache, merge. Each step sends for the memory of the next and goes on
 * with other misses meanwhile; what it finds goes into the hot table. */
#ifndef ST_LOOKUP_MISSES_H
#define ST_LOOKUP_MISSES_H

#include "lookup/workspace.h"

/* Sends for the lines of the misses from number `from` on, and looks at what was sent for before. */
void st_send_for_misses(const st_vocab *vocab, st_workspace *workspace, size_t from);

/* Gives all misses of the round their ids. Spans whose count is 0 then are too long, or too many: to be encoded alone. */
void st_answer_misses(st_vocab *vocab, st_workspace *workspace, const uint8_t *text);

#endif
