/* The open piece once it is long: encoded as it comes, first by exact cuts (atoms leave whole), else byte by byte. */
#ifndef ST_OPEN_PIECE_H
#define ST_OPEN_PIECE_H

#include "encoder.h"

/* text[0..n) continues the open piece (encoder->taken bytes of it were taken before) and surely belongs to it. Takes
 * *took <= n bytes from its front; the others are to be offered again. ST_NO_MEMORY: the encoder rolls back. */
st_status st_open_piece_take(st_encoder *encoder, st_workspace *workspace, const uint8_t *text, size_t n, size_t *took,
                             st_ids *out);

/* text[0..n) is the rest of the open piece, of which something was taken before. */
st_status st_open_piece_close(st_encoder *encoder, st_workspace *workspace, const uint8_t *text, size_t n, st_ids *out);

#endif
