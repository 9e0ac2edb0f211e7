#include "special/special_tokens.h"

#include <string.h>

#include "base/alloc.h"

/* Limits of the cells, of 4 bytes each: 8 bytes for each byte of the names, and 64 KB for a few names with many different bytes. */
#define CELLS_A_BYTE 2
#define CELLS ((size_t)1 << 14)

/* Sorts bytes into classes: one for each byte of the names, and class 0 for all others, if there are any. Returns how many
 * bytes the names have, in `letters`. */
static uint32_t find_classes(st_special *s, uint8_t *letters)
{
    uint32_t count = 0;
    uint8_t seen[256] = {0};
    for (size_t i = 0; i < s->total; i++)
        seen[s->bytes[i]] = 1;
    for (uint32_t byte = 0; byte < 256; byte++)
        if (seen[byte])
            letters[count++] = (uint8_t)byte;
    const uint32_t others = count < 256;
    for (uint32_t i = 0; i < count; i++)
        s->class_of[letters[i]] = (uint8_t)(i + others);
    s->classes = count + others;
    return count;
}

/* Fills the row of a node: a copy of its link's row, which was made before, with the node's own children. */
static void fill_row(st_special *s, uint32_t row, const uint8_t *letters, uint32_t count)
{
    const uint32_t node = s->row_nodes[row], bits = s->nodes[node].bits;
    uint32_t *cells = s->cells + (size_t)row * s->classes;
    const size_t link = st_special_row(s->nodes[s->nodes[node].fail]) - 1;
    if (node && !(bits & ST_SPECIAL_LOUD))
        memcpy(cells, s->cells + link * s->classes, s->classes * sizeof *cells);
    else
        memset(cells, node ? 0xFF : 0, s->classes * sizeof *cells); /* ST_SPECIAL_STUCK, or the root again */
    if (node && !(bits & ST_SPECIAL_BRANCHES)) {
        if (bits & ST_SPECIAL_NEXT)
            cells[s->class_of[bits >> 24]] = st_special_value(s, node + 1);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t child = node ? st_special_child(s, node, letters[i]) : s->first[letters[i]];
        if (child)
            cells[s->class_of[letters[i]]] = st_special_value(s, child);
    }
}

st_status st_special_add_rows(st_special *s, const uint32_t *order)
{
    uint8_t letters[256];
    const uint32_t count = find_classes(s, letters);
    size_t rows = (CELLS_A_BYTE * s->total + CELLS) / (s->classes + 1);
    rows = rows < ST_SPECIAL_ROWS ? rows : ST_SPECIAL_ROWS;
    s->rows = (uint32_t)(rows < s->count ? rows : s->count);
    s->cells = st_malloc(((size_t)s->rows + 1) * s->classes * sizeof *s->cells);
    s->row_nodes = st_malloc(s->rows * sizeof *s->row_nodes);
    if (!s->cells || !s->row_nodes)
        return ST_NO_MEMORY;
    memcpy(s->row_nodes, order, s->rows * sizeof *order);
    for (uint32_t row = 0; row < s->rows; row++)
        s->nodes[order[row]].bits |= (row + 1) << 4;
    for (uint32_t row = 0; row < s->rows; row++)
        fill_row(s, row, letters, count);
    memset(s->cells + (size_t)s->rows * s->classes, 0xFF, s->classes * sizeof *s->cells);
    return ST_OK;
}
