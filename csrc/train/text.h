/* text.h - the distinct pieces as one row of tokens, which training merges in place.
 *
 * Each byte of a piece is a place. A token of n bytes takes n places. Its number stands at the first and at the last of them, so
 * both neighbours are found without links: the next token begins n places further, the one before ends at the place in front.
 * Where training goes on from given tokens, each of these is a place instead, and records hold their numbers, four bytes each.
 * In front of each piece, and behind the last, is one place that holds ST_TRAIN_BORDER.
 *
 * Pieces are sorted by their counts, the most frequent first. Pieces of one count make one range, so a place needs no count of its
 * own, only 4 bytes.
 *
 *     st_train_text_init(&text, alphabet)
 *     for all records: st_train_text_measure(&text, records, n)
 *     st_train_text_lay_out(&text)
 *     for the same records, in any order: st_train_text_place(&text, records, n)
 *
 * Thread rule: one thread at a time; a text that is only read, any number. */
#ifndef ST_TRAIN_TEXT_H
#define ST_TRAIN_TEXT_H

#include "train/table.h"

#define ST_TRAIN_BORDER UINT32_MAX       /* between pieces */
#define ST_TRAIN_INSIDE (UINT32_MAX - 1) /* was the first place of a token, and is inside another token now */
#define ST_TRAIN_MAX_PLACES (UINT32_MAX - 1)

/* The coarse map from places to ranges has an entry for every 2^ST_TRAIN_STEP_BITS places. */
#define ST_TRAIN_STEP_BITS 7

/* The range of a smaller count is found by a table, that of a greater one by a search. Great counts are few. */
#define ST_TRAIN_SMALL ((size_t)1 << 16)

/* The pieces with one count, which end at the place `end`. While pieces are placed, `end` is where the next one goes, and `limit`
 * where the range ends. */
typedef struct st_train_range {
    uint64_t count;
    uint64_t end, limit;
} st_train_range;

typedef struct st_train_text {
    uint32_t *tokens;
    size_t places; /* borders too */
    st_train_range *ranges;
    size_t range_count, range_capacity;
    uint32_t *steps; /* the range of every 2^ST_TRAIN_STEP_BITS-th place */
    uint64_t *small; /* by count: places while pieces are measured, their range while they are placed */
    uint32_t alphabet[256]; /* byte -> token */
    uint32_t given;         /* records hold numbers of so many given tokens; 0: bytes */
    uint64_t pieces;
} st_train_text;

/* alphabet: the 256 bytes in the order of their tokens. */
void st_train_text_init(st_train_text *text, const uint8_t *alphabet);
void st_train_text_free(st_train_text *text);

st_status st_train_text_measure(st_train_text *text, const uint8_t *records, size_t n);

/* ST_TOO_MUCH_TEXT: more than ST_TRAIN_MAX_PLACES bytes of distinct pieces. */
st_status st_train_text_lay_out(st_train_text *text);

/* ST_BAD_STATE: a record that was not measured, or a number that is no given token's. */
st_status st_train_text_place(st_train_text *text, const uint8_t *records, size_t n);

/* To be called when all records are placed. Builds the map from places to ranges. ST_BAD_STATE: a record is missing. */
st_status st_train_text_finish(st_train_text *text);

/* The range of a place. `from`: 0, or, for places that ascend from call to call, the previous answer. */
static inline uint32_t st_train_range_of(const st_train_text *text, uint32_t place, uint32_t from)
{
    const uint32_t step = text->steps[place >> ST_TRAIN_STEP_BITS];
    uint32_t range = step > from ? step : from;
    while (text->ranges[range].end <= place)
        range++;
    return range;
}

#endif
