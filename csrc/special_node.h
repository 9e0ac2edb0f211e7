/* special_node.h - the automaton of names (special.h), as the CPU and the GPU read it. */
#ifndef ST_SPECIAL_NODE_H
#define ST_SPECIAL_NODE_H

#include "portable.h"

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

ST_INLINE uint64_t st_special_slot(uint64_t key, uint64_t mask)
{
    return (key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & mask;
}

/* The node behind a node that is not the root, 0 = none. */
ST_INLINE uint32_t st_special_step(const st_special_node *nodes, const st_special_edge *edges, uint64_t edge_mask, uint32_t node,
                                   uint8_t byte)
{
    const st_special_node here = nodes[node];
    if (here.bits >> 24 == byte && here.bits & ST_SPECIAL_NEXT)
        return node + 1;
    if (!(here.bits & ST_SPECIAL_BRANCHES))
        return 0;
    const uint64_t key = ((uint64_t)node << 8 | byte) + 1;
    uint64_t slot = st_special_slot(key, edge_mask);
    while (edges[slot].key && edges[slot].key != key)
        slot = (slot + 1) & edge_mask;
    return edges[slot].node;
}

#endif
