/* From a trie to the double array, with failure links and pops. */
#include <string.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "base/interrupt.h"
#include "longest/matcher.h"

/* Work of placing or linking a node, in the unit of st_go_on (base/interrupt.h). */
#define NODE_COSTS 32

/* ---- places ---- */

/* The children of a node lie in one block of 256 places, at base ^ byte. */
#define BLOCK 256

/* Nodes with several children look for places in so many of the last blocks, those with one child fill what is left. */
#define BLOCKS_TRIED 12

typedef struct places {
    st_matcher *matcher;
    const st_trie *trie;
    uint64_t *children; /* edges, those of one parent side by side */
    uint32_t *starts;   /* by node of the trie: its first child in `children`; one more than nodes */
    uint32_t *place_of; /* by node of the trie */
    uint64_t *taken;    /* a bit a place */
    uint32_t *order;    /* nodes of the trie, but the roots, as they were placed */
    size_t ordered;
    size_t capacity, first_open; /* of places; all in front of the block `first_open` are taken */
} places;

static int is_taken(const places *p, size_t place)
{
    return (int)(p->taken[place / 64] >> place % 64 & 1);
}

static st_status add_block(places *p)
{
    st_matcher *m = p->matcher;
    if (m->count == p->capacity) {
        const size_t capacity = (p->capacity / BLOCK + p->capacity / BLOCK / 2 + 16) * BLOCK;
        st_match_node *nodes = capacity > ST_MATCH_LINK ? NULL : st_realloc(m->nodes, capacity * sizeof *nodes);
        if (!nodes)
            return ST_NO_MEMORY;
        m->nodes = nodes;
        uint64_t *taken = st_realloc(p->taken, capacity / 8);
        if (!taken)
            return ST_NO_MEMORY;
        p->taken = taken;
        p->capacity = capacity;
    }
    for (size_t place = m->count; place < m->count + BLOCK; place++)
        m->nodes[place] = (st_match_node){0, ST_NONE, 0, 0};
    memset(p->taken + m->count / 64, 0, BLOCK / 8);
    m->count += BLOCK;
    return ST_OK;
}

static int fits(const places *p, const uint64_t *edges, size_t count, size_t base)
{
    for (size_t i = 0; i < count; i++)
        if (is_taken(p, base ^ st_edge_byte(edges[i])))
            return 0;
    return 1;
}

/* A base in the block at which all the children find a free place, SIZE_MAX if there is none. */
static size_t base_in(const places *p, const uint64_t *edges, size_t count, size_t block)
{
    for (size_t i = 0; i < BLOCK / 64; i++)
        for (uint64_t free = ~p->taken[block * (BLOCK / 64) + i]; free; free &= free - 1) {
            const size_t base = (block * BLOCK + 64 * i + st_first_bit(free)) ^ st_edge_byte(edges[0]);
            if (fits(p, edges + 1, count - 1, base))
                return base;
        }
    return SIZE_MAX;
}

static st_status find_base(places *p, const uint64_t *edges, size_t count, size_t *base)
{
    const size_t blocks = p->matcher->count / BLOCK, tried = blocks < BLOCKS_TRIED ? blocks : BLOCKS_TRIED;
    *base = SIZE_MAX;
    while (count == 1 && p->first_open < blocks && *base == SIZE_MAX) {
        *base = base_in(p, edges, 1, p->first_open);
        p->first_open += *base == SIZE_MAX;
    }
    for (size_t i = 0; count > 1 && i < tried && *base == SIZE_MAX; i++)
        *base = base_in(p, edges, count, blocks - tried + i);
    if (*base != SIZE_MAX)
        return ST_OK;
    ST_TRY(add_block(p));
    *base = base_in(p, edges, count, blocks);
    return ST_OK;
}

/* Gives the children of a node of the trie their places. */
static st_status place_children(places *p, uint32_t node)
{
    const uint64_t *edges = p->children + p->starts[node];
    const size_t count = p->starts[node + 1] - p->starts[node];
    const uint32_t parent = p->place_of[node];
    size_t base;
    if (!count)
        return ST_OK;
    ST_TRY(find_base(p, edges, count, &base));
    p->matcher->nodes[parent].base = (uint32_t)base;
    for (size_t i = 0; i < count; i++) {
        const size_t place = base ^ st_edge_byte(edges[i]);
        p->taken[place / 64] |= UINT64_C(1) << place % 64;
        p->matcher->nodes[place].parent = parent;
        p->place_of[st_edge_child(edges[i])] = (uint32_t)place;
    }
    return st_go_on(NODE_COSTS * count);
}

/* Sorts the edges by their parents, by counting. */
static void group_children(places *p, const uint64_t *sorted, size_t edges)
{
    const size_t nodes = p->trie->count;
    memset(p->starts, 0, (nodes + 1) * sizeof *p->starts);
    for (size_t i = 0; i < edges; i++)
        p->starts[st_edge_parent(sorted[i]) + 1]++;
    for (size_t node = 0; node < nodes; node++)
        p->starts[node + 1] += p->starts[node];
    for (size_t i = edges; i > 0; i--) /* starts[k + 1] goes down to where the children of node k begin */
        p->children[--p->starts[st_edge_parent(sorted[i - 1]) + 1]] = sorted[i - 1];
    memmove(p->starts, p->starts + 1, nodes * sizeof *p->starts);
    p->starts[nodes] = (uint32_t)edges;
}

