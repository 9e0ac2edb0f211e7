#include "longest/matcher.h"

#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/interrupt.h"

/* ---- building ---- */

/* Work of linking a node, in the unit of st_go_on (base/interrupt.h). */
#define NODE_COSTS 32

/* Room for so many more pops. */
static st_status reserve_pops(st_matcher *m, size_t more)
{
    if (m->pop_count + more <= m->pop_capacity)
        return ST_OK;
    const size_t capacity = m->pop_capacity + m->pop_capacity / 2 + more + 1024;
    st_pop *pops = capacity > UINT32_MAX ? NULL : st_realloc(m->pops, capacity * sizeof *pops);
    if (!pops)
        return ST_NO_MEMORY;
    m->pops = pops;
    m->pop_capacity = capacity;
    return ST_OK;
}

/* The list `first` with the list `second` behind it. */
static st_status join_pops(st_matcher *m, uint32_t first, uint32_t second, uint32_t *last)
{
    const uint32_t count = m->pops[second].count, start = (uint32_t)m->pop_count;
    ST_TRY(reserve_pops(m, count));
    for (uint32_t i = count; i > 0; i--, second = m->pops[second].before)
        m->pops[start + i - 1] = (st_pop){m->pops[second].token, i > 1 ? start + i - 2 : first, m->pops[first].count + i};
    m->pop_count += count;
    *last = start + count - 1;
    return ST_OK;
}

static st_status begin_pops(st_matcher *m, uint32_t token, uint32_t *last)
{
    ST_TRY(reserve_pops(m, 1));
    *last = (uint32_t)m->pop_count++;
    m->pops[*last] = (st_pop){token, 0, 1};
    return ST_OK;
}

/* Links the child of an edge; its parent and all shorter strings are linked. A token pops itself. Else the parent's pops come first,
 * and those of the nodes on its chain of failure links, until one goes on with the byte. */
static st_status link_child(st_matcher *m, uint64_t edge)
{
    const uint32_t child = st_edge_child(edge), token = m->trie.tokens[child];
    st_match_node *self = &m->nodes[child];
    if (token != ST_NONE) {
        self->fail = 0;
        return begin_pops(m, token, &self->pops);
    }
    const st_match_node *parent = &m->nodes[st_edge_parent(edge)];
    uint32_t at = parent->fail, next;
    self->pops = parent->pops;
    while (!(next = st_trie_child(&m->trie, at, st_edge_byte(edge)))) { /* ends at the root, whose children are all there */
        ST_TRY(join_pops(m, self->pops, m->nodes[at].pops, &self->pops));
        at = m->nodes[at].fail;
    }
    self->fail = next;
    return ST_OK;
}

static st_status link_all(st_matcher *m)
{
    uint64_t *sorted;
    ST_TRY(st_trie_edges_by_depth(&m->trie, &sorted));
    st_status status = ST_OK;
    for (size_t i = 0; i + 1 < m->trie.count && !status; i++) {
        status = link_child(m, sorted[i]);
        if (!status)
            status = st_go_on(NODE_COSTS);
    }
    /* What has no children is a token, and leaves at once. */
    uint8_t *has_children = status ? NULL : st_calloc(m->trie.count, 1);
    if (!has_children && !status)
        status = ST_NO_MEMORY;
    for (size_t i = 0; i + 1 < m->trie.count && !status; i++)
        has_children[st_edge_parent(sorted[i])] = 1;
    for (size_t node = 1; node < m->trie.count && !status; node++)
        if (!has_children[node])
            m->nodes[node].fail = ST_MATCH_ENDS;
    st_free(has_children);
    st_free(sorted);
    return status;
}

static st_status build(st_matcher *m, const st_vocab *vocab)
{
    ST_TRY(st_trie_build(&m->trie, vocab));
    m->nodes = st_calloc(m->trie.count, sizeof *m->nodes);
    if (!m->nodes)
        return ST_NO_MEMORY;
    ST_TRY(reserve_pops(m, m->trie.count));
    m->pops[m->pop_count++] = (st_pop){ST_NONE, 0, 0}; /* number 0: no pops */
    ST_TRY(link_all(m));
    m->depths = m->trie.depths;
    m->trie.depths = NULL;
    st_trie_trim(&m->trie);
    return ST_OK;
}

