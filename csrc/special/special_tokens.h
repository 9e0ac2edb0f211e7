/* Finding the names of special tokens in text, across chunks: leftmost first, the longest of those at one place.
 *
 * A matcher holds one set of names (the allowed ones, or the disallowed ones) as an Aho-Corasick automaton. It has a node for each
 * prefix of a name, with a link to the longest proper suffix of it that is a prefix of a name too. While text is read, the node is
 * the longest end of the text that is a prefix of a name. Where the node cannot go on, it is replaced by its link, and the starts
 * in front of the link's start are given up. Which names begin at these starts is then known: a name at the node's own start is a
 * prefix of the node, and those further in are the same in all texts, so they were looked up when the matcher was built. So each
 * byte is read once and each start given up once, whatever the names.
 *
 * Nodes of short prefixes, where ordinary text spends its time, have a ROW: the next node for every byte. There a step is one
 * look-up, without a branch on the text. Text that begins names everywhere is read in several places at once (special_tokens_heads.c).
 *
 * Memory: at most 33 bytes for each byte of the names, up to 72 more for each name, and 70 KB. Building takes twice that memory,
 * and time in proportion to the bytes.
 * Thread rule: immutable once built, any number of readers. */
#ifndef ST_SPECIAL_TOKENS_H
#define ST_SPECIAL_TOKENS_H

#include <stddef.h>

#include "base/status.h"
#include "special/special_tokens_node.h"

/* What a name takes of the text around it, and where it counts (special/cutter.h has the rules). */
enum {
    ST_NAME_TAKES_LEFT = 1,  /* white space in front of it */
    ST_NAME_TAKES_RIGHT = 2, /* white space behind it */
    ST_NAME_ALONE = 4        /* it counts where no character of a word is beside it */
};

typedef struct st_special_name {
    uint32_t length, id, flags;
} st_special_name;

#define ST_NO_SPECIAL UINT32_MAX

/* Entries of a row that are no rows: a node that has no row, or STUCK, where a name may have to be given up. */
#define ST_SPECIAL_NODE UINT32_C(0x80000000)
#define ST_SPECIAL_STUCK UINT32_MAX

typedef struct st_special {
    st_special_node *nodes;  /* nodes[0] is the root */
    uint32_t *depth;         /* node: its bytes */
    uint32_t *place;         /* node: its last byte in `bytes`; the ones before it stand in front */
    uint32_t *name;          /* node: 1 more than the longest name that it begins with, 0 = none */
    uint8_t *bytes;          /* of all names, one behind the other */
    uint32_t *inner;         /* byte: 1 more than the longest name that begins there; NULL = no name lies inside another */
    st_special_edges edges;
    st_special_name *names;
    uint32_t *cells;         /* row, then class of a byte: the row that follows, times `classes`, or one of the
                              * values below. Behind the last row stands one of ST_SPECIAL_STUCK alone */
    uint32_t *row_nodes;     /* row: its node */
    uint8_t class_of[256];   /* bytes that are in no name are one class */
    uint32_t classes, rows;
    uint32_t count, name_count;
    uint32_t first[256];     /* the root's node for a byte, 0 = none */
    int only_first;          /* the one byte that all names begin with, -1 if there are several */
    size_t longest_name;     /* bytes of the longest name */
    size_t total;            /* bytes of all names */
    uint32_t flags;          /* of all names, together */
    uint32_t *words;         /* the characters of words, where a name stands alone: first and last of each range, ascending */
    size_t word_ranges;
    const struct st_special *late; /* names that are sought in the text between these, once it is normalized; not owned; NULL */
} st_special;

/* names: the bytes of all names, one behind the other. An empty name is refused with ST_EMPTY_TOKEN; names of 4 GB or
 * more together with ST_NO_MEMORY. */
st_status st_special_new(const uint8_t *names, const size_t *lengths, const uint32_t *ids, size_t count,
                         st_special **special);
void st_special_free(st_special *special);

