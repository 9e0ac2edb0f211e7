/* joined.h - steps that are done as one: BERT's CLEAN, NFD, no nonspacing marks, and lower case where it is asked for.
 *
 * Together they make of each character what they make of it alone, whatever stands beside it: NFD decomposes each by itself and then
 * puts marks in order, and all of these marks go. The few characters whose decompositions have marks that stay, as those of musical
 * notes, are left to the steps themselves.
 *
 * What becomes of a character is worked out when one of its row of 64 comes for the first time.
 * Thread rule: any number of threads. */
#ifndef ST_NORMAL_JOINED_H
#define ST_NORMAL_JOINED_H

#include "normal/clean.h"

#define ST_JOINED_BYTES 15

/* What a character becomes: any bytes behind the first `n` ones. */
typedef struct st_joined_entry {
    uint8_t n; /* ST_JOINED_HARD: the steps themselves have to look at it */
    uint8_t bytes[ST_JOINED_BYTES];
} st_joined_entry;

#define ST_JOINED_HARD 255

typedef struct st_joined st_joined;

/* lower: whether lower case comes at last. NULL: memory is short. */
st_joined *st_joined_new(st_clean clean, int lower);
void st_joined_free(st_joined *joined);

/* The entry of a character; NULL: memory is short. */
const st_joined_entry *st_joined_of(st_joined *joined, uint32_t point);

#endif
