/* The open piece (vocab/open.h) where tokens come of merges.
 *
 * Every prefix of the piece has exactly one LAST token: the reachable token that ends there and is compatible with the
 * last token of the prefix in front of it (two tokens are compatible if merging their bytes gives just these two back).
 * So the prefixes form a tree, each linked to the prefix in front of its last token, and the path from a position to
 * the root spells that prefix's encoding. (The observation is rust-gems' bpe; the eager output mtc-inc-bpe's.)
 *
 * The token that will cover the end of the text starts at a position from which the rest of the text is a proper prefix of a
 * token. The automaton gives the first such position, the FRONTIER. A position in front of the frontier to which nothing links is
 * dead. When only one token leads on from the root, and the root lies in front of the frontier, that token is final: it is
 * returned, and its end is the new root.
 *
 * Linear: each byte costs amortised O(1) automaton steps, and at most one compatibility test, with a memo, for each token that
 * ends there. What is pending is bounded by the vocabulary, not by the input: at most 275 bytes were seen with OpenAI's. */
#ifndef ST_ENDLESS_LONG_PIECE_H
#define ST_ENDLESS_LONG_PIECE_H

#include "endless/automaton.h"
#include "merge/compatible.h"
#include "vocab/open.h"

/* What pushing needs besides the piece. Zero-initialise. Used by one thread at a time; keeps its memory for the next push. */
typedef struct st_long_scratch {
    uint64_t memo[1u << ST_MEMO_BITS]; /* merge/compatible.h */
    st_ids merged;                     /* the bulk of a long push */
    st_open trial;                     /* the piece as it would be behind that */
} st_long_scratch;

void st_long_scratch_free(st_long_scratch *scratch);

/* Functions of a model (vocab/model.h). scratch: begins with an st_long_scratch. */
st_status st_long_piece_push(st_open *piece, st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out);
st_status st_long_piece_finish(st_open *piece, st_vocab *vocab, st_ids *out);
uint32_t st_long_piece_previous(const st_open *piece, const st_vocab *vocab);
st_status st_long_piece_begin_behind(st_open *piece, st_vocab *vocab, uint32_t previous);
int st_long_piece_is_reached(const st_open *piece);

#endif
