/* rule.h - what a vocabulary of the model Unigram has of its own: the scores of its tokens, and what becomes of unknown characters.
 *
 * Of all paths to divide a piece into tokens the one with the largest sum of scores is taken. A character by itself that is no token is
 * an UNKNOWN one, with a score of its own. Sums grow from the left, one rounding a token; at each place the largest sum is kept, the
 * first of equal ones in the order of the starts of their last tokens. So at equal sums the longest last token wins.
 *
 * There are two dialects. Hugging Face's tokenizers adds doubles. Neighbouring unknown characters are one text, which is looked up
 * again; if it is no token, it becomes the tokens of its bytes where these are tokens and wanted, and else one unknown token.
 * SentencePiece adds in single precision, and at a place whose sum is over ST_UNIGRAM_RESET it is taken from the sums there and further
 * on. Unknown characters become one token, or each the tokens of its bytes. */
#ifndef ST_UNIGRAM_RULE_H
#define ST_UNIGRAM_RULE_H

#include "vocab/vocab.h"

#define ST_UNIGRAM_SINGLE 1u   /* SentencePiece's dialect */
#define ST_UNIGRAM_FALLBACK 2u /* unknown characters become tokens of bytes */

#define ST_UNIGRAM_RESET 100000.0

/* Bytes of all tokens: their tree has 24 bits for a place (unigram/pieces.h). */
#define ST_UNIGRAM_MOST_BYTES 12000000u

typedef struct st_unigram {
    double unknown_score;
    uint32_t unknown; /* index */
    uint32_t flags;
    uint32_t bytes[256]; /* index of the token of each byte; ST_NONE: there is none */
    double scores[1];    /* by index; so many as there are tokens */
} st_unigram;

#define ST_UNIGRAM_HEAD offsetof(st_unigram, scores)

/* Of a vocabulary of this model. */
static inline const st_unigram *st_unigram_of(const st_vocab *vocab)
{
    return vocab->own;
}

/* The sum of two numbers, rounded as the dialect does. */
static inline double st_unigram_sum(const st_unigram *rule, double a, double b)
{
    const double sum = a + b;
    return rule->flags & ST_UNIGRAM_SINGLE ? (double)(float)sum : sum; /* as both are floats, this is their sum as a float */
}

#endif
