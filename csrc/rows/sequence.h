/* sequence.h - a SEQUENCE is what of a document lies in one row. The CPU plans them (packed.h); a GPU writes by the same plan, too. */
#ifndef ST_ROWS_SEQUENCE_H
#define ST_ROWS_SEQUENCE_H

#include "base/portable.h"

typedef struct st_sequence {
    int64_t place;     /* where it begins, in all rows one behind the other */
    int64_t first;     /* the number of its first id among those of all documents */
    uint32_t document; /* its number; ST_PADS: these are pads */
    uint32_t has_end;  /* its last id is the end of the document */
} st_sequence;

#define ST_PADS UINT32_MAX

#endif
