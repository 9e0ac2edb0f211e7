#include "base/reader.h"

static const uint8_t nothing[1];

static const uint8_t *take(st_reader *r, size_t n)
{
    if (r->failed || n > (size_t)(r->end - r->at)) {
        r->failed = r->failed ? r->failed : 1;
        return NULL;
    }
    const uint8_t *found = r->at;
    r->at += n;
    return found;
}

uint32_t st_read_number(st_reader *r)
{
    const uint8_t *bytes = take(r, 4);
    return bytes ? st_number_at((st_span){bytes, 4}, 0) : 0;
}

st_span st_read_span(st_reader *r)
{
    const size_t n = st_read_number(r);
    const uint8_t *bytes = take(r, n);
    return (st_span){bytes ? bytes : nothing, bytes ? n : 0};
}

size_t st_read_count(st_reader *r, size_t least)
{
    const size_t count = st_read_number(r);
    if (!r->failed && count > (size_t)(r->end - r->at) / least)
        r->failed = 1;
    return r->failed ? 0 : count;
}

uint32_t *st_read_numbers(st_reader *r, size_t *count)
{
    *count = st_read_count(r, 4);
    const st_span numbers = {take(r, 4 * *count), 4 * *count};
    uint32_t *made = *count && !r->failed ? st_malloc(numbers.n) : NULL;
    if (!made) {
        r->failed = *count && !r->failed ? 2 : r->failed;
        *count = 0;
    }
    for (size_t i = 0; i < *count; i++)
        made[i] = st_number_at(numbers, i);
    return made;
}
