/* Exact cuts: borders inside a piece that no token spans. Merging makes tokens only, so no merge ever crosses such a
 * border, and the two sides encode independently. Long pieces of scripts without spaces fall into short ATOMS that the
 * tables hold, where the whole pieces are nearly all distinct.
 *
 * cut_rule.h has the rule. Two ASCII characters have an exact table because of texts without a pattern: there the whole text
 * is one piece, and nearly every word begins at a cut.
 *
 * All tokens are entered but silent ones; unreachable ones are. So a piece that is a token has no cut, and a piece with a cut is no token. */
#ifndef ST_CUT_CUTS_H
#define ST_CUT_CUTS_H

#include "cut/cut_rule.h"
#include "vocab/vocab.h"

typedef struct st_cuts {
    st_attached attached;
    st_cut_tables *own; /* NULL: `tables` belongs to an image */
    const st_cut_tables *tables;
} st_cuts;

/* The cuts of the vocabulary, built on the first call; NULL when memory is short, then encode without cuts. Any thread may call. */
const st_cuts *st_vocab_cuts(st_vocab *vocab);
/* Gives the vocabulary tables that were built for it earlier and that outlive it. To be called before any other use of it. */
st_status st_vocab_set_cuts(st_vocab *vocab, const st_cut_tables *tables);
/* The cuts if they were built already, else NULL. */
const st_cuts *st_vocab_cuts_built(const st_vocab *vocab);

/* Finds the cuts in text[0..n) (whole characters, n < 4 GB) behind *from, which is 0 or a border. Writes at most `most` of them,
 * returns how many, and moves *from to the last border that it looked at. */
size_t st_cuts_find(const st_cuts *cuts, const uint8_t *text, size_t n, size_t *from, uint32_t *borders, size_t most);

/* Bytes of a STRETCH: the text that a tier with vectors cuts at once. */
#define ST_CUT_STRETCH 256

/* The stage cuts_of_pieces (base/tier.h) takes the pieces text[at..ends[0]), text[ends[0]..ends[1]), ... that lie within
 * ST_CUT_STRETCH bytes, and cuts the long ones. It writes where the spans end, counted from `at`, and returns how many; *pieces
 * receives the number of pieces. `spans` has room for ST_CUT_STRETCH + 16. A tier without it cuts pieces one by one. */

/* The last border in text[0..n) (whole characters) that is a cut, 0 if there is none. */
size_t st_cuts_last(const st_cuts *cuts, const uint8_t *text, size_t n);

/* The first cut in text[0..n) (whole characters) at or behind `from`, n if there is none; from is 0 or a border. */
size_t st_cuts_next(const st_cuts *cuts, const uint8_t *text, size_t from, size_t n);

#endif
