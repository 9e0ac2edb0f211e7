/* The code points of a Python str, 1, 2 or 4 bytes each, to UTF-8. PyUnicode_AsUTF8 takes eight times as long where vectors can
 * compress bytes, and keeps a copy in the str. */
#ifndef ST_TEXT_STR_TO_UTF8_H
#define ST_TEXT_STR_TO_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Nothing was converted: there is a surrogate, or this tier is not faster than Python. Python has to do it. */
#define ST_NOT_CONVERTED SIZE_MAX

/* Room for n code points: the last write may exceed the text by a vector. */
#define ST_CODE_POINTS_ROOM(n) (4 * (n) + 64)

/* Writes the UTF-8 of characters[0..n), `width` bytes each (1, 2, 4), and returns how many bytes it has, or
 * ST_NOT_CONVERTED. */
size_t st_code_points(const void *characters, size_t n, unsigned width, uint8_t *to);

/* Whether the tier in use has this stage (base/tier.h). */
int st_code_points_has_tier(void);

#endif
