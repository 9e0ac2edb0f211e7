/* Reads numbers and bytes that come from anybody (streamtok/model_files/core_parts.py writes them): numbers of 32 bits, the lowest byte
 * first; bytes with their number in front. After something that is not there, all that is read is 0 or empty, and `failed` is set. */
#ifndef ST_BASE_READER_H
#define ST_BASE_READER_H

#include "base/buffer.h"

typedef struct st_span {
    const uint8_t *bytes;
    size_t n;
} st_span;

typedef struct st_reader {
    const uint8_t *at, *end;
    int failed;
} st_reader;

uint32_t st_read_number(st_reader *r);
st_span st_read_span(st_reader *r);

/* Number i of a span of numbers. */
static inline uint32_t st_number_at(st_span numbers, size_t i)
{
    const uint8_t *b = numbers.bytes + 4 * i;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* How many things follow, each of which has at least `least` bytes; fails where so many are not there. */
size_t st_read_count(st_reader *r, size_t least);

/* Numbers, with how many they are in front, in memory of their own; NULL: there are none, or no memory (r->failed is 2). */
uint32_t *st_read_numbers(st_reader *r, size_t *count);

static inline st_status st_reader_status(const st_reader *r)
{
    return r->failed == 2 ? ST_NO_MEMORY : r->failed ? ST_BAD_IMAGE : ST_OK;
}

#endif
