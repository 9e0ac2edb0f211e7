/* Checks UTF-8, 64 bytes at a time: the fast path of text_check (utf8_check.h), for text that is valid. */
#ifndef ST_TEXT_UTF8_VALID_H
#define ST_TEXT_UTF8_VALID_H

#include <stddef.h>
#include <stdint.h>

/* Returns the length of a valid beginning of text[0..n), in whole characters. The first fault, or the end, is within the next 67
 * bytes. */
typedef size_t st_text_valid_function(const uint8_t *text, size_t n);

/* By tier (base/tier.h), and by the one in use. The portable one, without vectors, sees none. */
st_text_valid_function st_text_valid_portable, st_text_valid_neon, st_text_valid_avx2, st_text_valid_avx512, st_text_valid;

#endif
