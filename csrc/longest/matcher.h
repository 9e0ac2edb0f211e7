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
 * The trie is a double array. A node with children is a number, its BASE, which no other node has: its edge by a byte lies at
 * `base ^ byte`, if the edge there names it as its parent, and its failure link and pops at `base`. So it is known at once, before any
 * of a node is read, where to look for both, and the two are fetched side by side. An edge to a node without children has its token. */
#ifndef ST_LONGEST_MATCHER_H
#define ST_LONGEST_MATCHER_H

#include "base/buffer.h"
#include "base/prefetch.h"
#include "longest/trie.h"

/* A bit of a child: it has no children, and the rest is the index of its token, which no other one goes on with. */
#define ST_MATCH_ENDS (UINT32_C(1) << 31)

/* A failure link: nothing can follow, the word is not covered (longest/wordpiece.h). */
#define ST_MATCH_STUCK (UINT32_C(1) << 30)

/* `pops` is the index of the only token, or this bit, the number of an st_pops << ST_POPS_BITS, and how many of its tokens are meant. */
#define ST_MATCH_SEVERAL (UINT32_C(1) << 31)
#define ST_POPS_BITS 4

/* parent: ST_NONE where no edge is. */
typedef struct st_match_edge {
    uint32_t parent, child;
} st_match_edge;

/* link: the node of what is left behind the pops. */
typedef struct st_match_fail {
    uint32_t link, pops;
} st_match_fail;

/* The last of several pops, in a line of the cache. Nodes share the beginnings of their lists. */
#define ST_POPS_TOKENS 13
typedef struct st_pops {
    uint32_t before; /* number of those in front, all of whose tokens are meant, */
    uint32_t count;  /* if there are this many tokens in front */
    uint32_t used;   /* tokens here */
    uint32_t tokens[ST_POPS_TOKENS];
} st_pops;

typedef struct st_matcher {
    st_attached attached;
    const st_wordpiece *rule; /* NULL: each token may follow each */
    st_match_edge *edges;
    st_match_fail *fails; /* by node; number 0 is the root */
    size_t count;         /* of both */
    uint32_t inside;      /* the root behind a token: 0, or that of tokens that go on in a word */
    uint16_t *depths;     /* by node: bytes of its string; NULL with WordPiece */
    st_pops *pops;
    size_t pops_count, pops_capacity;
} st_matcher;

/* The matcher of a vocabulary of longest match, and that of one of WordPiece, built on the first call; NULL when memory is short (and
 * tried again next time). Any thread may call. */
const st_matcher *st_vocab_matcher(st_vocab *vocab);
const st_matcher *st_vocab_word_matcher(st_vocab *vocab);

/* Goes on with text[0..n) from `*node`, 0 at the start, and appends to `out` the ids of the tokens that no later text can
 * change. *node then stands for the bytes that are pending. Not with WordPiece. */
st_status st_matcher_feed(const st_matcher *matcher, const st_vocab *vocab, uint32_t *node, const uint8_t *text, size_t n, st_ids *out);

/* The text ends: appends the ids of what is pending. */
st_status st_matcher_finish(const st_matcher *matcher, const st_vocab *vocab, uint32_t node, st_ids *out);

/* Matches several short words, some of them at the same time: while one waits for memory, the others go on. */
void st_matcher_words(const st_matcher *matcher, st_word *words, size_t count);

/* Appends the ids of a word of any length, with WordPiece. */
st_status st_matcher_word(const st_matcher *matcher, const st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out);

/* The definition, without a trie: each token is looked for from the longest on. rule: NULL, or that of WordPiece; then text[0..n) is a
 * word. For tests. */
st_status st_longest_reference(const st_vocab *vocab, const st_wordpiece *rule, const uint8_t *text, size_t n, st_ids *out);

/* ---- for build_matcher.c and matcher.c ---- */

/* Writes the tokens of pops, nearly always one, and returns the place behind them. */
static inline uint32_t *st_match_put(const st_matcher *matcher, uint32_t pops, uint32_t *to)
{
    *to = pops;
    if (!(pops & ST_MATCH_SEVERAL))
        return to + 1;
    const st_pops *last = &matcher->pops[(pops & ~ST_MATCH_SEVERAL) >> ST_POPS_BITS];
    size_t n = pops & ((1u << ST_POPS_BITS) - 1);
    uint32_t *const end = to + last->count + n;
    for (;; last = &matcher->pops[last->before], n = ST_POPS_TOKENS) {
        for (size_t i = 0; i < n; i++)
            to[last->count + i] = last->tokens[i];
        if (!last->count)
            return end;
    }
}

/* The child of `node` by `byte`, 0 if there is none. */
static inline uint32_t st_match_child(const st_matcher *matcher, uint32_t node, uint8_t byte)
{
    const st_match_edge *edge = &matcher->edges[node ^ byte];
    return edge->parent == node ? edge->child : 0;
}

#endif
