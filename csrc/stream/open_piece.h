/* The open piece between two feeds. Once it is long, it is encoded as it arrives: atoms that end at an exact cut as a whole, the
 * open atom byte by byte. */
#ifndef ST_STREAM_OPEN_PIECE_H
#define ST_STREAM_OPEN_PIECE_H

#include "lookup/encode_pieces.h"
#include "vocab/open.h"

typedef struct st_open_piece {
    uint64_t taken; /* bytes of the open piece, from its front, that were encoded or pushed to `tail` */
    st_open tail;   /* the open piece, or the open atom of it, once it is long */
    st_open saved_tail;
} st_open_piece;

/* What encodes, and where the ids go. */
typedef struct st_encode_context {
    st_vocab *vocab;
    st_workspace *workspace;
    st_ids *out;
} st_encode_context;

void st_open_piece_free(st_open_piece *piece);

/* text[0..n) follows the piece->taken bytes of the open piece that were taken before, and belongs to the piece whatever follows.
 * Takes *took <= n bytes from its front; the rest must be passed again. more: what follows, or the end
 * of the piece, comes with the same feed. On a failure the caller restores the piece. */
st_status st_open_piece_take(st_open_piece *piece, const st_encode_context *context, const uint8_t *text, size_t n, int more,
                             size_t *took);

/* text[0..n) is the rest of the open piece, from which bytes were taken before. Afterwards no piece is open. */
st_status st_open_piece_close(st_open_piece *piece, const st_encode_context *context, const uint8_t *text, size_t n);

#endif
