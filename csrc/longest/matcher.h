/* Longest match: from the left, always the longest token that the text goes on with.
 *
 * A trie with failure links and pops: where the text does not go on in the trie, the first tokens of what was read are known (the
 * POPS of the node), and what is left of it behind them is again a beginning of a token (its FAILURE LINK). Each byte is read once.
 * (X. Song, A. Salcianu, Y. Song, D. Dopson, D. Zhou: Fast WordPiece Tokenization, EMNLP 2021; there for words.)
 *
 * Linear: a step forward lengthens what is pending by a byte, and each step along a failure link gives at least one token. What is
 * pending is a beginning of a token that longer tokens begin with; a token that none goes on with leaves at once. So no id is given
 * too early, and none later than it is certain.
 *
 * The trie is a double array: a node is its place, and its child by a byte lies at `base ^ byte`, if the node there names it as its
 * parent. So a step reads one line of memory, which also has the links. */
#ifndef ST_LONGEST_MATCHER_H
#define ST_LONGEST_MATCHER_H

#include "base/buffer.h"
#include "base/prefetch.h"
#include "longest/trie.h"

/* Bits of a failure link: no token goes on behind this one; nothing can follow, the word is not covered (st_wordpiece). */
#define ST_MATCH_ENDS (UINT32_C(1) << 31)
#define ST_MATCH_STUCK (UINT32_C(1) << 30)
#define ST_MATCH_LINK (ST_MATCH_STUCK - 1)

/* A bit of `pops`: the number of the last one of several. Without it, the index of the only one. */
#define ST_MATCH_SEVERAL (UINT32_C(1) << 31)

/* parent: ST_NONE where no node is; a root has itself. fail: the node of what is left behind the pops. */
typedef struct st_match_node {
    uint32_t base, parent, fail, pops;
} st_match_node;

/* A list of pops from its end on: nodes share the beginnings of their lists. */
typedef struct st_pop {
    uint32_t token;  /* index */
    uint32_t before; /* number of the pop in front; 0 = none */
    uint32_t count;  /* of pops up to this one */
} st_pop;

typedef struct st_matcher {
    st_attached attached;
    st_match_node *nodes; /* number 0 is the root */
    size_t count;         /* of places */
    uint32_t inside;      /* the root behind a token: 0, or that of tokens that go on in a word */
    uint16_t *depths;     /* by node: bytes of its string; NULL with WordPiece */
    st_pop *pops;         /* number 0 is an empty list */
    size_t pop_count, pop_capacity;
} st_matcher;

/* The matcher of the vocabulary, built on the first call; NULL when memory is short (and tried again next time). Any thread may
 * call. */
const st_matcher *st_vocab_matcher(st_vocab *vocab);

/* Goes on with text[0..n) from `*node`, 0 at the start, and appends to `out` the ids of the tokens that no later text can
 * change. *node then stands for the bytes that are pending. Not with WordPiece. */
st_status st_matcher_feed(const st_matcher *matcher, const st_vocab *vocab, uint32_t *node, const uint8_t *text, size_t n, st_ids *out);

/* The text ends: appends the ids of what is pending. */
st_status st_matcher_finish(const st_matcher *matcher, const st_vocab *vocab, uint32_t node, st_ids *out);

/* A text to be matched, or with WordPiece a word of whole characters. tokens: room for n; receives indices. */
typedef struct st_match {
    const uint8_t *text;
    uint32_t *tokens;
    uint32_t n, count;
} st_match;

/* Matches several short ones, some of them at the same time: while one waits for memory, the others go on. */
void st_matcher_words(const st_matcher *matcher, const st_vocab *vocab, st_match *words, size_t count);

/* Appends the ids of a word of any length, with WordPiece. */
st_status st_matcher_word(const st_matcher *matcher, const st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out);

/* The definition, without a trie: each token is looked for from the longest on. With WordPiece text[0..n) is a word. For tests. */
st_status st_longest_reference(const st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out);

/* ---- for build_matcher.c and matcher.c ---- */

st_status st_matcher_build(st_matcher *matcher, const st_vocab *vocab);
void st_matcher_free(st_matcher *matcher);

/* The child of `node` by `byte`, 0 if there is none. */
static inline uint32_t st_match_child(const st_matcher *matcher, uint32_t node, uint8_t byte)
{
    const uint32_t child = matcher->nodes[node].base ^ byte;
    return matcher->nodes[child].parent == node ? child : 0;
}

#endif
