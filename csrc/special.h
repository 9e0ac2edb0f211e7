/* Finding the names of special tokens in text, across chunks: leftmost first, the longest of those at one place.
 * A matcher holds one set of names (the allowed ones, or the disallowed ones) in a trie.
 * Thread rule: immutable once built, any number of readers. */
#ifndef ST_SPECIAL_H
#define ST_SPECIAL_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

typedef struct st_special_node {
    uint32_t child;   /* first child, 0 = none */
    uint32_t sibling; /* next child of the same parent, 0 = none */
    uint32_t id;      /* of the name that ends here, ST_NO_SPECIAL = none */
    uint8_t byte;
} st_special_node;

#define ST_NO_SPECIAL UINT32_MAX

typedef struct st_special {
    st_special_node *nodes; /* nodes[0] is the root */
    uint32_t count, capacity;
    uint32_t first[256];   /* child of the root by byte, 0 = none */
    int only_first;        /* the one byte that all names begin with, -1 if there are several */
    size_t longest;        /* bytes of the longest name */
} st_special;

/* names: the bytes of all names, one behind the other. An empty name is refused with ST_EMPTY_TOKEN. */
st_status st_special_new(const uint8_t *names, const size_t *lengths, const uint32_t *ids, size_t count,
                         st_special **special);
void st_special_free(st_special *special);

typedef enum st_special_result {
    ST_SPECIAL_NONE,  /* no name begins in the text */
    ST_SPECIAL_FOUND, /* text[start..end) is a name */
    ST_SPECIAL_HELD   /* text[start..n) begins a name, or is one and begins a longer one: wait for more */
} st_special_result;

typedef struct st_special_match {
    size_t start, end;
    uint32_t id;
} st_special_match;

/* The first name that begins in text[from..until) and lies in text[..n), until <= n. final: nothing follows, so a mere
 * beginning is no name. */
st_special_result st_special_find(const st_special *special, const uint8_t *text, size_t from, size_t until, size_t n,
                                  int final, st_special_match *match);

#endif
