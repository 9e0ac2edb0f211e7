/* One piece of any length, encoded as it arrives: bytes are pushed, and the tokens that no later byte can change are returned.
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
 * In a vocabulary of longest match (longest/matcher.h) the matcher takes the place of tree and window. With a word rule nothing leaves
 * before the end: the text waits, up to one character more than a word may have, which is enough to know that it has too many.
 *
 * Linear: each byte costs amortised O(1) automaton steps, and at most one compatibility test, with a memo, for each token that
 * ends there. What is pending is bounded by the vocabulary, not by the input: at most 275 bytes were seen with OpenAI's. */
#ifndef ST_ENDLESS_LONG_PIECE_H
#define ST_ENDLESS_LONG_PIECE_H

#include "base/buffer.h"
#include "endless/automaton.h"
#include "merge/compatible.h"

/* One position of the pending window. */
typedef struct st_prefix {
    uint32_t node;     /* automaton node of the last token of the prefix that ends here; 0 = dead, or the piece's start */
    uint32_t children; /* prefixes, not dead, that link here */
    uint32_t child;    /* exclusive or of their positions, so the position of the only one when children == 1 */
} st_prefix;

/* Zero-initialise; one piece at a time. Positions count from the start of the piece; window[p - base] is position p. */
typedef struct st_long_piece {
    st_prefix *window;
    size_t capacity;
    uint64_t base, root, oldest, frontier, end; /* base <= root <= frontier <= end; positions before oldest were left */
    uint32_t state;                             /* automaton state at end; node of the matcher; with a word rule, characters */
    uint32_t active;                            /* some bytes were pushed since the last finish */
    uint32_t merged_only;                       /* an atom, not the start of a piece: no whole-piece rule */
    st_bytes text;                              /* text[root..end) */
} st_long_piece;

/* What pushing needs besides the piece. Zero-initialise. Used by one thread at a time; keeps its memory for the next push. */
typedef struct st_long_scratch {
    uint64_t memo[1u << ST_MEMO_BITS]; /* merge/compatible.h */
    st_ids merged;                     /* the bulk of a long push */
    st_long_piece trial;               /* the piece as it would be behind that */
} st_long_scratch;

void st_long_scratch_free(st_long_scratch *scratch);

/* Begins a piece (merged_only = 0) or an atom behind a cut (1), for the tree. The window's memory is kept. */
void st_long_piece_begin(st_long_piece *piece, int merged_only);
void st_long_piece_free(st_long_piece *piece);

/* Appends bytes; the ids of the tokens that became final are appended to `out`.
 * ST_NO_MEMORY: the piece is unusable until begun again (the encoder restores its copy). */
st_status st_long_piece_push(st_long_piece *piece, st_vocab *vocab, st_long_scratch *scratch, const uint8_t *text, size_t n,
                             st_ids *out);

/* Ends the piece: appends the remaining ids. Then the piece must be begun again. Fails like st_long_piece_push, and with
 * ST_BAD_STATE if it was restored from a state that no encoder can have saved. */
st_status st_long_piece_finish(st_long_piece *piece, st_vocab *vocab, st_ids *out);

/* Bytes pushed whose tokens were not returned yet. */
static inline uint64_t st_long_piece_pending(const st_long_piece *piece)
{
    return piece->end - piece->root;
}

/* The token in front of the pending bytes, ST_NONE if no token was returned yet. The state of a piece is this token, the pending
 * bytes, and whether the whole-piece rule still applies. */
uint32_t st_long_piece_previous(const st_long_piece *piece, const st_vocab *vocab);
/* Rebuilds the state in which `text` is pending behind the token `previous` (an index or ST_NONE). */
st_status st_long_piece_restore(st_long_piece *piece, st_vocab *vocab, st_long_scratch *scratch, uint32_t previous,
                                int merged_only, const uint8_t *text, size_t n);

/* Makes target equal to source. ST_NO_MEMORY: target is begun anew, and source is unchanged. */
st_status st_long_piece_copy(st_long_piece *target, const st_long_piece *source);

#endif
