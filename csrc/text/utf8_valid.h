/* Checks UTF-8, 64 bytes at a time: the fast path of text_check (utf8_check.h), for text that is valid. */
#ifndef ST_TEXT_UTF8_VALID_H
#define ST_TEXT_UTF8_VALID_H

#include <stddef.h>
#include <stdint.h>

/* Returns the length of a valid beginning of text[0..n), in whole characters. The first fault, or the end, is within the next 67
 * bytes. A stage (base/tier.h); the portable tier, without vectors, sees none. */
size_t st_text_valid(const uint8_t *text, size_t n);

#endif
