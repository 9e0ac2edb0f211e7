/* A long run of bytes whose end is known, merged window by window.
 *
 * A sequence of tokens is the encoding of its bytes exactly if merging gives each token back from its own bytes, and
 * each pair of neighbours from theirs. So a window's encoding may be cut behind any of its tokens, the next window
 * merged from there, and both joined, if only the two tokens at the joint are compatible. The last tokens of a window
 * are the ones that the bytes behind it would change; they are dropped and merged again. Where the text repeats itself, so do
 * the tokens: a period of them is copied (a megabyte of CR LF: 46 -> 3 ms). */
#ifndef ST_MERGE_WINDOWS_H
#define ST_MERGE_WINDOWS_H

#include "base/buffer.h"
#include "vocab/vocab.h"

/* Windows are small while tokens are: what is merged behind a joint is merged again. Where tokens of 60 bytes follow each
 * other, as in scripts with three bytes a character, 64 bytes hold no joint, and 128 do. Runs of longer tokens (rulers,
 * blanks) want larger ones, up to ST_SHORT_MERGE. */
#define ST_SMALL_WINDOW 128

/* Appends the token indices of text[0..n) by merging alone, in windows of ST_SMALL_WINDOW to `largest` bytes. *done = 0:
 * no joint was found in some window (`out` is as it was then); encode the run with endless/long_piece.h. memo as in
 * compatible.h. */
st_status st_merge_windows(const st_vocab *vocab, uint64_t *memo, const uint8_t *text, size_t n, size_t largest,
                           st_ids *out, int *done);

#endif
