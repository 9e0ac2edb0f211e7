/* Longest match: from the left, always the longest token that the text goes on with.
 *
 * A trie with failure links and pops: where the text does not go on in the trie, the first tokens of what was read are known (the
 * POPS of the node), and what is left of it behind them is again a beginning of a token (its FAILURE LINK). Each byte is read once.
 * (X. Song, A. Salcianu, Y. Song, D. Dopson, D. Zhou: Fast WordPiece Tokenization, EMNLP 2021; there for words.)
 *
 * Linear: a step forward lengthens what is pending by a byte, and each step along a failure link gives at least one token. What is
 * pending is a beginning of a token that longer tokens begin with; a token that none goes on with leaves at once. So no id is given
 * too early, and none later than it is certain. */
#ifndef ST_LONGEST_MATCHER_H
#define ST_LONGEST_MATCHER_H

#include "base/buffer.h"
#include "longest/trie.h"

/* A bit of a failure link: no token goes on behind this one. */
#define ST_MATCH_ENDS (UINT32_C(1) << 31)

/* fail: the node of what is left behind the pops. pops: number of the last one (st_pop); the root has none. */
typedef struct st_match_node {
    uint32_t fail, pops;
} st_match_node;

/* A list of pops from its end on: nodes share the beginnings of their lists. */
typedef struct st_pop {
    uint32_t token;  /* index */
    uint32_t before; /* number of the pop in front; 0 = none */
    uint32_t count;  /* of pops up to this one */
} st_pop;

typedef struct st_matcher {
    st_attached attached;
    st_trie trie;
    st_match_node *nodes; /* by node */
    uint16_t *depths;     /* by node: bytes of its string */
    st_pop *pops;         /* number 0 is an empty list */
    size_t pop_count, pop_capacity;
} st_matcher;

/* The matcher of the vocabulary, built on the first call; NULL when memory is short (and tried again next time). Any thread may
 * call. */
const st_matcher *st_vocab_matcher(st_vocab *vocab);

/* Goes on with text[0..n) from `*node`, 0 at the start, and appends to `out` the ids of the tokens that no later text can
 * change. *node then stands for the bytes that are pending. */
st_status st_matcher_feed(const st_matcher *matcher, const st_vocab *vocab, uint32_t *node, const uint8_t *text, size_t n, st_ids *out);

/* The text ends: appends the ids of what is pending. */
st_status st_matcher_finish(const st_matcher *matcher, const st_vocab *vocab, uint32_t node, st_ids *out);

/* The indices of the tokens of text[0..n), into tokens[0..n); returns how many. */
size_t st_matcher_word(const st_matcher *matcher, const uint8_t *text, size_t n, uint32_t *tokens);

/* The definition, without a trie: each token is looked for from the longest on. For tests. */
st_status st_longest_reference(const st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out);

#endif
