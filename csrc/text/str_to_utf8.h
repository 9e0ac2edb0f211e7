/* Code points as a Python str has them, 1, 2 or 4 bytes each, to UTF-8: what PyUnicode_AsUTF8 does, in an eighth of its time
 * where there are vectors to press bytes together, and without a copy that stays in the str. */
#ifndef ST_TEXT_STR_TO_UTF8_H
#define ST_TEXT_STR_TO_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Not done, and Python has to do it: there is a surrogate, or this tier is no quicker than Python. */
#define ST_NOT_CONVERTED SIZE_MAX

/* Room that n code points want: what is written last may reach a vector beyond its end. */
#define ST_CODE_POINTS_ROOM(n) (4 * (n) + 64)

/* Writes the UTF-8 of characters[0..n), `width` bytes each (1, 2, 4), and returns how many bytes it has, or
 * ST_NOT_CONVERTED. */
typedef size_t st_code_points_function(const void *characters, size_t n, unsigned width, uint8_t *to);

/* By tier (base/tier.h), and by the one in use; whether that one does it at all. */
st_code_points_function st_code_points_neon, st_code_points_avx2, st_code_points_avx512, st_code_points;
int st_code_points_has_tier(void);

#endif
