/* The rule of WordPiece, which a vocabulary of that model has of its own.
 *
 * A piece is a word. It begins with the longest token that it begins with, as every token is written; behind that the longest of
 * those follow that begin with `prefix`, without it. A word that tokens do not cover so, or of more than `most` characters, is the
 * one token `unknown`. A token of more than `most` characters is silent: no word is that token, but it may follow in one. */
#ifndef ST_LONGEST_WORDPIECE_H
#define ST_LONGEST_WORDPIECE_H

#include "vocab/vocab.h"

/* Bytes that the beginning of a continuing token may have. */
#define ST_MOST_PREFIX 64

typedef struct st_wordpiece {
    uint32_t unknown; /* index */
    uint32_t most, prefix_size;
    uint8_t prefix[ST_MOST_PREFIX];
} st_wordpiece;

/* Of a vocabulary of WordPiece. */
static inline const st_wordpiece *st_wordpiece_of(const st_vocab *vocab)
{
    return vocab->own;
}

#endif
