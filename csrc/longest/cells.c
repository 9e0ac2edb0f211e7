#include "longest/cells.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "longest/trie.h"

/* Free cells at which the first child of a node is tried, and cells that are looked at for that. A node for which none of them will
 * do goes to the end. Most nodes have one child, which fits nearly everywhere. */
#define MOST_TRIES 64
#define MOST_LOOKS 1024

/* Nodes whose cells may fit: twice as many as there are bases for. */
#define MOST_NODES (2 * (size_t)ST_MOST_CELLS)

/* Work of placing a node, in the unit of st_go_on (base/interrupt.h). */
#define NODE_COSTS 64

typedef struct layout {
    st_cell *cells;
    uint8_t *is_base; /* by cell: is it the base of a node? */
    size_t count, capacity;
    size_t from[2]; /* where free cells are looked for: for one child, and for several */
} layout;

static st_status make_room(layout *l, size_t count)
{
    if (count > l->capacity) {
        const size_t capacity = count + count / 2;
        st_cell *cells = st_realloc(l->cells, capacity * sizeof *cells);
        if (cells)
            l->cells = cells;
        uint8_t *is_base = cells ? st_realloc(l->is_base, capacity) : NULL;
        if (!is_base)
            return ST_NO_MEMORY;
        l->is_base = is_base;
        for (size_t i = l->capacity; i < capacity; i++)
            cells[i] = ST_CELL_FREE;
        memset(is_base + l->capacity, 0, capacity - l->capacity);
        l->capacity = capacity;
    }
    if (count > l->count)
        l->count = count;
    return ST_OK;
}

static int is_taken(const layout *l, size_t at)
{
    return at < l->count && l->cells[at] != ST_CELL_FREE;
}

/* Have the children of a node room there? edges: those to its children, ascending by byte. */
static int fits(const layout *l, size_t base, const uint64_t *edges, size_t n)
{
    if (base < ST_CELL_PAIRS || (base < l->count && l->is_base[base]))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (is_taken(l, base + st_edge_byte(edges[i])))
            return 0;
    return 1;
}

/* A base for the children of a node. Where it finds none among the cells that it looks at, later nodes are tried behind these. */
static size_t find_base(layout *l, const uint64_t *edges, size_t n)
{
    const size_t byte = st_edge_byte(edges[0]);
    size_t *from = &l->from[n > 1];
    while (*from < l->count && is_taken(l, *from))
        ++*from;
    size_t at = *from > ST_CELL_PAIRS + byte ? *from : ST_CELL_PAIRS + byte, tries = MOST_TRIES;
    for (const size_t end = at + MOST_LOOKS; at < l->count && at < end && tries; at++) {
        if (is_taken(l, at))
            continue;
        if (fits(l, at - byte, edges, n))
            return at - byte;
        tries--;
    }
    if (at > *from + byte)
        *from = at - byte;
    size_t base = l->count;
    while (!fits(l, base, edges, n))
        base++;
    return base;
}

static int is_in_utf8(uint8_t byte)
{
    return byte < 0xF5 && byte != 0xC0 && byte != 0xC1;
}

