/* cells.h - builds the double array of longest/cell.h. */
#ifndef ST_LONGEST_CELLS_H
#define ST_LONGEST_CELLS_H

#include "longest/cell.h"
#include "vocab/vocab.h"

/* The cells of a vocabulary of longest match: (*cells)[0..*count), to be freed by st_free; NULL where they would be more than
 * ST_MOST_CELLS. ST_NO_MEMORY, also when the call is to end (base/interrupt.h): nothing is left to free. */
st_status st_cells_build(const st_vocab *vocab, st_cell **cells, size_t *count);

#endif
