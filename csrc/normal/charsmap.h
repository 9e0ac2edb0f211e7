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

/* Sets a bit for each character below 0x10000 that is a text of the map, and in `seconds` for each that is the second one of a text whose
 * first one is such a character: ST_BASIC_WORDS each, zero at first. */
#define ST_BASIC_WORDS 1024
void st_charsmap_touched(const st_charsmap *map, uint64_t *touched, uint64_t *seconds);

/* What tells of most text that a step with a map leaves it. bits: a bit for each character below 0x10000 that stays, a cluster by itself,
 * where another one of these follows, or one of ASCII with a bit of `behind`. prints: those of ASCII that print are among them. blank: of a
 * blank in front of one nothing comes but a mark. */
typedef struct st_still {
    uint64_t *bits;
    uint64_t behind[2];
    int prints, blank;
} st_still;

/* How far such characters reach from text[at] on, all of which are known to stay without what follows behind text[0..n). */
size_t st_still_until(const st_still *still, const uint8_t *text, size_t at, size_t n);

#endif
