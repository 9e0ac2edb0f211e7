#include "endless/automaton.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/search.h"

/* Work of making a node, in the unit of st_go_on (base/interrupt.h). A call that is to end gets no automaton. */
#define NODE_COSTS 32

/* Sets the links of a node. All shorter strings must have theirs already, hence the order by depth in link_all. `byte` is the last
 * byte of the node's string, `parent` its parent. */
static void link_node(st_automaton *a, uint32_t node, uint32_t parent, uint8_t byte)
{
    st_node *self = &a->nodes[node];
    self->fail = parent ? st_automaton_step(a, a->nodes[parent].fail, byte) : 0;
    self->match = self->token != ST_NONE ? node : a->nodes[self->fail].match;
}

static st_status link_all(st_automaton *a)
{
    const size_t edges = a->trie.count - a->trie.roots;
    uint64_t *sorted;
    ST_TRY(st_trie_edges_by_depth(&a->trie, &sorted));
    for (size_t i = 0; i < edges; i++) {
        const uint32_t parent = st_edge_parent(sorted[i]);
        link_node(a, st_edge_child(sorted[i]), parent, st_edge_byte(sorted[i]));
        a->nodes[parent].live = a->nodes[parent].depth; /* it has a child: its string is a proper prefix */
        if (st_go_on(NODE_COSTS))
            break;
    }
    for (size_t i = 0; i < edges; i++) {
        st_node *self = &a->nodes[st_edge_child(sorted[i])];
        if (self->live == 0)
            self->live = a->nodes[self->fail].live;
    }
    st_free(sorted);
    return st_go_on(0);
}

/* Does the token *a come behind *b in the order of their bytes? */
static inline int is_behind(const st_vocab *v, const uint32_t *a, const uint32_t *b)
{
    size_t m = st_token_length(v, *a), n = st_token_length(v, *b);
    int order = memcmp(st_token_bytes(v, *a), st_token_bytes(v, *b), m < n ? m : n);
    return order ? order > 0 : m > n;
}

#define ST_HEAP_ENTRY uint32_t
#define ST_HEAP_CONTEXT const st_vocab *
#define ST_HEAP_BEFORE is_behind /* the last one comes first */
#include "base/heap_template.h"

/* Heap sort: in place, without recursion; qsort would have no argument for the vocabulary. */
static void sort_tokens(const st_vocab *v, uint32_t *tokens, size_t n)
{
    st_heap_order(v, tokens, n);
    for (; n > 1; n--)
        tokens[n - 1] = st_heap_pop(v, tokens, n);
}

static st_status collect_held(st_automaton *a, const st_vocab *vocab)
{
    if (!vocab->unreachable)
        return ST_OK;
    a->held = st_malloc(vocab->unreachable * sizeof *a->held);
    if (!a->held)
        return ST_NO_MEMORY;
    for (uint32_t i = 0; i < vocab->count; i++)
        if (st_token_is_whole_only(vocab, i))
            a->held[a->held_count++] = i;
    sort_tokens(vocab, a->held, a->held_count);
    return ST_OK;
}

static st_status make_nodes(st_automaton *a)
{
    a->nodes = st_malloc(a->trie.count * sizeof *a->nodes);
    if (!a->nodes)
        return ST_NO_MEMORY;
    for (size_t node = 0; node < a->trie.count; node++)
        a->nodes[node] = (st_node){0, 0, a->trie.tokens[node], a->trie.depths[node], 0};
    return ST_OK;
}

static st_status build(st_attached *made, const st_vocab *vocab)
{
    st_automaton *a = (st_automaton *)made; /* its first member */
    if (st_trie_build(&a->trie, vocab, NULL) || make_nodes(a) || link_all(a) || collect_held(a, vocab))
        return ST_NO_MEMORY;
    st_trie_trim(&a->trie);
    return ST_OK;
}

static void release(st_attached *attached)
{
    st_automaton *a = (st_automaton *)attached;
    st_free(a->nodes);
    st_trie_free(&a->trie);
    st_free(a->held);
    st_free(a);
}

const st_automaton *st_vocab_automaton(st_vocab *vocab)
{
    static const st_attached_kind kind = {sizeof(st_automaton), build, release};
    return st_attached_at(&vocab->machine, &kind, vocab);
}

/* Whether a token stands before the text in the order of bytes. */
static int is_below(const st_vocab *vocab, uint32_t token, const uint8_t *text, size_t n)
{
    const size_t length = st_token_length(vocab, token);
    const int order = memcmp(st_token_bytes(vocab, token), text, length < n ? length : n);
    return order < 0 || (order == 0 && length < n);
}

int st_automaton_holds(const st_automaton *a, const st_vocab *vocab, const uint8_t *text, size_t n)
{
    size_t low = 0, high = a->held_count;
    if (n == 0)
        return high > 0;
    ST_BISECT(low, high, at, is_below(vocab, a->held[at], text, n))
    return low < a->held_count && st_token_length(vocab, a->held[low]) >= n &&
           !memcmp(st_token_bytes(vocab, a->held[low]), text, n);
}
