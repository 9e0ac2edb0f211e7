/* quick.h - how far a text is surely in a normal form already. Nearly all text is, so this runs over all of it, and the rest of the
 * room over what little is left. */
#ifndef ST_NORMAL_QUICK_H
#define ST_NORMAL_QUICK_H

#include <stddef.h>

#include "normal/chars.h"

/* The place of the first character of text[0..n) that the form changes, or may change; n if there is none. A run begins with the
 * text, which is valid UTF-8. A stage (base/tier.h). */
size_t st_normal_quick(st_form form, const uint8_t *text, size_t n);

/* ---- for quick.c and quick_template.h ---- */

/* Is the character at text[at] sure to stay, where all in front is normal? For those in the masks of the form. */
int st_normal_fits(st_form form, const uint8_t *text, size_t at);

/* st_normal_quick from text[at] on, character by character. */
size_t st_normal_quick_from(st_form form, const uint8_t *text, size_t at, size_t n);

#endif
