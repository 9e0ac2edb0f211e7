#include "longest/trie.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"

/* Work of entering a token, in the unit of st_go_on (base/interrupt.h). */
#define TOKEN_COSTS 32

static void enter_edge(st_trie *trie, uint64_t edge)
{
    uint64_t at = ((edge >> ST_NODE_BITS) * ST_GOLDEN) >> trie->edge_shift;
    while (trie->edges[at] != UINT64_MAX)
        at = (at + 1) & trie->edge_mask;
    trie->edges[at] = edge;
}

static st_status resize_edges(st_trie *trie, uint32_t bits)
{
    uint64_t *old = trie->edges;
    const uint64_t old_slots = old ? trie->edge_mask + 1 : 0;
    uint64_t *edges = st_alloc_table(((size_t)1 << bits) * sizeof *edges);
    if (!edges)
        return ST_NO_MEMORY;
    memset(edges, 0xff, ((size_t)1 << bits) * sizeof *edges);
    trie->edges = edges;
    trie->edge_mask = ((uint64_t)1 << bits) - 1;
    trie->edge_shift = 64 - bits;
    for (uint64_t i = 0; i < old_slots; i++)
        if (old[i] != UINT64_MAX)
            enter_edge(trie, old[i]);
    st_free(old);
    return ST_OK;
}

static st_status resize_nodes(st_trie *trie, size_t capacity)
{
    uint32_t *tokens = st_realloc(trie->tokens, capacity * sizeof *tokens);
    if (tokens)
        trie->tokens = tokens;
    uint16_t *depths = tokens ? st_realloc(trie->depths, capacity * sizeof *depths) : NULL;
    if (!depths)
        return ST_NO_MEMORY;
    trie->depths = depths;
    trie->capacity = capacity;
    return ST_OK;
}

static st_status add_node(st_trie *trie, uint32_t parent, uint8_t byte, uint32_t *child)
{
    if (trie->count >> ST_NODE_BITS)
        return ST_NO_MEMORY;
    if (trie->count == trie->capacity)
        ST_TRY(resize_nodes(trie, 2 * trie->capacity));
    if (2 * trie->count > trie->edge_mask)
        ST_TRY(resize_edges(trie, 64 - trie->edge_shift + 1));
    *child = (uint32_t)trie->count++;
    trie->tokens[*child] = ST_NONE;
    trie->depths[*child] = (uint16_t)(trie->depths[parent] + 1);
    if (parent == 0)
        trie->root[byte] = *child;
    else
        enter_edge(trie, ((uint64_t)parent << 8 | byte) << ST_NODE_BITS | *child);
    return ST_OK;
}

/* Enters bytes[0..n) below a root. */
static st_status add_below(st_trie *trie, uint32_t node, const uint8_t *bytes, size_t n, uint32_t index)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t child = st_trie_child(trie, node, bytes[i]);
        if (!child)
            ST_TRY(add_node(trie, node, bytes[i], &child));
        node = child;
    }
    trie->tokens[node] = index;
    return st_go_on(TOKEN_COSTS);
}

/* A silent token of WordPiece is no whole word, and may go on in one. */
static st_status add_token(st_trie *trie, const st_vocab *vocab, const st_wordpiece *rule, uint32_t index)
{
    const uint8_t *bytes = st_token_bytes(vocab, index);
    const size_t n = st_token_length(vocab, index), prefix = rule ? rule->prefix_size : 0;
    if (rule && n > prefix && !memcmp(bytes, rule->prefix, prefix))
        ST_TRY(add_below(trie, ST_TRIE_INSIDE, bytes + prefix, n - prefix, index));
    return st_token_reachable(vocab, index) ? add_below(trie, 0, bytes, n, index) : ST_OK;
}

static st_status build(st_trie *trie, const st_vocab *vocab, const st_wordpiece *rule)
{
    ST_TRY(resize_nodes(trie, 1024));
    ST_TRY(resize_edges(trie, 11));
    trie->count = trie->roots = rule ? 2 : 1;
    for (size_t root = 0; root < trie->roots; root++) {
        trie->tokens[root] = ST_NONE;
        trie->depths[root] = 0;
    }
    for (uint32_t i = 0; i < vocab->count; i++)
        if (rule || st_token_reachable(vocab, i))
            ST_TRY(add_token(trie, vocab, rule, i));
    return ST_OK;
}

st_status st_trie_build(st_trie *trie, const st_vocab *vocab, const st_wordpiece *rule)
{
    memset(trie, 0, sizeof *trie);
    if (!build(trie, vocab, rule))
        return ST_OK;
    st_trie_free(trie);
    return ST_NO_MEMORY;
}

void st_trie_trim(st_trie *trie)
{
    st_free(trie->tokens);
    st_free(trie->depths);
    trie->tokens = NULL;
    trie->depths = NULL;
}

void st_trie_free(st_trie *trie)
{
    st_trie_trim(trie);
    st_free(trie->edges);
    trie->edges = NULL;
}

/* By counting. */
st_status st_trie_edges_by_depth(const st_trie *trie, uint64_t **sorted)
{
    size_t *place = st_calloc(ST_MAX_TOKEN_BYTES + 2, sizeof *place);
    uint64_t *to = *sorted = st_malloc(trie->count * sizeof *to);
    if (!place || !to) {
        st_free(place);
        st_free(to);
        return ST_NO_MEMORY;
    }
    for (size_t node = trie->roots; node < trie->count; node++)
        place[trie->depths[node] + 1]++;
    for (size_t depth = 1; depth <= ST_MAX_TOKEN_BYTES; depth++)
        place[depth + 1] += place[depth];
    for (uint64_t byte = 0; byte < 256; byte++)
        if (trie->root[byte])
            to[place[1]++] = byte << ST_NODE_BITS | trie->root[byte];
    for (uint64_t at = 0; at <= trie->edge_mask; at++)
        if (trie->edges[at] != UINT64_MAX)
            to[place[trie->depths[st_edge_child(trie->edges[at])]]++] = trie->edges[at];
    st_free(place);
    return ST_OK;
}
