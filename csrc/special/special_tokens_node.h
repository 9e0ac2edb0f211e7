/* special_tokens_node.h - the automaton of names (special_tokens.h), as the CPU and the GPU read it. */
#ifndef ST_SPECIAL_TOKENS_NODE_H
#define ST_SPECIAL_TOKENS_NODE_H

#include "base/portable.h"

enum {
    ST_SPECIAL_GOES_ON = 1,  /* some name goes on behind this node */
    ST_SPECIAL_NEXT = 2,     /* one of them with `next`, to the node behind this one in the array */
    ST_SPECIAL_BRANCHES = 4, /* some with other bytes, which stand in `edges` */
    ST_SPECIAL_LOUD = 8      /* a name begins at a start that giving up this node gives up */
};

/* A beginning of a name. */
typedef struct st_special_node {
    uint32_t fail; /* the longest proper end of it that begins a name, 0 = the root, which is empty */
    uint32_t bits; /* `next` << 24, 1 more than the number of its row << 4 (0 = none), and flags */
} st_special_node;

#define ST_SPECIAL_ROWS 0xFFFFEu /* that the bits can number */

typedef struct st_special_edge {
    uint64_t key; /* node << 8 | byte, and 1 more; 0 = empty */
    uint32_t node;
    uint32_t unused;
} st_special_edge;

/* The hash table of edges: `mask` + 1 places, at most half full, and an odd factor. */
typedef struct st_special_edges {
    const st_special_edge *places;
    uint64_t mask, factor;
} st_special_edges;

ST_INLINE uint64_t st_special_slot(const st_special_edges *edges, uint64_t key)
{
    return (key * edges->factor >> 32) & edges->mask;
}

/* The node behind a node that is not the root, 0 = none. */
ST_INLINE uint32_t st_special_step(const st_special_node *nodes, const st_special_edges *edges, uint32_t node, uint8_t byte)
{
    const st_special_node here = nodes[node];
    if (here.bits >> 24 == byte && here.bits & ST_SPECIAL_NEXT)
        return node + 1;
    if (!(here.bits & ST_SPECIAL_BRANCHES))
        return 0;
    const uint64_t key = ((uint64_t)node << 8 | byte) + 1;
    uint64_t slot = st_special_slot(edges, key);
    while (edges->places[slot].key && edges->places[slot].key != key)
        slot = (slot + 1) & edges->mask;
    return edges->places[slot].node;
}

#endif
