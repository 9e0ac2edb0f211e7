/* An Aho-Corasick automaton over the reachable tokens. After each byte its state is the longest suffix of the text that is the
 * beginning of a token; the links of the state give every token that ends there. Long pieces are encoded with it (long_piece.h).
 *
 * (A. V. Aho, M. J. Corasick: Efficient string matching, CACM 18(6), 1975.) Built once for a vocabulary, at first need. */
#ifndef ST_ENDLESS_AUTOMATON_H
#define ST_ENDLESS_AUTOMATON_H

#include "vocab/vocab.h"

/* 16 bytes: what one step reads lies in one cache line. Node 0 is the root (the empty string). */
typedef struct st_node {
    uint32_t fail;  /* node of the longest proper suffix */
    uint32_t match; /* nearest node on the fail chain, this one included, whose string is a token; 0 = none */
    uint32_t token; /* index of the token that this node's string is, ST_NONE = none */
    uint16_t depth; /* bytes of the string */
    uint16_t live;  /* depth of the longest suffix, the string included, that is a PROPER prefix of a token */
} st_node;

typedef struct st_automaton {
    st_attached attached;
    st_node *nodes;
    size_t count, capacity;
    uint64_t *edges; /* parent << 36 | byte << 28 | child, UINT64_MAX = free: at most half full */
    uint64_t edge_mask;
    uint32_t edge_shift;
    uint32_t root[256]; /* children of the root: all 256 exist */
    uint32_t *held;     /* unreachable tokens in lexicographic order (see st_automaton_holds) */
    uint32_t held_count;
} st_automaton;

/* Bits of a node's number: there is at most one node for each byte of all tokens (ST_MAX_TOTAL_BYTES). */
#define ST_NODE_BITS 28

/* The automaton of the vocabulary, built on the first call; NULL when memory is short (and tried again next time).
 * Any thread may call. */
const st_automaton *st_vocab_automaton(st_vocab *vocab);

/* The child of `node` by `byte`, 0 if there is none. */
static inline uint32_t st_automaton_child(const st_automaton *a, uint32_t node, uint8_t byte)
{
    if (node == 0)
        return a->root[byte];
    uint64_t key = (uint64_t)node << 8 | byte;
    for (uint64_t at = (key * ST_GOLDEN) >> a->edge_shift;; at = (at + 1) & a->edge_mask) {
        uint64_t edge = a->edges[at];
        if (edge >> ST_NODE_BITS == key)
            return (uint32_t)(edge & ((1u << ST_NODE_BITS) - 1));
        if (edge == UINT64_MAX)
            return 0;
    }
}

/* The state after one more byte. Amortised O(1): each step along a fail link shortens the string, and a call lengthens it by one
 * byte at most. */
static inline uint32_t st_automaton_step(const st_automaton *a, uint32_t state, uint8_t byte)
{
    uint32_t next;
    while (!(next = st_automaton_child(a, state, byte)))
        state = a->nodes[state].fail;
    return next;
}

/* Could a piece that begins with text[0..n) still turn out to be an unreachable token as a whole? Such a token occurs
 * only as a whole piece, and then its id replaces all that merging would have given, so nothing may leave before. */
int st_automaton_holds(const st_automaton *a, const st_vocab *vocab, const uint8_t *text, size_t n);

#endif
