/* models.h - the models there are (vocab/model.h). Only what makes vocabularies includes this. */
#ifndef ST_MODELS_MODELS_H
#define ST_MODELS_MODELS_H

#include "vocab/model.h"

extern const st_model st_model_bpe;        /* byte pair encoding: the pair that makes the first token merges first */
extern const st_model st_model_characters; /* the same where text begins as characters */
extern const st_model st_model_symbols;    /* the same where characters that are no tokens are unknown (models/symbols.h), */
extern const st_model st_model_joined;     /* where several of them are one token or none, */
extern const st_model st_model_affixed;    /* and where the last character of a piece is a symbol of its own */
extern const st_model st_model_longest;    /* always the longest token (longest/matcher.h) */
extern const st_model st_model_wordpiece;  /* words, by longest/wordpiece.h */
extern const st_model st_model_unigram;    /* the division with the largest sum of scores, by unigram/rule.h, as tokenizers adds */
extern const st_model st_model_sentencepiece; /* and as SentencePiece does */

extern const st_model st_model_sentence_pairs; /* byte pair encoding by scores, of which several may be equal, as SentencePiece has it */
extern const st_model st_model_sentence_words; /* words that are tokens, as SentencePiece has it */

/* Number i of the models, those that were added behind those above; NULL: there are fewer. */
const st_model *st_model_at(size_t i);

st_find_model st_model_named;

/* Adds one from outside, which stays there for good. 0: there is one of that name, its name is too long, or there are too many.
 * Any thread may call. */
int st_model_add(const st_model *model);

#endif
