#include "text/str_exact.h"

#include <string.h>

#include "base/utf8.h"

/* Characters that are counted at a time. Sums of so few fit 16 bits, so that compilers make vectors of as many lanes as there are
 * characters. Most such stretches are ASCII, also in a str that one wide character has widened: that is found out first. */
#define COUNTED 512

/* Characters that are converted at a time, to memory of this function: the last write of the conversion exceeds the text. */
#define CONVERTED 3072

static size_t size_of_8(const uint8_t *c, size_t n)
{
    uint16_t more = 0;
    for (size_t i = 0; i < n; i++)
        more = (uint16_t)(more + (c[i] >> 7));
    return n + more;
}

static size_t size_of_16(const uint16_t *c, size_t n)
{
    uint16_t any = 0, more = 0, wrong = 0;
    for (size_t i = 0; i < n; i++)
        any |= c[i];
    if (any < 0x80)
        return n;
    for (size_t i = 0; i < n; i++) {
        more = (uint16_t)(more + (c[i] > 0x7F) + (c[i] > 0x7FF));
        wrong = (uint16_t)(wrong | ((c[i] & 0xF800) == 0xD800));
    }
    return wrong ? ST_NOT_CONVERTED : n + more;
}

static size_t size_of_32(const uint32_t *c, size_t n)
{
    uint32_t any = 0, more = 0, wrong = 0;
    for (size_t i = 0; i < n; i++)
        any |= c[i];
    if (any < 0x80)
        return n;
    for (size_t i = 0; i < n; i++) {
        more += (uint32_t)(c[i] > 0x7F) + (uint32_t)(c[i] > 0x7FF) + (uint32_t)(c[i] > 0xFFFF);
        wrong |= (uint32_t)((c[i] & 0xFFFFF800u) == 0xD800);
    }
    return wrong ? ST_NOT_CONVERTED : n + more;
}

static size_t size_of_some(const uint8_t *from, size_t n, unsigned width)
{
    return width == 1   ? size_of_8(from, n)
           : width == 2 ? size_of_16((const uint16_t *)(const void *)from, n)
                        : size_of_32((const uint32_t *)(const void *)from, n);
}

size_t st_code_points_size(const void *characters, size_t n, unsigned width)
{
    const uint8_t *from = characters;
    size_t size = 0;
    while (n) {
        const size_t some = n < COUNTED ? n : COUNTED, found = size_of_some(from, some, width);
        if (found == ST_NOT_CONVERTED)
            return found;
        size += found;
        from += some * width;
        n -= some;
    }
    return size;
}

static uint32_t point_at(const uint8_t *from, size_t i, unsigned width)
{
    return width == 1   ? from[i]
           : width == 2 ? ((const uint16_t *)(const void *)from)[i]
                        : ((const uint32_t *)(const void *)from)[i];
}

/* The same in a tier without st_code_points. */
static size_t convert_one_by_one(const uint8_t *from, size_t n, unsigned width, uint8_t *to)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++)
        size += st_utf8_write(to + size, point_at(from, i, width));
    return size;
}

void st_code_points_put(const void *characters, size_t n, unsigned width, uint8_t *to)
{
    const uint8_t *from = characters;
    uint8_t buffer[ST_CODE_POINTS_ROOM(CONVERTED)];
    while (n) {
        const size_t some = n < CONVERTED ? n : CONVERTED;
        size_t size = st_code_points(from, some, width, buffer);
        if (size == ST_NOT_CONVERTED)
            size = convert_one_by_one(from, some, width, buffer);
        memcpy(to, buffer, size);
        to += size;
        from += some * width;
        n -= some;
    }
}