static void sort_few(uint64_t *numbers, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const uint64_t number = numbers[i];
        size_t at = i;
        for (; at && numbers[at - 1] > number; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
}

/* The edges to nodes of two bytes or more, by parent: those of a node are sorted[first[node] .. first[node + 1]), ascending by byte. */
static st_status sort_edges(const st_trie *trie, uint64_t **sorted, size_t **first)
{
    size_t *place = st_calloc(trie->count + 2, sizeof *place);
    uint64_t *to = st_malloc(trie->count * sizeof *to);
    *sorted = to;
    *first = place;
    if (!place || !to)
        return ST_NO_MEMORY;
    for (uint64_t at = 0; at <= trie->edge_mask; at++)
        if (trie->edges[at] != UINT64_MAX)
            place[st_edge_parent(trie->edges[at]) + 2]++;
    for (size_t node = 2; node < trie->count + 2; node++)
        place[node] += place[node - 1];
    for (uint64_t at = 0; at <= trie->edge_mask; at++) {
        const uint64_t edge = trie->edges[at];
        if (edge != UINT64_MAX)
            to[place[st_edge_parent(edge) + 1]++] = edge;
    }
    for (size_t node = 1; node < trie->count; node++)
        sort_few(to + place[node], place[node + 1] - place[node]);
    return ST_OK;
}

typedef struct building {
    const st_vocab *vocab;
    const st_trie *trie;
    layout layout;
    uint32_t *places; /* node: 1 more than its cell, 0 = none */
} building;

static st_cell cell_of(const building *b, uint64_t edge)
{
    const uint32_t token = b->trie->tokens[st_edge_child(edge)];
    const uint32_t id = token == ST_NONE ? ST_CELL_NO_TOKEN : b->vocab->ids[token];
    return (uint64_t)id << 32 | st_edge_byte(edge);
}

/* Enters the children of a node. The base of a single byte is in the cells of pairs. */
static st_status enter_children(building *b, uint32_t node, const uint64_t *edges, size_t n)
{
    layout *l = &b->layout;
    const int is_first = b->trie->depths[node] == 1;
    size_t base = 0;
    while (n && !is_in_utf8(st_edge_byte(edges[n - 1])))
        n--;
    if (!n || (!is_first && !b->places[node]))
        return ST_OK;
    if (!is_first) {
        base = find_base(l, edges, n);
        ST_TRY(make_room(l, base + 256));
        l->is_base[base] = 1;
        l->cells[b->places[node] - 1] |= (uint64_t)base << 8;
    } else {
        for (uint32_t byte = 0; byte < 256; byte++)
            if (b->trie->root[byte] == node)
                base = (size_t)byte << 8;
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_in_utf8(st_edge_byte(edges[i])))
            continue;
        const uint32_t at = (uint32_t)(base + st_edge_byte(edges[i]));
        const st_cell cell = cell_of(b, edges[i]);
        if (!is_first || st_cell_id(cell) != ST_CELL_NO_TOKEN) /* else the id of the first byte stays */
            l->cells[at] = cell;
        b->places[st_edge_child(edges[i])] = at + 1;
    }
    return ST_OK;
}

/* Every two bytes as if no token began with both. */
static void enter_pairs(building *b)
{
    for (uint32_t first = 0; first < 256; first++) {
        const uint32_t id = b->vocab->ids[b->trie->tokens[b->trie->root[first]]] | ST_CELL_ONE_BYTE;
        for (uint32_t second = 0; second < 256; second++)
            b->layout.cells[first << 8 | second] = (uint64_t)id << 32 | second;
    }
}

static st_status enter_all(building *b)
{
    uint64_t *sorted = NULL;
    size_t *first = NULL;
    b->places = st_calloc(b->trie->count, sizeof *b->places);
    st_status status = b->places ? sort_edges(b->trie, &sorted, &first) : ST_NO_MEMORY;
    if (!status)
        status = make_room(&b->layout, ST_CELL_PAIRS + 256);
    if (!status)
        enter_pairs(b);
    for (uint32_t node = 1; node < b->trie->count && !status && b->layout.count <= ST_MOST_CELLS; node++) {
        status = enter_children(b, node, sorted + first[node], first[node + 1] - first[node]);
        if (!status)
            status = st_go_on(NODE_COSTS);
    }
    st_free(sorted);
    st_free(first);
    st_free(b->places);
    return status;
}

st_status st_cells_build(const st_vocab *vocab, st_cell **cells, size_t *count)
{
    st_trie trie;
    *cells = NULL;
    *count = 0;
    ST_TRY(st_trie_build(&trie, vocab, NULL));
    building b = {vocab, &trie, {NULL, NULL, 0, 0, {ST_CELL_PAIRS, ST_CELL_PAIRS}}, NULL};
    const st_status status = trie.count > MOST_NODES ? ST_OK : enter_all(&b);
    st_trie_free(&trie);
    st_free(b.layout.is_base);
    if (!status && b.layout.count && b.layout.count <= ST_MOST_CELLS) {
        *cells = b.layout.cells;
        *count = b.layout.count;
        return ST_OK;
    }
    st_free(b.layout.cells);
    return status;
}
