/* numbers.h - rows of numbers of two, four or eight bytes, as an array of any of these dtypes holds them. */
#ifndef ST_ROWS_NUMBERS_H
#define ST_ROWS_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Each writes `n` numbers to `to`, from number `at` on. */
typedef struct st_numbers {
    void (*ids)(void *to, size_t at, const uint32_t *ids, size_t n);
    void (*one)(void *to, size_t at, uint64_t value, size_t n); /* all of them `value` */
    void (*from_zero)(void *to, size_t at, size_t n);           /* 0, 1, 2, ... */
} st_numbers;

/* width: bytes of a number: 2, 4 or 8. */
const st_numbers *st_numbers_of(unsigned width);

#endif
