/* Watches a stream for the names of disallowed special tokens, also where chunks cut them. Plain data. */
#ifndef ST_SPECIAL_DISALLOWED_H
#define ST_SPECIAL_DISALLOWED_H

#include "special/special_tokens.h"
#include "text/chunk.h"

typedef struct st_watch {
    const st_special *names; /* not owned; NULL = none */
    uint32_t node;           /* for the longest end of the text so far that begins a name */
    uint64_t offset;         /* in the stream, where that end begins */
} st_watch;

/* The text begins again. */
void st_watch_reset(st_watch *watch);

/* Searches a chunk and moves on behind it. ST_DISALLOWED_SPECIAL: *offset and *id are those of the first name. After an error the
 * state of the watch is undefined. */
st_status st_watch_chunk(st_watch *watch, const st_text_stage *stage, const st_segments *segments, int final,
                         uint64_t *offset, uint32_t *id);

#endif
