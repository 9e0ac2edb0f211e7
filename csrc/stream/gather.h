/* gather.h - short parts of a text, each of which is one piece, encoded many at a time.
 *
 * Where a text has no pattern and is cut at names of added tokens, as at each line break, a part has a hundred bytes, and a batch
 * of st_encode_pieces takes as many as thousands. So parts wait side by side within a feed. A name that is a token of the
 * vocabulary, too, becomes this token as a piece does, so it waits among them. */
#ifndef ST_STREAM_GATHER_H
#define ST_STREAM_GATHER_H

#include "stream/open_piece.h"

/* Bytes that wait at most: what a core's nearest caches hold. */
#define ST_GATHER_MOST ((size_t)1 << 15)

typedef struct st_gather {
    st_bytes text;
    size_t ended; /* text[0..ended) are `count` whole parts, which end at the workspace's `ends`; behind them lies the open one */
    size_t count;
} st_gather;

void st_gather_free(st_gather *gather);
void st_gather_reset(st_gather *gather);

/* The open part goes on; it ends. */
st_status st_gather_add(st_gather *gather, const uint8_t *text, size_t n);
st_status st_gather_end(st_gather *gather, const st_encode_context *context);

/* A part of its own that is to become the token with this id: nothing is open. */
st_status st_gather_name(st_gather *gather, const st_encode_context *context, uint32_t id);

/* Encodes the whole parts. The open one moves to text[0]. */
st_status st_gather_flush(st_gather *gather, const st_encode_context *context);

#endif
