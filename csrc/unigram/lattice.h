/* lattice.h - a piece of a Unigram vocabulary on its way to the division with the largest sum, as its text comes.
 *
 * At each place between two characters stands the best sum of what is in front of it, and the last token of that. A place is LEFT when
 * all tokens that begin there were looked at, which needs text up to the longest of them. Each path through the text crosses a place by
 * one token, so it begins with the best path to one of the places from the first one on that was not left: what all of these paths begin
 * with no later text can change. Their tokens are given out, and only what lies behind them is kept.
 *
 * That is some 15 characters of most texts. It may be all of a text: where "a" and "aa" are tokens, whether a run of "a" begins with
 * "a" or with "aa" depends on whether its length is odd. Then a place takes 17 bytes, and the paths are compared each time the text has
 * grown by half, so the time is linear all the same. */
#ifndef ST_UNIGRAM_LATTICE_H
#define ST_UNIGRAM_LATTICE_H

#include "unigram/pieces.h"
#include "vocab/open.h"

/* The tokens of a short word. Returns 0 where memory is short. */
void st_lattice_word(const st_pieces *pieces, const st_vocab *vocab, st_word *word);

/* The functions of the model (vocab/model.h). */
st_status st_lattice_save(const st_open *open, st_bytes *out);
st_status st_lattice_load(st_open *open, st_vocab *vocab, const uint8_t *text, size_t n, const uint8_t *state, size_t size);

/* More of an open piece, and its end (final), or a border that no token spans. Appends indices; and to `starts`, if it is not NULL, where
 * the tokens begin. */
st_status st_lattice_take(st_open *open, st_vocab *vocab, const uint8_t *text, size_t n, int final, st_ids *out, st_ids *starts);

/* Appends where the tokens of a piece begin. */
st_status st_lattice_starts(st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out);

/* The definition, without a tree: each token is looked for at each place. For tests. */
st_status st_unigram_reference(const st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out);

#endif