/* Places a node's children, and all below them: each branch lies side by side, as far as there is room. stack: room for all nodes. */
static st_status place_below(places *p, uint32_t node, uint32_t *stack)
{
    size_t depth = 0;
    stack[depth++] = node;
    while (depth) {
        node = stack[--depth];
        p->order[p->ordered++] = node;
        ST_TRY(place_children(p, node));
        for (size_t i = p->starts[node + 1]; i > p->starts[node]; i--)
            stack[depth++] = st_edge_child(p->children[i - 1]);
    }
    return ST_OK;
}

/* Nodes of fewer bytes are placed breadth first: most texts pass them, so they lie side by side. */
#define BROAD 3

/* The roots are the first places of a block of their own. */
static st_status place_all(places *p, const uint64_t *sorted, size_t edges, uint32_t *stack)
{
    const size_t roots = p->trie->roots;
    group_children(p, sorted, edges);
    ST_TRY(add_block(p));
    for (uint32_t root = 0; root < roots; root++) {
        p->place_of[root] = root;
        p->matcher->nodes[root].parent = root;
        p->taken[0] |= UINT64_C(1) << root;
    }
    for (uint32_t root = 0; root < roots; root++)
        ST_TRY(place_children(p, root));
    for (size_t i = 0; i < edges; i++) {
        const uint32_t node = st_edge_child(sorted[i]);
        if (p->trie->depths[node] == BROAD)
            ST_TRY(place_below(p, node, stack));
        if (p->trie->depths[node] >= BROAD)
            continue;
        p->order[p->ordered++] = node;
        ST_TRY(place_children(p, node));
    }
    return ST_OK;
}

/* ---- links ---- */

/* Room for so many more pops. */
static st_status reserve_pops(st_matcher *m, size_t more)
{
    if (m->pop_count + more <= m->pop_capacity)
        return ST_OK;
    const size_t capacity = m->pop_capacity + m->pop_capacity / 2 + more + 1024;
    st_pop *pops = capacity >= ST_MATCH_SEVERAL ? NULL : st_realloc(m->pops, capacity * sizeof *pops);
    if (!pops)
        return ST_NO_MEMORY;
    m->pops = pops;
    m->pop_capacity = capacity;
    return ST_OK;
}

/* The number of a list, which a list of one gets here. */
static st_status list_of(st_matcher *m, uint32_t pops, uint32_t *number)
{
    *number = pops & ~ST_MATCH_SEVERAL;
    if (pops & ST_MATCH_SEVERAL)
        return ST_OK;
    ST_TRY(reserve_pops(m, 1));
    m->pops[m->pop_count] = (st_pop){pops, 0, 1};
    *number = (uint32_t)m->pop_count++;
    return ST_OK;
}

/* The list *pops with the list `second` behind it. */
static st_status join_pops(st_matcher *m, uint32_t *pops, uint32_t second)
{
    uint32_t first;
    ST_TRY(list_of(m, *pops, &first));
    ST_TRY(list_of(m, second, &second));
    const uint32_t count = m->pops[second].count, start = (uint32_t)m->pop_count;
    ST_TRY(reserve_pops(m, count));
    for (uint32_t i = count; i > 0; i--, second = m->pops[second].before)
        m->pops[start + i - 1] = (st_pop){m->pops[second].token, i > 1 ? start + i - 2 : first, m->pops[first].count + i};
    m->pop_count += count;
    *pops = (start + count - 1) | ST_MATCH_SEVERAL;
    return ST_OK;
}

/* Links the child of an edge; its parent and all shorter strings are linked. A token pops itself. Else the parent's pops come first,
 * and those of the nodes on its chain of failure links, until one goes on with the byte. Where none does, the word is not covered. */
static st_status link_child(const places *p, uint64_t edge)
{
    st_matcher *m = p->matcher;
    const uint32_t node = st_edge_child(edge), token = p->trie->tokens[node];
    const int has_children = p->starts[node] < p->starts[node + 1];
    st_match_node *self = &m->nodes[p->place_of[node]];
    const st_match_node *parent = &m->nodes[p->place_of[st_edge_parent(edge)]];
    uint32_t at = parent->fail, next = 0;
    if (token != ST_NONE) {
        self->fail = m->inside | (has_children ? 0 : ST_MATCH_ENDS);
        self->pops = token;
        return ST_OK;
    }
    self->pops = parent->pops;
    while (!(at & ST_MATCH_STUCK) && !(next = st_match_child(m, at, st_edge_byte(edge)))) {
        if (m->nodes[at].fail & ST_MATCH_STUCK)
            break;
        ST_TRY(join_pops(m, &self->pops, m->nodes[at].pops));
        at = m->nodes[at].fail & ST_MATCH_LINK;
    }
    self->fail = next ? next : ST_MATCH_STUCK;
    return ST_OK;
}

