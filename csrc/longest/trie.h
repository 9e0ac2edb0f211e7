/* The beginnings of tokens, as a tree: a node for each, an edge for each byte that goes on. The root is node 0, the empty string.
 * Parents have lower numbers than their children.
 *
 * With a word rule (longest/wordpiece.h) there is a second root, node ST_TRIE_INSIDE: below it lie the tokens that go on in a word, without
 * what they begin with. Below the first one lie all tokens as they are written. */
#ifndef ST_LONGEST_TRIE_H
#define ST_LONGEST_TRIE_H

#include "longest/wordpiece.h"

typedef struct st_trie {
    uint64_t *edges; /* parent << 36 | byte << 28 | child, UINT64_MAX = free: at most half full */
    uint64_t edge_mask;
    uint32_t edge_shift;
    uint32_t root[256]; /* children of the root, 0 = none */
    size_t count;       /* nodes */
    size_t roots;       /* 1 or 2: the first nodes */
    /* by node; the second half of what st_trie_build makes, which st_trie_trim lets go */
    uint32_t *tokens; /* index of the token that the node's string is, ST_NONE = none */
    uint16_t *depths; /* bytes of the string */
    size_t capacity;
} st_trie;

/* Bits of a node's number: there is at most one node for each byte of all tokens (ST_MAX_TOTAL_BYTES). */
#define ST_NODE_BITS 28

#define ST_TRIE_INSIDE 1

/* The trie of all reachable tokens; rule: NULL, or that of WordPiece. ST_NO_MEMORY, also when the call is to end (base/interrupt.h): nothing is left to free. */
st_status st_trie_build(st_trie *trie, const st_vocab *vocab, const st_wordpiece *rule);
void st_trie_free(st_trie *trie);

/* Frees what only building needs: tokens and depths. */
void st_trie_trim(st_trie *trie);

/* All edges, sorted by the depth of the child: (*sorted)[0..count - roots), to be freed by st_free. Parents come before children, and
 * shorter strings before longer. */
st_status st_trie_edges_by_depth(const st_trie *trie, uint64_t **sorted);

static inline uint32_t st_edge_parent(uint64_t edge)
{
    return (uint32_t)(edge >> (ST_NODE_BITS + 8));
}

static inline uint8_t st_edge_byte(uint64_t edge)
{
    return (uint8_t)(edge >> ST_NODE_BITS);
}

static inline uint32_t st_edge_child(uint64_t edge)
{
    return (uint32_t)(edge & ((1u << ST_NODE_BITS) - 1));
}

/* The child of `node` by `byte`, 0 if there is none. */
static inline uint32_t st_trie_child(const st_trie *trie, uint32_t node, uint8_t byte)
{
    if (node == 0)
        return trie->root[byte];
    const uint64_t key = (uint64_t)node << 8 | byte;
    for (uint64_t at = (key * ST_GOLDEN) >> trie->edge_shift;; at = (at + 1) & trie->edge_mask) {
        const uint64_t edge = trie->edges[at];
        if (edge >> ST_NODE_BITS == key)
            return st_edge_child(edge);
        if (edge == UINT64_MAX)
            return 0;
    }
}

#endif
