/* Converts a str to UTF-8 in two passes, first its size, then exactly as many bytes: several threads can write side by side. */
#ifndef ST_TEXT_STR_EXACT_H
#define ST_TEXT_STR_EXACT_H

#include "text/str_to_utf8.h"

/* How many bytes characters[0..n) have, `width` bytes each (1, 2, 4); ST_NOT_CONVERTED if one is a surrogate. */
size_t st_code_points_size(const void *characters, size_t n, unsigned width);

/* Writes the UTF-8 of characters that have that size. */
void st_code_points_put(const void *characters, size_t n, unsigned width, uint8_t *to);

#endif
