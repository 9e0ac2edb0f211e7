/* What an input of fuzz_feed or fuzz_state encodes: a vocabulary, options, a text, and what must come out. */
#ifndef SUBJECT_H
#define SUBJECT_H

#include "fuzz.h"

#define NOWHERE UINT64_MAX

typedef struct subject {
    const char *vocab_name;
    st_vocab *vocab;
    int bundled; /* a whole published vocabulary */
    int endless; /* the text is one character over and over */
    st_dfa *dfa; /* of a table by chance */
    st_pattern pattern;
    st_errors errors;
    unsigned allowed_mask, disallowed_mask;
    st_special *allowed, *disallowed;
    st_bytes text;
    st_bytes valid;      /* the text as the scanner sees it: repaired, or up to the first fault under strict */
    size_t *origin;      /* byte of `text` that each byte of `valid` comes from, and text.size behind them */
    st_ids ids;          /* of `valid`, by the reference engine */
    uint64_t invalid_at; /* strict: the first ill-formed sequence; else NOWHERE */
    uint64_t name_at;    /* the first disallowed name, as an offset in `text` */
    size_t name_start;   /* the same in `valid` */
} subject;

/* ---- subject.c ---- */

void subjects_close(void);

/* Options, a vocabulary and a text, by chance. Lives until the next call. */
subject *subject_new(rng *r);

void subject_encoder(const subject *s, st_engine engine, st_encoder *e);

/* Fails the run unless the status is OK, or a fault that the text has, told with its right offset. */
void subject_judge(const subject *s, st_status status, const st_feed_error *error);

/* ---- odds.c ---- */

void state_of(const st_encoder *e, st_bytes *state); /* replaces *state */

/* One feed whose allocations fail, each in turn, before it may succeed. */
st_status feed_against_odds(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error);

/* Puts a saved and loaded encoder, or a copy, in the place of *e. */
void replace_encoder(const subject *s, rng *r, st_encoder *e);

extern uint64_t failed_allocations; /* how many so far */

#endif
