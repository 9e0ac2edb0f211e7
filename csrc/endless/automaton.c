#include "endless/automaton.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/interrupt.h"
#include "base/search.h"

/* Work of making a node, in the unit of st_go_on (base/interrupt.h). A call that is to end gets no automaton. */
#define NODE_COSTS 32

static void enter_edge(st_automaton *a, uint64_t edge)
{
    uint64_t at = ((edge >> ST_NODE_BITS) * ST_GOLDEN) >> a->edge_shift;
    while (a->edges[at] != UINT64_MAX)
        at = (at + 1) & a->edge_mask;
    a->edges[at] = edge;
}

static st_status resize_edges(st_automaton *a, uint32_t bits)
{
    uint64_t *old = a->edges;
    uint64_t old_slots = old ? a->edge_mask + 1 : 0;
    a->edges = st_malloc(((size_t)1 << bits) * sizeof *a->edges);
    if (!a->edges) {
        a->edges = old;
        return ST_NO_MEMORY;
    }
    memset(a->edges, 0xff, ((size_t)1 << bits) * sizeof *a->edges);
    a->edge_mask = ((uint64_t)1 << bits) - 1;
    a->edge_shift = 64 - bits;
    for (uint64_t i = 0; i < old_slots; i++)
        if (old[i] != UINT64_MAX)
            enter_edge(a, old[i]);
    st_free(old);
    return ST_OK;
}

static st_status add_node(st_automaton *a, uint32_t parent, uint8_t byte, uint32_t *child)
{
    if (a->count == a->capacity) {
        st_node *nodes = st_realloc(a->nodes, 2 * a->capacity * sizeof *nodes);
        if (!nodes)
            return ST_NO_MEMORY;
        a->nodes = nodes;
        a->capacity *= 2;
    }
    if (2 * a->count > a->edge_mask && resize_edges(a, 64 - a->edge_shift + 1))
        return ST_NO_MEMORY;
    *child = (uint32_t)a->count++;
    a->nodes[*child] = (st_node){0, 0, ST_NONE, (uint16_t)(a->nodes[parent].depth + 1), 0};
    if (parent == 0)
        a->root[byte] = *child;
    else
        enter_edge(a, ((uint64_t)parent << 8 | byte) << ST_NODE_BITS | *child);
    return ST_OK;
}

static st_status add_token(st_automaton *a, const st_vocab *vocab, uint32_t index)
{
    const uint8_t *bytes = st_token_bytes(vocab, index);
    size_t n = st_token_length(vocab, index);
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t child = st_automaton_child(a, node, bytes[i]);
        if (!child && add_node(a, node, bytes[i], &child))
            return ST_NO_MEMORY;
        node = child;
    }
    a->nodes[node].token = index;
    return ST_OK;
}

/* Sets the links of a node. All shorter strings must have theirs already, hence the order by depth in link_all. `byte` is the last
 * byte of the node's string, `parent` its parent. */
static void link_node(st_automaton *a, uint32_t node, uint32_t parent, uint8_t byte)
{
    st_node *self = &a->nodes[node];
    self->fail = parent ? st_automaton_step(a, a->nodes[parent].fail, byte) : 0;
    self->match = self->token != ST_NONE ? node : a->nodes[self->fail].match;
}

/* Edges sorted by the depth of the child, by counting: parents come before children, shorter suffixes before longer. */
static st_status edges_by_depth(const st_automaton *a, uint64_t **sorted)
{
    size_t *place = st_calloc(ST_MAX_TOKEN_BYTES + 2, sizeof *place);
    *sorted = st_malloc(a->count * sizeof **sorted);
    if (!place || !*sorted) {
        st_free(place);
        st_free(*sorted);
        return ST_NO_MEMORY;
    }
    for (size_t node = 1; node < a->count; node++)
        place[a->nodes[node].depth + 1]++;
    for (size_t depth = 1; depth <= ST_MAX_TOKEN_BYTES; depth++)
        place[depth + 1] += place[depth];
    for (uint64_t byte = 0; byte < 256; byte++)
        (*sorted)[place[1]++] = byte << ST_NODE_BITS | a->root[byte];
    const uint64_t child_mask = (1u << ST_NODE_BITS) - 1;
    for (uint64_t at = 0; at <= a->edge_mask; at++)
        if (a->edges[at] != UINT64_MAX)
            (*sorted)[place[a->nodes[a->edges[at] & child_mask].depth]++] = a->edges[at];
    st_free(place);
    return ST_OK;
}

static st_status link_all(st_automaton *a)
{
    uint64_t *sorted;
    st_status status = edges_by_depth(a, &sorted);
    if (status)
        return status;
    const uint64_t child_mask = (1u << ST_NODE_BITS) - 1;
    for (size_t i = 0; i + 1 < a->count; i++) {
        uint32_t parent = (uint32_t)(sorted[i] >> (ST_NODE_BITS + 8));
        link_node(a, (uint32_t)(sorted[i] & child_mask), parent, (uint8_t)(sorted[i] >> ST_NODE_BITS));
        a->nodes[parent].live = a->nodes[parent].depth; /* it has a child: its string is a proper prefix */
        if (st_go_on(NODE_COSTS))
            break;
    }
    for (size_t i = 0; i + 1 < a->count; i++) {
        st_node *self = &a->nodes[sorted[i] & child_mask];
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

static st_status build(st_automaton *a, const st_vocab *vocab)
{
    a->capacity = 1024;
    a->nodes = st_malloc(a->capacity * sizeof *a->nodes);
    if (!a->nodes || resize_edges(a, 11))
        return ST_NO_MEMORY;
    a->nodes[0] = (st_node){0, 0, ST_NONE, 0, 0};
    a->count = 1;
    for (uint32_t i = 0; i < vocab->count; i++)
        if (st_go_on(NODE_COSTS) || (st_token_reachable(vocab, i) && add_token(a, vocab, i)))
            return ST_NO_MEMORY;
    return link_all(a) || collect_held(a, vocab) ? ST_NO_MEMORY : ST_OK;
}

static void release(st_attached *attached)
{
    st_automaton *a = (st_automaton *)attached; /* its first member */
    st_free(a->nodes);
    st_free(a->edges);
    st_free(a->held);
    st_free(a);
}

const st_automaton *st_vocab_automaton(st_vocab *vocab)
{
    st_automaton *a = st_acquire((void **)&vocab->automaton);
    if (a)
        return a;
    a = st_calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->attached.release = release;
    if (build(a, vocab)) {
        release(&a->attached);
        return NULL;
    }
    return st_attach(&vocab->automaton, &a->attached);
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
