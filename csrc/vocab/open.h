/* One piece of any length, encoded as it arrives: bytes are pushed, and the ids that no later byte can change are returned. The
 * model of the vocabulary says how (vocab/model.h); its state is what is kept here.
 *
 * What is pending lies in `text`. The state of a piece is the token in front of the pending bytes, where the model asks for it, these
 * bytes, and whether the piece may be a token as a whole. */
#ifndef ST_VOCAB_OPEN_H
#define ST_VOCAB_OPEN_H

#include "pairs/merge_short.h"
#include "vocab/vocab.h"

/* An open piece of up to this many bytes waits for its end in most models: it mostly comes soon, and then one table look-up or one
 * short merge is enough. This is less than the 275 bytes that the finality rule of merging may hold, so the bound on what is pending
 * remains that of the rule. */
#define ST_HOLD_WHOLE ST_SHORT_MERGE

/* What a model may keep for a position of the piece. */
typedef struct st_open_entry {
    uint32_t node;     /* endless/long_piece.h: of the last token of the prefix that ends here; 0 = dead, or the piece's start */
    uint32_t children; /* prefixes, not dead, that link here */
    uint32_t child;    /* exclusive or of their positions, so the position of the only one when children == 1 */
} st_open_entry;

/* Zero-initialise; one piece at a time. Positions count from the start of the piece; window[p - base] is position p. */
typedef struct st_open {
    st_open_entry *window; /* NULL where the model keeps none */
    size_t capacity;
    uint64_t base, root, oldest, frontier, end; /* base <= root <= frontier <= end; positions before oldest were left */
    uint32_t state;                             /* the model's own: 0 at first */
    uint32_t active;                            /* some bytes were pushed since the last finish */
    uint32_t merged_only;                       /* a part behind a cut, not the start of a piece: no token as a whole */
    st_bytes text;                              /* text[root..end), what is pending */
    st_bytes own;                               /* what else the model keeps */
} st_open;

/* Begins a piece (merged_only = 0), or a part of one behind a cut (1). The window's memory is kept. */
void st_open_begin(st_open *open, int merged_only);
void st_open_free(st_open *open);

/* Appends bytes; the ids of the tokens that became final are appended to `out`.
 * ST_NO_MEMORY: the piece is unusable until begun again (the encoder restores its copy). */
st_status st_open_push(st_open *open, st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out);

/* Ends the piece: appends the remaining ids. Then the piece must be begun again. Fails like st_open_push, and with
 * ST_BAD_STATE if it was restored from a state that no encoder can have saved. */
st_status st_open_finish(st_open *open, st_vocab *vocab, void *scratch, st_ids *out);

/* Bytes pushed whose tokens were not returned yet. */
static inline uint64_t st_open_pending(const st_open *open)
{
    return open->end - open->root;
}

/* Moves on by n bytes that were pushed, behind which the last `pending` bytes wait; text[0..n) are those bytes. */
st_status st_open_keep(st_open *open, const uint8_t *text, size_t n, size_t pending);

/* The token in front of the pending bytes, ST_NONE if no token was returned yet, or the model does not ask for it. */
uint32_t st_open_previous(const st_open *open, const st_vocab *vocab);
/* What is to be known of a saved piece: the pending text, the token in front of it (an index or ST_NONE), and what the model's `save`
 * has written. */
typedef struct st_open_saved {
    uint32_t previous;
    int merged_only;
    const uint8_t *text, *own;
    size_t n, own_size;
} st_open_saved;

/* Rebuilds the state of such a piece. */
st_status st_open_restore(st_open *open, st_vocab *vocab, void *scratch, const st_open_saved *saved);

/* Makes target equal to source. ST_NO_MEMORY: target is begun anew, and source is unchanged. */
st_status st_open_copy(st_open *target, const st_open *source);

#endif