static void release(st_attached *attached)
{
    st_matcher *m = (st_matcher *)attached; /* its first member */
    st_trie_free(&m->trie);
    st_free(m->nodes);
    st_free(m->depths);
    st_free(m->pops);
    st_free(m);
}

const st_matcher *st_vocab_matcher(st_vocab *vocab)
{
    st_matcher *m = st_acquire((void **)&vocab->matcher);
    if (m)
        return m;
    m = st_calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->attached.release = release;
    if (build(m, vocab)) {
        release(&m->attached);
        return NULL;
    }
    return st_attach(&vocab->matcher, &m->attached);
}

/* ---- matching ---- */

/* Writes the tokens of a list of pops and returns the place behind them. */
static inline uint32_t *put_pops(const st_matcher *m, uint32_t last, uint32_t *to)
{
    const st_pop *pop = &m->pops[last];
    uint32_t *end = to + pop->count;
    for (uint32_t *at = end; at > to; pop = &m->pops[pop->before])
        *--at = pop->token;
    return end;
}

/* One more byte: writes the tokens that it makes certain. At the root every byte goes on. */
static inline uint32_t *step(const st_matcher *m, uint32_t *node, uint8_t byte, uint32_t *to)
{
    uint32_t at = *node, next;
    while (!(next = st_trie_child(&m->trie, at, byte))) {
        to = put_pops(m, m->nodes[at].pops, to);
        at = m->nodes[at].fail & ~ST_MATCH_ENDS;
    }
    if (m->nodes[next].fail & ST_MATCH_ENDS) {
        *to++ = m->pops[m->nodes[next].pops].token;
        next = 0;
    }
    *node = next;
    return to;
}

static inline uint32_t *finish(const st_matcher *m, uint32_t node, uint32_t *to)
{
    for (; node; node = m->nodes[node].fail & ~ST_MATCH_ENDS)
        to = put_pops(m, m->nodes[node].pops, to);
    return to;
}

size_t st_matcher_word(const st_matcher *m, const uint8_t *text, size_t n, uint32_t *tokens)
{
    uint32_t node = 0, *to = tokens;
    for (size_t i = 0; i < n; i++)
        to = step(m, &node, text[i], to);
    return (size_t)(finish(m, node, to) - tokens);
}

static void to_ids(const st_vocab *v, uint32_t *tokens, const uint32_t *end)
{
    for (; tokens < end && !v->identity; tokens++)
        *tokens = v->ids[*tokens];
}

/* Bytes of text between two calls of st_go_on. */
#define STEP ((size_t)1 << 14)

st_status st_matcher_feed(const st_matcher *m, const st_vocab *v, uint32_t *node, const uint8_t *text, size_t n, st_ids *out)
{
    for (size_t at = 0, end; at < n; at = end) {
        end = n - at < STEP ? n : at + STEP;
        ST_TRY(st_ids_reserve(out, end - at + v->max_length)); /* no more tokens than bytes, those that were pending included */
        uint32_t *first = out->data + out->size, *to = first;
        for (; at < end; at++)
            to = step(m, node, text[at], to);
        to_ids(v, first, to);
        out->size += (size_t)(to - first);
        if (end < n)
            ST_TRY(st_go_on(STEP));
    }
    return ST_OK;
}

st_status st_matcher_finish(const st_matcher *m, const st_vocab *v, uint32_t node, st_ids *out)
{
    ST_TRY(st_ids_reserve(out, v->max_length));
    uint32_t *first = out->data + out->size;
    const uint32_t *end = finish(m, node, first);
    to_ids(v, first, end);
    out->size += (size_t)(end - first);
    return ST_OK;
}

st_status st_longest_reference(const st_vocab *v, const uint8_t *text, size_t n, st_ids *out)
{
    for (size_t at = 0, size; at < n; at += size) {
        uint32_t token = ST_NONE;
        for (size = n - at < v->max_length ? n - at : v->max_length; token == ST_NONE; size--)
            token = st_vocab_find(v, text + at, size); /* the single bytes are tokens */
        size++;
        ST_TRY(st_ids_reserve(out, 1));
        out->data[out->size++] = v->ids[token];
        ST_TRY(st_go_on(v->max_length));
    }
    return ST_OK;
}
