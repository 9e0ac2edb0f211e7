/* From a trie to the double array, with failure links and pops. */
#include <string.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "base/interrupt.h"
#include "longest/matcher.h"

/* Work of placing or linking a node, in the unit of st_go_on (base/interrupt.h). */
#define NODE_COSTS 32

/* ---- places ---- */

/* The edges of a node, and its base, lie in one block of 256 places. */
#define BLOCK 256

/* Nodes with several children look for places in so many of the last blocks, those with one child fill what is left. */
#define BLOCKS_TRIED 12

typedef struct places {
    st_matcher *matcher;
    const st_trie *trie;
    uint64_t *children; /* edges, those of one parent side by side */
    uint32_t *starts;   /* by node of the trie: its first child in `children`; one more than nodes */
    uint32_t *base_of;  /* by node of the trie, if it has children */
    uint64_t *taken;    /* a bit a place: an edge lies there */
    uint64_t *used;     /* a bit a place: it is the base of a node */
    uint32_t *order;    /* nodes of the trie, but the roots, as they were placed */
    size_t ordered;
    st_ids several; /* tokens of pops */
    size_t capacity, first_open; /* of places; all in front of the block `first_open` are taken */
} places;

static int is_set(const uint64_t *bits, size_t place)
{
    return (int)(bits[place / 64] >> place % 64 & 1);
}

static void set(uint64_t *bits, size_t place)
{
    bits[place / 64] |= UINT64_C(1) << place % 64;
}

static st_status resize_places(places *p, size_t capacity)
{
    st_matcher *m = p->matcher;
    st_match_edge *edges = capacity >= ST_MATCH_STUCK ? NULL : st_realloc(m->edges, capacity * sizeof *edges);
    m->edges = edges ? edges : m->edges;
    st_match_fail *fails = edges ? st_realloc(m->fails, capacity * sizeof *fails) : NULL;
    m->fails = fails ? fails : m->fails;
    uint64_t *taken = fails ? st_realloc(p->taken, capacity / 8) : NULL;
    p->taken = taken ? taken : p->taken;
    uint64_t *used = taken ? st_realloc(p->used, capacity / 8) : NULL;
    p->used = used ? used : p->used;
    p->capacity = used ? capacity : p->capacity;
    return used ? ST_OK : ST_NO_MEMORY;
}

static st_status add_block(places *p)
{
    st_matcher *m = p->matcher;
    if (m->count == p->capacity)
        ST_TRY(resize_places(p, (p->capacity / BLOCK + p->capacity / BLOCK / 2 + 16) * BLOCK));
    for (size_t place = m->count; place < m->count + BLOCK; place++) {
        m->edges[place] = (st_match_edge){ST_NONE, 0};
        m->fails[place] = (st_match_fail){ST_MATCH_STUCK, 0};
    }
    memset(p->taken + m->count / 64, 0, BLOCK / 8);
    memset(p->used + m->count / 64, 0, BLOCK / 8);
    m->count += BLOCK;
    return ST_OK;
}

static int fits(const places *p, const uint64_t *edges, size_t count, size_t base)
{
    for (size_t i = 0; i < count; i++)
        if (is_set(p->taken, base ^ st_edge_byte(edges[i])))
            return 0;
    return 1;
}

