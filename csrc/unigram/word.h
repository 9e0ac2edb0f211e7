/* word.h - a word of SentencePiece's dialect that is divided anew: for the files of this room. */
#ifndef ST_UNIGRAM_WORD_H
#define ST_UNIGRAM_WORD_H

#include "unigram/paths.h"

/* Longer words are divided as they come, as a text without marks is. */
#define ST_MOST_WORD 512

/* Words that can be kept have no more bytes than this. */
#define ST_WIDE_WORD_BYTES 88

typedef struct words {
    struct st_known_words *known;
    st_open *open;
    st_vocab *vocab;
    const st_pieces *pieces;
    const st_unigram *rule;
    st_ids *out;
    const uint8_t *text, *end; /* all of what is taken; up to `end` it can be read */
    struct st_noted *noted;    /* the words are noted there; NULL: they are not */
    float base;                /* the sum in front of the next word */
    uint32_t run;
} words;

/* What a word becomes, with its sums from 0. */
typedef struct divided {
    uint32_t ids[ST_WIDE_WORD_BYTES];
    float scores[ST_WIDE_WORD_BYTES];
    size_t count, edges;
    uint32_t run;
    double limit;
} divided;

/* Of words that are noted; behind each other. */
typedef struct noted_word {
    float limit; /* 0: only the sum in front can tell, and no ids were given out */
    uint32_t n;
    uint8_t edges, count;
} noted_word;

/* Divides text[0..n), n <= ST_WIDE_WORD_BYTES. */
void st_word_divide(const words *w, const uint8_t *text, size_t n, divided *d);

/* Divides a word, n <= ST_MOST_WORD, as the definition says, from the sum in front of it. */
void st_word_divide_from_sum(words *w, const uint8_t *text, size_t n);

static inline int st_is_below(float base, float limit)
{
    return fabsf(base) < limit;
}

/* What the lattice keeps at a border: the sum. */
static inline float st_sum_of(const st_open *open)
{
    return open->own.size ? (float)places_of(open)->sum : 0;
}

/* Moves on by n bytes, behind which nothing waits, and keeps the sum there. */
st_status st_keep_sum(words *w, size_t n);

#endif
