/* An Aho-Corasick automaton over the reachable tokens. After each byte its state is the longest suffix of the text that is the
 * beginning of a token; the links of the state give every token that ends there. Long pieces are encoded with it (long_piece.h).
 *
 * (A. V. Aho, M. J. Corasick: Efficient string matching, CACM 18(6), 1975.) Built once for a vocabulary, at first need. */
#ifndef ST_ENDLESS_AUTOMATON_H
#define ST_ENDLESS_AUTOMATON_H

#include "longest/trie.h"

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
    st_trie trie;
    uint32_t *held;     /* unreachable tokens in lexicographic order (see st_automaton_holds) */
    uint32_t held_count;
} st_automaton;

/* The automaton of the vocabulary, built on the first call; NULL when memory is short (and tried again next time).
 * Any thread may call. */
const st_automaton *st_vocab_automaton(st_vocab *vocab);

/* The state after one more byte. Amortised O(1): each step along a fail link shortens the string, and a call lengthens it by one
 * byte at most. */
static inline uint32_t st_automaton_step(const st_automaton *a, uint32_t state, uint8_t byte)
{
    uint32_t next;
    while (!(next = st_trie_child(&a->trie, state, byte)))
        state = a->nodes[state].fail;
    return next;
}

/* Could a piece that begins with text[0..n) still turn out to be an unreachable token as a whole? Such a token occurs
 * only as a whole piece, and then its id replaces all that merging would have given, so nothing may leave before. */
int st_automaton_holds(const st_automaton *a, const st_vocab *vocab, const uint8_t *text, size_t n);

#endif