/* A base in the block that no node has, and at which all edges find a free place; SIZE_MAX if there is none. */
static size_t base_in(const places *p, const uint64_t *edges, size_t count, size_t block)
{
    for (size_t i = 0; i < BLOCK / 64; i++)
        for (uint64_t free = ~p->taken[block * (BLOCK / 64) + i]; free; free &= free - 1) {
            const size_t base = (block * BLOCK + 64 * i + st_first_bit(free)) ^ st_edge_byte(edges[0]);
            if (!is_set(p->used, base) && fits(p, edges + 1, count - 1, base))
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

static size_t count_children(const places *p, uint32_t node)
{
    return p->starts[node + 1] - p->starts[node];
}

/* Where the edge of the trie lies; its parent has a base. */
static st_match_edge *edge_of(const places *p, uint64_t edge)
{
    return &p->matcher->edges[p->base_of[st_edge_parent(edge)] ^ st_edge_byte(edge)];
}

/* Gives a node of the trie its base, and its edges their places. */
static void place_at(places *p, uint32_t node, uint32_t base)
{
    p->base_of[node] = base;
    set(p->used, base);
    for (size_t i = p->starts[node]; i < p->starts[node + 1]; i++) {
        edge_of(p, p->children[i])->parent = base;
        set(p->taken, base ^ st_edge_byte(p->children[i]));
    }
}

/* Places a node of the trie, unless it has no children, and links the edge to it. */
static st_status place(places *p, uint64_t edge)
{
    const uint32_t node = st_edge_child(edge);
    const size_t count = count_children(p, node);
    size_t base = ST_MATCH_ENDS | p->trie->tokens[node];
    if (count) {
        ST_TRY(find_base(p, p->children + p->starts[node], count, &base));
        place_at(p, node, (uint32_t)base);
        p->order[p->ordered++] = node;
    }
    edge_of(p, edge)->child = (uint32_t)base;
    return st_go_on(NODE_COSTS * (count + 1));
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

/* Places the node of an edge, and all below it: each branch lies side by side, as far as there is room. stack: room for all edges. */
static st_status place_below(places *p, uint64_t edge, uint64_t *stack)
{
    size_t depth = 0;
    stack[depth++] = edge;
    while (depth) {
        edge = stack[--depth];
        ST_TRY(place(p, edge));
        const uint32_t node = st_edge_child(edge);
        for (size_t i = p->starts[node + 1]; i > p->starts[node]; i--)
            stack[depth++] = p->children[i - 1];
    }
    return ST_OK;
}

/* Nodes of fewer bytes are placed breadth first: most texts pass them, so they lie side by side. */
#define BROAD 3

/* The bases of the roots are the first places of blocks. */
static st_status place_all(places *p, const uint64_t *sorted, size_t edges, uint64_t *stack)
{
    group_children(p, sorted, edges);
    for (uint32_t root = 0; root < p->trie->roots; root++) {
        ST_TRY(add_block(p));
        place_at(p, root, BLOCK * root);
    }
    for (size_t i = 0; i < edges; i++) {
        const uint16_t depth = p->trie->depths[st_edge_child(sorted[i])];
        if (depth < BROAD)
            ST_TRY(place(p, sorted[i]));
        else if (depth == BROAD)
            ST_TRY(place_below(p, sorted[i], stack));
    }
    return ST_OK;
}

/* ---- links ---- */

/* A further st_pops, with the first n tokens of `from` if that is not NULL. Its number is the last one. */
static st_status add_pops(st_matcher *m, const st_pops *from, uint32_t n)
{
    st_pops added = {0, 0, n, {0}};
    if (from) {
        added = *from;
        added.used = n;
    }
    if (m->pops_count == m->pops_capacity) {
        const size_t capacity = m->pops_capacity + m->pops_capacity / 2 + 64;
        st_pops *pops = capacity > ST_MATCH_SEVERAL >> ST_POPS_BITS ? NULL : st_realloc(m->pops, capacity * sizeof *pops);
        if (!pops)
            return ST_NO_MEMORY;
        m->pops = pops;
        m->pops_capacity = capacity;
    }
    m->pops[m->pops_count++] = added;
    return ST_OK;
}

/* Where the next token goes of a list that is n tokens of an st_pops, the last of its list: to *number, in place of *n tokens. */
static st_status room_for(st_matcher *m, uint32_t token, uint32_t *number, uint32_t *n)
{
    const st_pops *last = &m->pops[*number];
    if (*n < ST_POPS_TOKENS && (last->used == *n || last->tokens[*n] == token))
        return ST_OK;
    if (*n < ST_POPS_TOKENS) {
        ST_TRY(add_pops(m, last, *n));
    } else {
        const st_pops next = {*number, last->count + ST_POPS_TOKENS, 0, {0}};
        ST_TRY(add_pops(m, &next, 0));
        *n = 0;
    }
    *number = (uint32_t)m->pops_count - 1;
    return ST_OK;
}

/* Puts a token behind *pops. */
static st_status append_pop(st_matcher *m, uint32_t *pops, uint32_t token)
{
    uint32_t number = (*pops & ~ST_MATCH_SEVERAL) >> ST_POPS_BITS, n = *pops & ((1u << ST_POPS_BITS) - 1);
    if (!(*pops & ST_MATCH_SEVERAL)) {
        ST_TRY(add_pops(m, NULL, 1));
        number = (uint32_t)m->pops_count - 1;
        m->pops[number].tokens[0] = *pops;
        n = 1;
    }
    ST_TRY(room_for(m, token, &number, &n));
    st_pops *last = &m->pops[number];
    last->tokens[n++] = token;
    last->used = n > last->used ? n : last->used;
    *pops = ST_MATCH_SEVERAL | number << ST_POPS_BITS | n;
    return ST_OK;
}

/* Puts the tokens of `second` behind *pops. */
static st_status join_pops(places *p, uint32_t *pops, uint32_t second)
{
    st_matcher *m = p->matcher;
    p->several.size = 0;
    ST_TRY(st_ids_reserve(&p->several, ST_MAX_TOKEN_BYTES)); /* they are of a part of a token */
    const uint32_t *end = st_match_put(m, second, p->several.data);
    for (const uint32_t *token = p->several.data; token < end; token++)
        ST_TRY(append_pop(m, pops, *token));
    return ST_OK;
}

/* Links the child of an edge, which has children; its parent and all shorter strings are linked. A token pops itself. Else the parent's
 * pops come first, and those of the nodes on its chain of failure links, until one goes on with the byte. If it goes on to a token that
 * none goes on with, that is popped, too. Where none goes on, the word is not covered. */
static st_status link_child(places *p, uint64_t edge)
{
    st_matcher *m = p->matcher;
    const uint32_t token = p->trie->tokens[st_edge_child(edge)];
    st_match_fail *self = &m->fails[p->base_of[st_edge_child(edge)]];
    const st_match_fail *parent = &m->fails[p->base_of[st_edge_parent(edge)]];
    uint32_t at = parent->link, next = 0;
    if (token != ST_NONE) {
        *self = (st_match_fail){m->inside, token};
        return ST_OK;
    }
    self->pops = parent->pops;
    while (at != ST_MATCH_STUCK && !(next = st_match_child(m, at, st_edge_byte(edge)))) {
        if (m->fails[at].link != ST_MATCH_STUCK)
            ST_TRY(join_pops(p, &self->pops, m->fails[at].pops));
        at = m->fails[at].link;
    }
    self->link = next ? next : ST_MATCH_STUCK;
    if (next & ST_MATCH_ENDS) {
        ST_TRY(append_pop(m, &self->pops, next & ~ST_MATCH_ENDS));
        self->link = m->inside;
    }
    return ST_OK;
}

static st_status link_all(places *p, const uint64_t *sorted, size_t edges)
{
    for (size_t i = 0; i < edges; i++) {
        if (count_children(p, st_edge_child(sorted[i])))
            ST_TRY(link_child(p, sorted[i]));
        ST_TRY(st_go_on(NODE_COSTS));
    }
    return ST_OK;
}

/* ---- all of it ---- */

static st_status take_depths(const places *p)
{
    st_matcher *m = p->matcher;
    m->depths = p->trie->roots > 1 ? NULL : st_calloc(m->count, sizeof *m->depths);
    if (p->trie->roots > 1)
        return ST_OK;
    for (size_t i = 0; m->depths && i < p->ordered; i++)
        m->depths[p->base_of[p->order[i]]] = p->trie->depths[p->order[i]];
    return m->depths ? ST_OK : ST_NO_MEMORY;
}

/* Moves an array to memory of its size, in large pages where the system has them: a step goes anywhere in it. */
static void *settled(void *array, size_t size)
{
    void *moved = st_alloc_table(size);
    if (moved) {
        memcpy(moved, array, size);
        st_free(array);
    }
    return moved;
}

static st_status settle(st_matcher *m)
{
    st_match_edge *edges = settled(m->edges, m->count * sizeof *edges);
    m->edges = edges ? edges : m->edges;
    st_match_fail *fails = edges ? settled(m->fails, m->count * sizeof *fails) : NULL;
    m->fails = fails ? fails : m->fails;
    st_pops *pops = fails && m->pops_count ? settled(m->pops, m->pops_count * sizeof *pops) : NULL;
    m->pops = pops ? pops : m->pops;
    return fails && (pops || !m->pops_count) ? ST_OK : ST_NO_MEMORY;
}

static st_status place_and_link(places *p)
{
    const st_trie *trie = p->trie;
    const size_t edges = trie->count - trie->roots;
    uint64_t *sorted = NULL;
    ST_TRY(st_trie_edges_by_depth(trie, &sorted));
    uint64_t *stack = st_malloc((edges + 1) * sizeof *stack);
    p->children = st_malloc((edges + 1) * sizeof *p->children);
    p->starts = st_malloc((trie->count + 2) * sizeof *p->starts);
    p->base_of = st_malloc(trie->count * sizeof *p->base_of);
    p->order = st_malloc((edges + 1) * sizeof *p->order);
    st_status status = stack && p->children && p->starts && p->base_of && p->order ? ST_OK : ST_NO_MEMORY;
    if (!status)
        status = place_all(p, sorted, edges, stack);
    if (!status)
        status = link_all(p, sorted, edges);
    if (!status)
        status = take_depths(p);
    if (!status)
        status = settle(p->matcher);
    st_free(stack);
    st_free(sorted);
    st_free(p->children);
    st_free(p->starts);
    st_free(p->base_of);
    st_free(p->order);
    st_free(p->taken);
    st_free(p->used);
    st_ids_free(&p->several);
    return status;
}

static st_status build_by(st_attached *made, const st_vocab *vocab, const st_wordpiece *rule)
{
    st_matcher *matcher = (st_matcher *)made; /* its first member */
    st_trie trie;
    ST_TRY(st_trie_build(&trie, vocab, rule));
    places p = {.matcher = matcher, .trie = &trie};
    matcher->rule = rule;
    matcher->inside = rule ? BLOCK * ST_TRIE_INSIDE : 0;
    const st_status status = place_and_link(&p);
    st_trie_free(&trie);
    return status;
}

static st_status build(st_attached *made, const st_vocab *vocab)
{
    return build_by(made, vocab, NULL);
}

static st_status build_for_words(st_attached *made, const st_vocab *vocab)
{
    return build_by(made, vocab, st_wordpiece_of(vocab));
}

static void release(st_attached *attached)
{
    st_matcher *m = (st_matcher *)attached;
    st_free(m->edges);
    st_free(m->fails);
    st_free(m->depths);
    st_free(m->pops);
    st_free(m);
}

const st_matcher *st_vocab_matcher(st_vocab *vocab)
{
    static const st_attached_kind kind = {sizeof(st_matcher), build, release};
    return st_attached_at(&vocab->machine, &kind, vocab);
}

const st_matcher *st_vocab_word_matcher(st_vocab *vocab)
{
    static const st_attached_kind kind = {sizeof(st_matcher), build_for_words, release};
    return st_attached_at(&vocab->machine, &kind, vocab);
}
