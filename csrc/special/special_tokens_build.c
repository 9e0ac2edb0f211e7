#include "special/special_tokens.h"

#include <string.h>

#include "base/alloc.h"
#include "base/key.h"

#define NOWHERE UINT32_MAX

/* What is needed only while a matcher is built. `node:` and `byte:` name what an array is indexed by. */
typedef struct builder {
    st_special *s;
    uint32_t *parent;  /* node: its parent */
    uint32_t *by_depth; /* the nodes in the order of their depths */
    st_special_edge *places; /* of s->edges */
    uint32_t *link;    /* byte: a place at which the same name begins; NOWHERE = `inner` has the answer */
} builder;

/* ---- the tree ---- */

static uint32_t child_of(const st_special *s, uint32_t node, uint8_t byte)
{
    return node ? st_special_child(s, node, byte) : s->first[byte];
}

/* Called at most once for each name: the rest of a name is a chain of nodes that follow each other in the array. */
static void add_edge(builder *b, uint32_t node, uint8_t byte, uint32_t child)
{
    st_special *s = b->s;
    const uint64_t key = ((uint64_t)node << 8 | byte) + 1;
    uint64_t slot = st_special_slot(&s->edges, key);
    while (b->places[slot].key)
        slot = (slot + 1) & s->edges.mask;
    b->places[slot] = (st_special_edge){key, child, 0};
    s->nodes[node].bits |= ST_SPECIAL_BRANCHES;
}

static uint32_t add_child(builder *b, uint32_t node, size_t place)
{
    st_special *s = b->s;
    const uint32_t child = s->count++;
    const uint8_t byte = s->bytes[place];
    if (!node) {
        s->first[byte] = child;
    } else if (child == node + 1) {
        s->nodes[node].bits |= (uint32_t)byte << 24 | ST_SPECIAL_NEXT;
    } else {
        add_edge(b, node, byte, child);
    }
    s->nodes[node].bits |= ST_SPECIAL_GOES_ON;
    s->nodes[child] = (st_special_node){0, 0};
    s->depth[child] = s->depth[node] + 1;
    s->place[child] = (uint32_t)place;
    s->name[child] = 0;
    b->parent[child] = node;
    return child;
}

static void add_name(builder *b, size_t start, uint32_t number)
{
    st_special *s = b->s;
    const size_t n = s->names[number].length;
    uint32_t node = 0;
    for (size_t i = start; i < start + n; i++) {
        const uint32_t child = child_of(s, node, s->bytes[i]);
        node = child ? child : add_child(b, node, i);
    }
    s->name[node] = number + 1; /* of equal names the last one wins */
    if (number == 0)
        s->only_first = s->bytes[start];
    else if (s->only_first != s->bytes[start])
        s->only_first = -1;
    s->longest_name = n > s->longest_name ? n : s->longest_name;
}

/* ---- links ---- */

/* Sorts the nodes by depth. counts[d] is the index at which the next node of depth d goes. */
static st_status sort_nodes(builder *b)
{
    const st_special *s = b->s;
    uint32_t *counts = st_calloc(s->longest_name + 2, sizeof *counts);
    if (!counts)
        return ST_NO_MEMORY;
    for (uint32_t node = 0; node < s->count; node++)
        counts[s->depth[node] + 1]++;
    for (size_t depth = 1; depth <= s->longest_name; depth++)
        counts[depth] += counts[depth - 1];
    for (uint32_t node = 0; node < s->count; node++)
        b->by_depth[counts[s->depth[node]]++] = node;
    st_free(counts);
    return ST_OK;
}

static void link_nodes(builder *b)
{
    st_special *s = b->s;
    for (uint32_t i = 1; i < s->count; i++) {
        const uint32_t node = b->by_depth[i], parent = b->parent[node];
        uint32_t end = s->nodes[parent].fail, found = 0;
        const uint8_t byte = s->bytes[s->place[node]];
        if (!s->name[node])
            s->name[node] = s->name[parent];
        if (!parent)
            continue;
        while (!(found = child_of(s, end, byte)) && end)
            end = s->nodes[end].fail;
        s->nodes[node].fail = found;
    }
}

