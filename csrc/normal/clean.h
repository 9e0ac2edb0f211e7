/* clean.h - what BERT's normalizer does to one character before all else: no control characters, white space as blanks, blanks around
 * ideographs, ASCII in lower case. */
#ifndef ST_NORMAL_CLEAN_H
#define ST_NORMAL_CLEAN_H

#include "normal/chars.h"

#include <stddef.h>

typedef struct st_clean {
    int controls, ideographs, lower;
} st_clean;

/* Ranges of ideographs, as tokenizers has them: U+2B820 to U+2B91F are left out there. */
static inline int st_is_ideograph(uint32_t c)
{
    return c - 0x4E00 < 0x5200 || c - 0x3400 < 0x19C0 || c - 0x20000 < 0xA6E0 || c - 0x2A700 < 0x1040 || c - 0x2B740 < 0xE0 ||
           c - 0x2B920 < 0x1590 || c - 0xF900 < 0x200 || c - 0x2F800 < 0x220;
}

#define ST_MOST_CLEANED 6

/* Writes what the character becomes and returns the bytes of that, at most ST_MOST_CLEANED. */
static inline size_t st_clean_character(const st_clean *c, uint8_t *to, uint32_t point)
{
    size_t n = 0;
    if (c->controls && st_normal_in(point, ST_MASK_CLEANED))
        return 0;
    if (c->controls && st_is_white(point)) {
        *to = ' ';
        return 1;
    }
    const int apart = c->ideographs && st_is_ideograph(point);
    if (apart)
        to[n++] = ' ';
    n += st_utf8_write(to + n, point + (c->lower && point - 'A' < 26 ? 0x20 : 0));
    if (apart)
        to[n++] = ' ';
    return n;
}

#endif
