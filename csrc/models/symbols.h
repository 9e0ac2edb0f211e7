/* The rule by which a piece becomes symbols where not all characters are symbols, which a vocabulary of such a model has of its own.
 *
 * A piece is a text of units: characters, or bytes. Each unit that is a symbol stays; at the end of a piece, where the rule has
 * endings, one that is a symbol there gets ST_ENDING behind it, and merging makes one token of both at first, so that tokens at the
 * end of a word are other ones than inside; and so at the beginning of a piece, with ST_BEGINNING in front of it. With byte tokens, a
 * character that is no symbol becomes those of its bytes, with ST_BYTE in front of each, if all of them are tokens. In the place of a
 * unit that is none of these stands the token `unknown`, or nothing: then its neighbours are neighbours. An unknown token stands
 * behind the byte tokens that follow it, as in the reference. All of that is done to the bytes of the piece, in which ST_UNKNOWN
 * stands for the unknown token; what comes of it merges as any bytes do. No text holds these four bytes, and no token but those that
 * are made with them.
 *
 * With ST_KEEPS_WHOLE, a piece that is a token in the words of the file is that token: there a token that goes on in a piece begins
 * with the prefix, and one that ends it ends with the suffix. */
#ifndef ST_MODELS_SYMBOLS_H
#define ST_MODELS_SYMBOLS_H

#include "vocab/vocab.h"

#define ST_ENDING 0xFF
#define ST_UNKNOWN 0xFE
#define ST_BEGINNING 0xFD
#define ST_BYTE 0xFC

enum st_symbol_flags {
    ST_UNITS_ARE_BYTES = 1,
    ST_UNKNOWN_JOINS = 2, /* unknown units side by side are one token */
    ST_HAS_ENDINGS = 4,
    ST_HAS_BEGINNINGS = 8,
    ST_HAS_BYTE_TOKENS = 16,
    ST_KEEPS_WHOLE = 32
};

/* Where in a piece a unit is: a sum of these. */
enum st_symbol_places { ST_AT_END = 1, ST_AT_BEGINNING = 2, ST_SYMBOL_PLACES = 4 };

#define ST_SYMBOL_PAGES 0x1100 /* of 256 code points each */

typedef struct st_symbols {
    uint32_t unknown;    /* index; ST_NONE: nothing stands in the place of an unknown unit */
    uint32_t unknown_id; /* its id, for those who read this without the vocabulary */
    uint32_t flags;
    uint32_t pages;
    uint32_t prefix_size, suffix_size; /* bytes of both, which lie behind `bits` */
    uint8_t of_bytes[32];              /* a bit for each byte that has a token */
    uint16_t page[ST_SYMBOL_PLACES][ST_SYMBOL_PAGES]; /* of the symbols at each place */
    uint8_t bits[][32];                               /* page 0 has none */
} st_symbols;

static inline const st_symbols *st_symbols_of(const st_vocab *vocab)
{
    return vocab->own;
}

static inline int st_is_symbol(const st_symbols *symbols, int place, uint32_t code_point)
{
    return symbols->bits[symbols->page[place][code_point >> 8]][code_point >> 3 & 31] >> (code_point & 7) & 1;
}

#endif