/* ---- names inside names ---- */

/* Called while a name is read, when the node whose text begins at bytes[at] cannot go on. Records the longest name that begins at
 * bytes[at]. The other places given up have the answers of the same places in the name that the node was made for. */
static void note_inner(builder *b, size_t at, uint32_t node)
{
    st_special *s = b->s;
    const size_t given_up = s->depth[node] - s->depth[s->nodes[node].fail], bytes = s->place[node] + 1 - s->depth[node];
    s->inner[at] = s->name[node];
    for (size_t i = 1; i < given_up; i++)
        b->link[at + i] = (uint32_t)(bytes + i);
}

/* Finds which name begins at each place inside the name bytes[start..start + n), where the bytes of that name decide it. */
static void read_name(builder *b, size_t start, size_t n)
{
    const st_special *s = b->s;
    uint32_t node = 0;
    for (size_t at = start + 1; at < start + n; at++) {
        uint32_t child;
        while (!(child = child_of(s, node, s->bytes[at])) && node) {
            note_inner(b, at - s->depth[node], node);
            node = s->nodes[node].fail;
        }
        node = child;
    }
}

/* Copies the answers along the links. Each link leads to a place nearer to the beginning of a name, so each chain of links ends. A
 * chain is read once to find its end, and once to store the answer at each of its places. */
static void follow_links(builder *b)
{
    uint32_t *inner = b->s->inner, *link = b->link;
    for (size_t i = 0; i < b->s->total; i++) {
        size_t end = i, next;
        while (link[end] != NOWHERE)
            end = link[end];
        for (size_t at = i; at != end; at = next) {
            next = link[at];
            inner[at] = inner[end];
            link[at] = NOWHERE;
        }
    }
}

/* Sets ST_SPECIAL_LOUD. `inner` is complete. `link` is overwritten with the number of names in front of each place. */
static void find_loud(builder *b)
{
    st_special *s = b->s;
    uint32_t count = 0;
    for (size_t i = 0; i < b->s->total; i++) {
        b->link[i] = count;
        count += s->inner[i] != 0;
    }
    for (uint32_t node = 1; node < s->count; node++) {
        const size_t given_up = s->depth[node] - s->depth[s->nodes[node].fail], bytes = s->place[node] + 1 - s->depth[node];
        const size_t last = bytes + given_up - 1;
        if (s->name[node] || b->link[last] + (s->inner[last] != 0) > b->link[bytes] + (s->inner[bytes] != 0))
            s->nodes[node].bits |= ST_SPECIAL_LOUD;
    }
    if (!count) {
        st_free(s->inner);
        s->inner = NULL;
    }
}

/* ---- a matcher ---- */

/* Shrinks an array that was allocated for names without common prefixes. If there is no memory for a smaller block, the larger one
 * is kept. */
static void *shrunk(void *block, size_t size)
{
    void *smaller = st_realloc(block, size);
    return smaller ? smaller : block;
}

static void shrink(st_special *s)
{
    s->nodes = shrunk(s->nodes, s->count * sizeof *s->nodes);
    s->depth = shrunk(s->depth, s->count * sizeof *s->depth);
    s->place = shrunk(s->place, s->count * sizeof *s->place);
    s->name = shrunk(s->name, s->count * sizeof *s->name);
}

/* The factor of the hash comes from an address, which differs between processes, so nobody can choose names that collide. With a
 * random factor chains of full places are short, whatever the keys (multiply-shift hashing, Dietzfelbinger et al. 1997). */
static st_status get_edges(builder *b, size_t count)
{
    st_special_edges *edges = &b->s->edges;
    for (edges->mask = 1; edges->mask < 2 * count; edges->mask = 2 * edges->mask + 1)
        ;
    edges->places = b->places = st_calloc((size_t)edges->mask + 1, sizeof *b->places);
    if (!b->places)
        return ST_NO_MEMORY;
    edges->factor = st_fold_multiply((uintptr_t)b->places ^ ST_HASH_BEGIN, (uintptr_t)b->s ^ ST_HASH_BEGIN) | 1;
    return ST_OK;
}

