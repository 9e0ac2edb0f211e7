/* Pieces to ids: exact cuts, table look-up, cache, merge. One call takes a batch of pieces that lie side by side. */
#ifndef ST_LOOKUP_ENCODE_PIECES_H
#define ST_LOOKUP_ENCODE_PIECES_H

#include "base/buffer.h"
#include "lookup/workspace.h"

typedef enum st_engine {
    ST_ENGINE_FAST,
    ST_ENGINE_REFERENCE /* linked list and heap for every piece, no table, cache or cut: the oracle */
} st_engine;

/* Appends the ids of the pieces text[starts[0]..ends[0]), text[starts[1]..ends[1]), ... , in order, count <= ST_BATCH. starts NULL: each
 * begins where the one before ends, the first one at 0. `text` is valid UTF-8 and readable up to `size` (>= the last end). whole = 0: they are parts of a piece that begin and end at cuts.
 * ST_NO_MEMORY leaves `out` with whole pieces' ids, fewer than asked. */
st_status st_encode_pieces(st_vocab *vocab, st_workspace *workspace, st_engine engine, const uint8_t *text, size_t size,
                           const uint64_t *starts, const uint64_t *ends, size_t count, int whole, st_ids *out);

/* Appends the ids of one atom, or (whole = 1) of one piece, of any bytes and length. */
st_status st_encode_span(st_vocab *vocab, st_workspace *workspace, st_engine engine, const uint8_t *text, size_t n,
                         int whole, st_ids *out);

#endif
