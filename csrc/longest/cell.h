/* cell.h - the trie (longest/trie.h) as the GPU reads it: a double array, in which each step of a walk is one load.
 *
 * A cell stands for a node of two bytes or more: its BASE << 8 | the byte that leads to it, and above these 32 bits the id of its
 * token. The child of a node by a byte is at cell base + byte, if that cell has this byte. No two nodes have the same base. A base of
 * 0: the node has no children.
 *
 * The first ST_CELL_PAIRS cells are for any two bytes a, b, at a << 8 | b, so that a walk begins with its second byte. Where no token
 * begins with both, the cell has the id of the byte a, with ST_CELL_ONE_BYTE, and no base.
 *
 * Tokens with a byte that UTF-8 never has are left out, single bytes aside. So a free cell can have such a byte, and a walk ends at
 * the bytes that the kernels put where no text is. */
#ifndef ST_LONGEST_CELL_H
#define ST_LONGEST_CELL_H

#include "base/portable.h"

typedef uint64_t st_cell;

#define ST_CELL_PAIRS 65536
#define ST_CELL_NO_TOKEN 0xFFFFFFFFu
#define ST_CELL_ONE_BYTE 0x80000000u
#define ST_CELL_FREE ((uint64_t)ST_CELL_NO_TOKEN << 32 | 0xC0) /* 0xC0 is no byte of UTF-8 */

/* Bases have 24 bits. */
#define ST_MOST_CELLS ((uint64_t)1 << 24)

ST_INLINE uint32_t st_cell_byte(st_cell cell)
{
    return (uint32_t)cell & 0xFF;
}

ST_INLINE uint32_t st_cell_base(st_cell cell)
{
    return (uint32_t)cell >> 8;
}

ST_INLINE uint32_t st_cell_id(st_cell cell)
{
    return (uint32_t)(cell >> 32);
}

#endif