static st_status get_room(builder *b, size_t count)
{
    st_special *s = b->s;
    const size_t nodes = b->s->total + 1;
    s->nodes = st_malloc(nodes * sizeof *s->nodes);
    s->depth = st_malloc(nodes * sizeof *s->depth);
    s->place = st_malloc(nodes * sizeof *s->place);
    s->name = st_malloc(nodes * sizeof *s->name);
    s->bytes = st_malloc(nodes);
    s->inner = st_calloc(nodes, sizeof *s->inner);
    ST_TRY(get_edges(b, count));
    s->names = st_malloc((count + 1) * sizeof *s->names);
    b->parent = st_malloc(nodes * sizeof *b->parent);
    b->by_depth = st_malloc(nodes * sizeof *b->by_depth);
    b->link = st_malloc(nodes * sizeof *b->link);
    const int all = s->nodes && s->depth && s->place && s->name && s->bytes && s->inner && s->names && b->parent &&
                    b->by_depth && b->link;
    return all ? ST_OK : ST_NO_MEMORY;
}

static st_status build(builder *b, const uint8_t *names, const size_t *lengths, const uint32_t *ids, size_t count)
{
    st_special *s = b->s;
    size_t start = 0;
    ST_TRY(get_room(b, count));
    if (b->s->total)
        memcpy(s->bytes, names, b->s->total);
    memset(b->link, 0xFF, b->s->total * sizeof *b->link);
    s->nodes[0] = (st_special_node){0, ST_SPECIAL_GOES_ON};
    s->depth[0] = s->place[0] = s->name[0] = 0;
    s->count = 1;
    s->name_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; start += lengths[i++]) {
        s->names[i] = (st_special_name){(uint32_t)lengths[i], ids[i], 0};
        add_name(b, start, i);
    }
    ST_TRY(sort_nodes(b));
    link_nodes(b);
    for (size_t i = 0, at = 0; i < count; at += lengths[i++])
        read_name(b, at, lengths[i]);
    follow_links(b);
    find_loud(b);
    shrink(s);
    return st_special_add_rows(s, b->by_depth);
}

st_status st_special_new(const uint8_t *names, const size_t *lengths, const uint32_t *ids, size_t count,
                         st_special **special)
{
    builder b = {0};
    size_t total = 0;
    *special = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!lengths[i])
            return ST_EMPTY_TOKEN;
        if (lengths[i] >= UINT32_MAX - 1 - total)
            return ST_NO_MEMORY;
        total += lengths[i];
    }
    b.s = st_calloc(1, sizeof *b.s);
    if (!b.s)
        return ST_NO_MEMORY;
    b.s->only_first = -1;
    b.s->total = total;
    const st_status status = build(&b, names, lengths, ids, count);
    st_free(b.parent);
    st_free(b.by_depth);
    st_free(b.link);
    if (status)
        st_special_free(b.s);
    else
        *special = b.s;
    return status;
}

st_status st_special_set_flags(st_special *s, const uint8_t *flags, const uint32_t *words, size_t word_ranges)
{
    for (uint32_t i = 0; i < s->name_count; i++) {
        s->names[i].flags = flags[i];
        s->flags |= flags[i];
    }
    if (!word_ranges)
        return ST_OK;
    s->words = st_malloc(2 * word_ranges * sizeof *s->words);
    if (!s->words)
        return ST_NO_MEMORY;
    memcpy(s->words, words, 2 * word_ranges * sizeof *s->words);
    s->word_ranges = word_ranges;
    return ST_OK;
}

void st_special_free(st_special *s)
{
    if (!s)
        return;
    st_free(s->nodes);
    st_free(s->depth);
    st_free(s->place);
    st_free(s->name);
    st_free(s->bytes);
    st_free(s->inner);
    st_free((void *)s->edges.places);
    st_free(s->names);
    st_free(s->cells);
    st_free(s->row_nodes);
    st_free(s->words);
    st_free(s);
}
