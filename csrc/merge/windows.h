/* A long run of bytes whose end is known, merged window by window.
 *
 * A sequence of tokens is the encoding of its bytes if and only if merging gives each token back from its own bytes, and each
 * pair of neighbours from their bytes. So the encoding of a window may be cut behind any of its tokens, and the next window merged
 * from there; both may be joined if the two tokens at the joint are compatible. The last tokens of a window may change with the
 * bytes behind it; they are dropped, and their bytes merged again. Where the text repeats itself, a period of its tokens is copied
 * (a megabyte of CR LF: 46 -> 3 ms). */
#ifndef ST_MERGE_WINDOWS_H
#define ST_MERGE_WINDOWS_H

#include "base/buffer.h"
#include "vocab/vocab.h"

/* Windows are small, because the bytes behind a joint are merged twice. Where tokens of 60 bytes follow each other, as in scripts
 * with three bytes a character, 64 bytes hold no joint, but 128 do. Runs of longer tokens (rulers, blanks) need larger windows, of
 * up to ST_SHORT_MERGE bytes. */
#define ST_SMALL_WINDOW 128

/* Appends the token indices of text[0..n) by merging alone, in windows of ST_SMALL_WINDOW to `largest` bytes. *done = 0:
 * some window has no joint (`out` is then as it was); encode the run with endless/long_piece.h. memo: as in compatible.h. */
st_status st_merge_windows(const st_vocab *vocab, uint64_t *memo, const uint8_t *text, size_t n, size_t largest,
                           st_ids *out, int *done);

#endif
