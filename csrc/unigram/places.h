/* places.h - what an open piece keeps besides its text (lattice.h), for what works on it. */
#ifndef ST_UNIGRAM_PLACES_H
#define ST_UNIGRAM_PLACES_H

#include "vocab/open.h"

/* A place between two characters: the best sum of what is in front of it, and the last token of that. Once a path is given out, its
 * places have the next token instead. */
typedef struct place {
    double sum;
    uint32_t token;
    uint32_t size; /* bytes of the token; 0: no token ends here yet */
} place;

/* In `size`, for as long as paths are compared. */
#define MARK (UINT32_C(1) << 31)

/* What is known of an open piece; positions count from where its pending text begins. The places lie behind it. */
typedef struct lattice {
    uint64_t left; /* all places in front were left */
    uint64_t far;  /* the last place that a token ends at */
    uint64_t wait; /* paths are compared again when `left` is here */
    struct st_noted *noted; /* what takes the text instead (known_words.h); NULL: nothing does */
} lattice;

/* What becomes of a run of unknown characters whose first ones were given out: st_open.state. */
enum { NO_RUN, RUN_NAMED, RUN_SPELLED };

static inline lattice *lattice_of(const st_open *open)
{
    return (lattice *)(void *)open->own.data;
}

static inline place *places_of(const st_open *open)
{
    return (place *)(void *)(open->own.data + sizeof(lattice));
}

/* Makes the places of n more bytes, which are appended. */
st_status st_lattice_extend(st_open *open, const uint8_t *text, size_t n);

#endif
