/* charsmap.h - the compiled map of characters of SentencePiece: texts, and what each becomes.
 *
 * The bytes are: the size of a tree in bytes, the tree, and the replacements, each with a 0 behind it. The tree is a double array: from
 * a unit the one of a byte lies at its place ^ byte ^ offset, if it has this byte; a bit says that a text ends there, and then the unit
 * at its own offset is the place of the replacement. All numbers have four bytes, the lowest first. */
#ifndef ST_NORMAL_CHARSMAP_H
#define ST_NORMAL_CHARSMAP_H

#include <stddef.h>

#include "base/portable.h"

typedef struct st_charsmap {
    const uint8_t *tree, *texts; /* texts NULL: an empty map */
    size_t units, size;
} st_charsmap;

/* What a text becomes: `size` bytes of it. */
typedef struct st_mapped {
    size_t size;
    const uint8_t *text;
    size_t n;
} st_mapped;

/* The map in these bytes, which stay where they are. 0: they are too few for what they say. */
int st_charsmap_open(st_charsmap *map, const uint8_t *data, size_t n);

/* Whether a map is sound: a tree, in which all texts and replacements are UTF-8. *growth: bytes that one becomes at most; *longest:
 * bytes of the longest text. */
int st_charsmap_check(const st_charsmap *map, double *growth, size_t *longest);

/* The first, or the longest, text of the map that text[0..n) begins with; 0: there is none. *open: whether a longer one might be there
 * if the text went on. */
int st_charsmap_find(const st_charsmap *map, const uint8_t *text, size_t n, int longest, st_mapped *found, int *open);

#endif
