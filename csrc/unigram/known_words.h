/* known_words.h - words of SentencePiece's dialect that were divided before, and their ids again wherever they stand.
 *
 * Where no token holds a mark (U+2581) behind another character, and the mark is a token, each path through a text passes the border in
 * front of a mark, so a text is divided word by word. But the sums go on from word to word in single precision, and their rounding may
 * decide between two paths through a word. So a word is divided with sums from 0 in double precision, which are exact but for some 2^-29
 * of the error below. At each place of its best path, with k characters in front, let d be what the second best sum is less. A sum of k
 * tokens has an error of k half units in the last place at most, of numbers up to |B| + S: B is the sum in front of the word, and S the
 * largest one inside. So both sums err by less than k (|B| + S) 2^-23 together, and where all d are more, the single sums choose the same
 * path. A word is kept with the |B| up to which that is so, and no sum is over ST_UNIGRAM_RESET; behind it, it is divided anew from B. */
#ifndef ST_UNIGRAM_KNOWN_WORDS_H
#define ST_UNIGRAM_KNOWN_WORDS_H

#include "unigram/word.h"
#include "vocab/open.h"

#define ST_KNOWN_BITS 16
#define ST_KNOWN_BYTES 24
#define ST_KNOWN_TOKENS 4

#define ST_WIDE_WORD_BITS 11
#define ST_WIDE_WORD_TOKENS 20

#define ST_SEEN_BITS 14

/* Direct mapped: a word has one place, and the last one written stays. Behind its bytes are zeros, and so behind its scores, which are
 * those of the tokens of its path; ids may be fewer or more, where characters are unknown. */
typedef struct st_known_word {
    uint8_t n, count, edges, run; /* n 0: free; run: st_open.state behind it */
    float limit;
    uint8_t text[ST_KNOWN_BYTES];
    uint32_t ids[ST_KNOWN_TOKENS]; /* indices */
    float scores[ST_KNOWN_TOKENS];
} st_known_word;

/* One that is longer, or has more ids or tokens. */
typedef struct st_wide_word {
    uint8_t n, count, edges, run;
    float limit;
    uint8_t text[ST_WIDE_WORD_BYTES];
    uint32_t ids[ST_WIDE_WORD_TOKENS];
    float scores[ST_WIDE_WORD_TOKENS];
} st_wide_word;

/* What is noted of a piece whose sum in front is not known yet: its words, divided with sums from 0. Once it is known they are gone
 * through in order, which takes one sum a token, and those that are not sure for it are divided anew. */
typedef struct st_noted {
    struct st_known_words *known;
    st_bytes text;   /* as it is normalized; from text.data[at] on the word that is open */
    st_bytes words;  /* of noted_word: known_words.c */
    st_bytes scores; /* of the tokens of all words, as float */
    size_t at;
    int closed;      /* the piece has ended */
} st_noted;

/* Of one thread; zero at first. */
typedef struct st_known_words {
    st_known_word words[1u << ST_KNOWN_BITS];
    st_wide_word wide[1u << ST_WIDE_WORD_BITS];
    uint16_t seen[1u << ST_SEEN_BITS]; /* bits of the hash of the last word that was divided, and not kept */
    st_noted *noted;                   /* of the piece that is begun next; NULL: it is not noted */
} st_known_words;

/* What a thread has for the model: a piece whose end is known, and for a vocabulary with st_pieces.by_words what it knows. */
typedef union st_unigram_scratch {
    st_open piece;
    uint8_t lines[128];
} st_unigram_scratch;

typedef struct st_sentence_scratch {
    st_unigram_scratch first;
    st_known_words known;
} st_sentence_scratch;

/* As st_lattice_take (lattice.h) for a vocabulary whose st_pieces.by_words is set. */
st_status st_words_take(st_known_words *known, st_open *open, st_vocab *vocab, const uint8_t *text, size_t n, int final, st_ids *out);

/* The same for a piece that is noted: the ids are those of sums from 0, and none of words that only the sum in front can tell. */
st_status st_words_note(st_noted *noted, st_open *open, st_vocab *vocab, const uint8_t *text, size_t n, int final, st_ids *out);

/* The functions of the model (vocab/model.h). */
void *st_noted_begin(void *scratch, int begins);
void st_noted_forget(void *noted);
st_status st_noted_mend(st_vocab *vocab, void *scratch, void *noted, double *carried, st_ids *ids, size_t first);

#endif
