/* The open piece between two feeds: once it is long it is encoded as it comes, first by exact cuts (atoms leave whole),
 * else byte by byte. */
#ifndef ST_STREAM_OPEN_PIECE_H
#define ST_STREAM_OPEN_PIECE_H

#include "endless/long_piece.h"
#include "lookup/encode_pieces.h"

/* Up to this many bytes of an open piece wait for its end, which mostly comes soon, and then one table look-up or one
 * short merge serves; beyond it the piece is encoded as it comes, with an automaton that takes time to build. Below the
 * 275 bytes that the finality rule itself may hold, so that the bound on what is pending stays that rule's. */
#define ST_HOLD_WHOLE ST_SHORT_MERGE

typedef struct st_open_piece {
    uint64_t taken;     /* bytes at the front of the open piece that were already encoded, or pushed to `tail` */
    st_long_piece tail; /* the open piece, or the open atom of it, once it is long */
    st_long_piece saved_tail;
} st_open_piece;

/* Who encodes, and where the ids go. */
typedef struct st_sink {
    st_vocab *vocab;
    st_workspace *workspace;
    st_ids *out;
} st_sink;

void st_open_piece_free(st_open_piece *piece);

/* text[0..n) continues the open piece (piece->taken bytes of it were taken before) and surely belongs to it. Takes
 * *took <= n bytes from its front; the others are to be offered again. On a failure the caller rolls back. */
st_status st_open_piece_take(st_open_piece *piece, const st_sink *sink, const uint8_t *text, size_t n, size_t *took);

/* text[0..n) is the rest of the open piece, of which something was taken before. Nothing is open then. */
st_status st_open_piece_close(st_open_piece *piece, const st_sink *sink, const uint8_t *text, size_t n);

#endif
