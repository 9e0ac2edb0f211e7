/* str_to_utf8_template.h - the way through a text (str_to_utf8.h), compiled once for each set of instructions: str_to_utf8_avx*.c
 * include it after defining
 *
 *     ST_TIER                                 the tier's name: the function made here is st_code_points_<ST_TIER>
 *     STRIDE, BLOCK                           characters in a vector; those that lose their zeros together where all are ASCII
 *     take_ascii(from, width, to)             1 where the next BLOCK characters are ASCII and have been written
 *     take(from, count, width, to, &wrong)    writes up to STRIDE characters and returns where their bytes end; wrong: not 0
 *                                             from then on where one is a surrogate
 *
 * to be compiled anew for each width. */
#include "base/portable.h"
#include "text/str_to_utf8.h"

#define ST_JOIN_(a, b) a##b
#define ST_JOIN(a, b) ST_JOIN_(a, b)

ST_FORCE_INLINE size_t convert(const uint8_t *from, size_t n, unsigned width, uint8_t *to)
{
    uint8_t *const first = to;
    uint32_t wrong = 0;
    for (size_t i = 0; i < n;) {
        if (n - i >= BLOCK && take_ascii(from + i * width, width, to)) {
            i += BLOCK;
            to += BLOCK;
            continue;
        }
        const size_t end = n - i < BLOCK ? n : i + BLOCK;
        for (; i < end; i += STRIDE)
            to = take(from + i * width, end - i < STRIDE ? end - i : STRIDE, width, to, &wrong);
    }
    return wrong ? ST_NOT_CONVERTED : (size_t)(to - first);
}

size_t ST_JOIN(st_code_points_, ST_TIER)(const void *characters, size_t n, unsigned width, uint8_t *to)
{
    switch (width) {
    case 1:
        return convert(characters, n, 1, to);
    case 2:
        return convert(characters, n, 2, to);
    default:
        return convert(characters, n, 4, to);
    }
}
