/* blocks.h - the pre-tokenizer for text at hand: piece ends found 64 bytes at a time (block_starts.h), on the
 * widest vectors that this machine has. scan.h uses it between the places that only its machine can decide. */
#ifndef ST_SPLIT_BLOCKS_H
#define ST_SPLIT_BLOCKS_H

#include "split/scan_state.h"

typedef struct st_split_progress {
    size_t count;   /* ends written */
    size_t advance; /* the last of them, as an offset into the text: splitting may go on from there; 0: none */
    size_t hard;    /* offset + 1 of a place that blocks cannot decide; 0: none, the text or the room has ended */
} st_split_progress;

/* Splits text[0..n), at which a piece starts: writes base + the offset of each further start, as far as they are certain
 * whatever follows: white space at the end, and what may become a contraction, is left for later. Whole characters, valid
 * UTF-8. Goes on as long as there is room for 128 ends, and may write some beyond those that count. */
typedef st_split_progress st_split_function(st_split_family family, const uint8_t *text, size_t n, uint64_t base,
                                            uint64_t *ends, size_t capacity);

/* By tier (base/tier.h), and by the one in use. */
st_split_function st_split_blocks_portable, st_split_blocks_neon, st_split_blocks_avx2, st_split_blocks_avx512,
    st_split_blocks;

#endif
