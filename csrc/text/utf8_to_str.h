/* Valid UTF-8 to the code points of a Python str, 1, 2 or 4 bytes each. Python's own decoder checks what is known to be valid, and
 * starts with narrow characters, which it moves whenever a wider one comes. */
#ifndef ST_TEXT_UTF8_TO_STR_H
#define ST_TEXT_UTF8_TO_STR_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct st_utf8_facts {
    size_t characters;
    uint32_t limit; /* all characters are below it: 0x80, 0x100, 0x10000 or 0x110000, the least one */
} st_utf8_facts;

/* Of text that is not valid: limit is 0x80 if all is ASCII, and then the facts are right, else more. */
st_utf8_facts st_utf8_measure(const uint8_t *text, size_t n);

/* Writes the characters of valid text, `width` bytes each, for all of which there is room. Fails only by ST_INTERRUPTED. */
st_status st_utf8_to_code_points(const uint8_t *text, size_t n, unsigned width, void *to);

#endif
