/* The reference merge made incremental, by the definition of finality and nothing cleverer: a token is final once the
 * encodings of all live prefixes share it. It does for engine="reference" what the tree of long_piece.c does for the
 * fast one, and checks it. Slow: each look merges the pending bytes once for every live prefix. */
#ifndef ST_ENDLESS_REFERENCE_FINALITY_H
#define ST_ENDLESS_REFERENCE_FINALITY_H

#include "base/buffer.h"
#include "endless/automaton.h"
#include "pairs/merge_reference.h"

/* How many bytes of text[0..n), which begins behind a final token, are covered by tokens that no later byte can change;
 * the indices of those tokens are appended to `out`. Live are the prefixes that end where the rest of the text is a
 * proper prefix of a token (the empty rest too): the token over the end of the text begins at one of them. */
st_status st_reference_settle(const st_vocab *vocab, const st_automaton *automaton, const uint8_t *text, size_t n,
                              st_ids *out, size_t *settled);

#endif
