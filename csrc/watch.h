/* Watches a stream for the names of disallowed special tokens, also where chunks cut them. */
#ifndef ST_WATCH_H
#define ST_WATCH_H

#include "special.h"
#include "text_stage.h"

typedef struct st_watch {
    const st_special *names; /* not owned; NULL = none */
    st_bytes tail;           /* end of the text so far that begins a name */
    uint64_t offset;         /* where in the stream that begins */
    st_bytes saved_tail;     /* for taking back a failed feed */
    uint64_t saved_offset;
} st_watch;

void st_watch_free(st_watch *watch);

/* Looks through a chunk and moves on behind it. ST_DISALLOWED_SPECIAL: *offset and *id tell of the first name. */
st_status st_watch_chunk(st_watch *watch, const st_text_stage *stage, const st_segments *segments, int final,
                         uint64_t *offset, uint32_t *id);

st_status st_watch_save(st_watch *watch); /* before st_watch_chunk */
void st_watch_restore(st_watch *watch);   /* as it was saved */

#endif