/* Sets the flags of each name, and the characters of words as ranges: first and last of each, ascending. */
st_status st_special_set_flags(st_special *special, const uint8_t *flags, const uint32_t *words, size_t word_ranges);

/* Whether special/cutter.h has to find these names: they have flags, or there are late ones. */
static inline int st_special_has_rules(const st_special *special)
{
    return special->flags || special->late;
}

typedef enum st_special_result {
    ST_SPECIAL_NONE,  /* no name begins in the text */
    ST_SPECIAL_FOUND, /* text[start..end) is a name */
    ST_SPECIAL_HELD   /* text[start..n) begins a name, or is one and begins a longer one: wait for more */
} st_special_result;

typedef struct st_special_match {
    size_t start, end;
    uint32_t id, flags;
} st_special_match;

/* How far a text was searched. Places count from the start of the text that may hold the next name. */
typedef struct st_special_search {
    size_t before;  /* bytes in front of text[0] that were searched and are no longer at hand */
    size_t at;      /* bytes searched, with those */
    size_t from;    /* no name begins in front of this place: the last one ended there */
    uint32_t node;  /* the longest end of the searched text that may begin a name */
} st_special_search;

/* A search from text[from] on. */
static inline st_special_search st_special_search_from(size_t from)
{
    st_special_search search = {0, from, from, 0};
    return search;
}

/* A search in the text behind the place where an earlier search stopped with this node. Places count from the start of the node. */
st_special_search st_special_search_behind(const st_special *special, uint32_t node);

/* The next name that begins in front of `until` and lies in the text, which ends with text[n). After ST_SPECIAL_FOUND the
 * search goes on behind that name, in the same text; after the others with more text. final: nothing follows, so a mere
 * beginning is no name. If the call is to end (base/interrupt.h), the answer is that there is none: call st_go_on(0) before
 * it is used. */
st_special_result st_special_find(const st_special *special, st_special_search *search, const uint8_t *text, size_t until,
                                  size_t n, int final, st_special_match *match);

/* The node of text[0..n) if that is a proper prefix of a name, else 0. */
uint32_t st_special_walk(const st_special *special, const uint8_t *text, size_t n);

/* The bytes of a node; the root has none. */
const uint8_t *st_special_bytes(const st_special *special, uint32_t node, size_t *n);

/* ---- for names_*.c ---- */

static inline uint32_t st_special_row(st_special_node node)
{
    return node.bits >> 4 & 0xFFFFFu;
}

/* The entry of a row for the next node. */
static inline uint32_t st_special_value(const st_special *s, uint32_t node)
{
    const st_special_node here = s->nodes[node];
    if (st_special_row(here) && here.bits & ST_SPECIAL_GOES_ON)
        return (st_special_row(here) - 1) * s->classes;
    return ST_SPECIAL_NODE | node;
}

/* Gives rows to the first of `order`, the nodes by depth. */
st_status st_special_add_rows(st_special *special, const uint32_t *order);

/* The node behind a node that is not the root, 0 = none. */
static inline uint32_t st_special_child(const st_special *s, uint32_t node, uint8_t byte)
{
    return st_special_step(s->nodes, &s->edges, node, byte);
}

/* How far a text was read. */
typedef struct st_special_way {
    size_t at;
    uint32_t node;  /* the longest end of text[..at) that begins a name */
    size_t skipped; /* bytes that no name begins with, passed over at the root */
} st_special_way;

/* Reads on to text[stop), or until the node cannot go on and may have names in it; to `starts` where nothing is begun. */
void st_special_read(const st_special *special, st_special_way *way, const uint8_t *text, size_t starts, size_t stop);

/* The same for the next n bytes or a few less, where most of them begin names; it may stop earlier for no reason. Returns
 * how many bytes were read twice. */
size_t st_special_read_parts(const st_special *special, st_special_way *way, const uint8_t *text, size_t n);
#define ST_SPECIAL_HEADS 16

#endif