static st_status link_all(const places *p, const uint64_t *sorted, size_t edges)
{
    st_matcher *m = p->matcher;
    ST_TRY(reserve_pops(m, 1));
    m->pops[m->pop_count++] = (st_pop){ST_NONE, 0, 0}; /* number 0: no pops */
    for (size_t root = 0; root < p->trie->roots; root++)
        m->nodes[root].fail = ST_MATCH_STUCK;
    for (size_t i = 0; i < edges; i++) {
        ST_TRY(link_child(p, sorted[i]));
        ST_TRY(st_go_on(NODE_COSTS));
    }
    return ST_OK;
}

/* Gives the pops of a node new numbers, unless they have some: from the end of its list on. */
static void move_pops(const st_matcher *m, st_pop *moved, uint32_t *new_number, uint32_t *count, uint32_t last)
{
    uint32_t fresh = 0;
    for (uint32_t pop = last; pop && !new_number[pop]; pop = m->pops[pop].before)
        fresh++;
    *count += fresh;
    for (uint32_t pop = last, to = *count; pop && !new_number[pop]; pop = m->pops[pop].before) {
        new_number[pop] = --to;
        moved[to] = m->pops[pop];
    }
}

/* Lists of a branch of the trie, which share their beginnings, come to lie side by side, in the order of their pops. */
static st_status order_pops(const places *p)
{
    st_matcher *m = p->matcher;
    uint32_t *new_number = st_calloc(m->pop_count, sizeof *new_number), count = 1;
    st_pop *moved = st_malloc(m->pop_count * sizeof *moved);
    if (!new_number || !moved) {
        st_free(new_number);
        st_free(moved);
        return ST_NO_MEMORY;
    }
    moved[0] = m->pops[0];
    for (size_t i = 0; i < p->ordered; i++) {
        st_match_node *node = &m->nodes[p->place_of[p->order[i]]];
        const uint32_t last = node->pops & ~ST_MATCH_SEVERAL;
        if (!(node->pops & ST_MATCH_SEVERAL))
            continue;
        move_pops(m, moved, new_number, &count, last);
        node->pops = new_number[last] | ST_MATCH_SEVERAL;
    }
    for (uint32_t pop = 1; pop < count; pop++)
        moved[pop].before = new_number[moved[pop].before];
    st_free(m->pops);
    st_free(new_number);
    m->pops = moved;
    m->pop_count = m->pop_capacity = count;
    return ST_OK;
}

/* ---- all of it ---- */

static st_status take_depths(const places *p)
{
    st_matcher *m = p->matcher;
    m->depths = p->trie->roots > 1 ? NULL : st_calloc(m->count, sizeof *m->depths);
    if (p->trie->roots > 1)
        return ST_OK;
    for (size_t node = 0; m->depths && node < p->trie->count; node++)
        m->depths[p->place_of[node]] = p->trie->depths[node];
    return m->depths ? ST_OK : ST_NO_MEMORY;
}

/* Moves the nodes to memory of their size, in large pages where the system has them: a step goes anywhere in them. */
static st_status settle(st_matcher *m)
{
    st_match_node *nodes = st_alloc_table(m->count * sizeof *nodes);
    if (!nodes)
        return ST_NO_MEMORY;
    memcpy(nodes, m->nodes, m->count * sizeof *nodes);
    st_free(m->nodes);
    m->nodes = nodes;
    return ST_OK;
}

static st_status place_and_link(places *p)
{
    const st_trie *trie = p->trie;
    const size_t edges = trie->count - trie->roots;
    uint64_t *sorted = NULL;
    ST_TRY(st_trie_edges_by_depth(trie, &sorted));
    uint32_t *stack = st_malloc((edges + 1) * sizeof *stack);
    p->children = st_malloc((edges + 1) * sizeof *p->children);
    p->starts = st_malloc((trie->count + 2) * sizeof *p->starts);
    p->place_of = st_malloc(trie->count * sizeof *p->place_of);
    p->order = st_malloc((edges + 1) * sizeof *p->order);
    st_status status = stack && p->children && p->starts && p->place_of && p->order ? ST_OK : ST_NO_MEMORY;
    if (!status)
        status = place_all(p, sorted, edges, stack);
    if (!status)
        status = link_all(p, sorted, edges);
    if (!status)
        status = order_pops(p);
    if (!status)
        status = take_depths(p);
    if (!status)
        status = settle(p->matcher);
    st_free(stack);
    st_free(sorted);
    st_free(p->children);
    st_free(p->starts);
    st_free(p->place_of);
    st_free(p->order);
    st_free(p->taken);
    return status;
}

st_status st_matcher_build(st_matcher *matcher, const st_vocab *vocab)
{
    st_trie trie;
    ST_TRY(st_trie_build(&trie, vocab));
    places p = {.matcher = matcher, .trie = &trie};
    matcher->inside = vocab->wordpiece.on ? ST_TRIE_INSIDE : 0;
    const st_status status = place_and_link(&p);
    st_trie_free(&trie);
    return status;
}

void st_matcher_free(st_matcher *m)
{
    st_free(m->nodes);
    st_free(m->depths);
    st_free(m->pops);
}
