/* The open piece between two feeds. Once it is long, it is encoded as it arrives: atoms that end at an exact cut as a whole, the
 * open atom byte by byte. */
#ifndef ST_STREAM_OPEN_PIECE_H
#define ST_STREAM_OPEN_PIECE_H

#include "endless/long_piece.h"
#include "lookup/encode_pieces.h"

/* An open piece of up to this many bytes waits for its end, which mostly comes soon; then one table look-up or one short merge
 * is enough. A longer one is encoded as it arrives, with an automaton that takes time to build. This is less than the 275 bytes
 * that the finality rule may hold, so the bound on what is pending remains that of the rule. */
#define ST_HOLD_WHOLE ST_SHORT_MERGE

/* The same for a vocabulary. By longest match no piece waits: what is certain is known byte by byte, and at little cost. By WordPiece
 * every word waits. */
static inline size_t st_hold_whole(const st_vocab *vocab)
{
    return vocab->longest && !vocab->wordpiece.on ? 0 : ST_HOLD_WHOLE;
}

typedef struct st_open_piece {
    uint64_t taken;     /* bytes of the open piece, from its front, that were encoded or pushed to `tail` */
    st_long_piece tail; /* the open piece, or the open atom of it, once it is long */
    st_long_piece saved_tail;
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
