/* blocks.h - the pre-tokenizer for contiguous text: finds piece ends 64 bytes at a time (block_starts.h), with the widest vectors
 * of this machine. scan.c uses it between the places that only the state machine can decide. */
#ifndef ST_SPLIT_BLOCKS_H
#define ST_SPLIT_BLOCKS_H

#include "split/scan_state.h"

typedef struct st_split_progress {
    size_t count;   /* ends written */
    size_t advance; /* the last end, as an offset into the text, from which splitting may go on; 0: none */
    size_t hard;    /* offset + 1 of a place that blocks cannot decide; 0: none, the text or the room has ended */
} st_split_progress;

/* The stage split_blocks (base/tier.h) splits by a row (rows.h) text[0..n), valid UTF-8 in whole characters; a piece starts at
 * text[0]. It writes base + the offset of each further start that is certain whatever follows the text: white space at the end, and
 * what may become a contraction, is left for later. It goes on as long as there is room for 128 ends, and may write further values
 * behind the ends that it counts. */

#endif
