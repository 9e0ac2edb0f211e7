/* pieces.h - the tokens of a Unigram vocabulary as a tree, a double array: each step of a walk is one load.
 *
 * A cell stands for a beginning of a token: its BASE << 8 | the byte that leads to it, the index of the token that it is, and the score
 * of that. The child of a cell by a byte is at base ^ byte, if the cell there has this byte. No two cells have the same base but 0: those
 * of base 0 have no children. All children of a cell lie in one block of 256. */
#ifndef ST_UNIGRAM_PIECES_H
#define ST_UNIGRAM_PIECES_H

#include "unigram/rule.h"

typedef struct st_piece_cell {
    uint32_t link;
    uint32_t token; /* ST_NONE: none */
    double score;   /* -INFINITY: none */
} st_piece_cell;

typedef struct st_pieces {
    st_attached attached;
    st_piece_cell *cells;
    size_t count;
    uint32_t root;    /* its base */
    uint32_t *order;  /* the tokens, by their bytes */
    uint32_t texts;   /* so many */
    double largest;   /* of all scores, without signs, the unknown one's too */
    int unknown_last; /* no token has a score below an unknown character */
    int all_bytes;    /* each byte that UTF-8 has is a token */
    int by_words;     /* SentencePiece's dialect; a mark is a token, and none holds a mark behind another character (known_words.h) */
} st_pieces;

/* The tree of a vocabulary: all tokens but silent ones. Built on the first call; NULL when memory is short. Any thread may call. */
const st_pieces *st_vocab_pieces(st_vocab *vocab);

/* The tree as bytes, and from bytes that stay where they are (vocab/model.h). */
st_status st_pieces_save(st_vocab *vocab, st_bytes *out);
st_status st_pieces_open(st_vocab *vocab, const uint8_t *data, size_t n);

/* The cell of the child by `byte` of a cell with that base; NULL: there is none. */
static inline const st_piece_cell *st_pieces_step(const st_pieces *pieces, uint32_t base, uint8_t byte)
{
    const st_piece_cell *cell = &pieces->cells[base ^ byte];
    return (uint8_t)cell->link == byte ? cell : NULL;
}

/* The index of the token text[0..n); ST_NONE: there is none. */
uint32_t st_pieces_find(const st_pieces *pieces, const uint8_t *text, size_t n);

/* What each token becomes as a piece: 1: itself, 0: others, -1: that is not known here. kept: room for all. */
st_status st_pieces_try_tokens(const st_pieces *pieces, const st_vocab *vocab, int8_t *kept);

#endif
