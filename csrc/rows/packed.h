/* packed.h - documents packed into rows of one length. First a plan says which part of which document lies where, then the rows are
 * written. Each document is taken with its end, an id of its own, if there is one. */
#ifndef ST_ROWS_PACKED_H
#define ST_ROWS_PACKED_H

#include "base/status.h"
#include "rows/sequence.h"

typedef struct st_documents {
    const int64_t *starts; /* document i has the ids starts[i] .. starts[i + 1] - 1 */
    size_t count; /* less than ST_PADS */
    int has_end;  /* one more id behind those of each */
} st_documents;

/* The largest row of st_plan_best_fit: it has a list of rows for each room that a row can have left, 4 bytes each. */
#define ST_BEST_FIT_LENGTH ((size_t)1 << 24)

/* How many sequences a plan has at most, with one more behind the last, which says where that ends. */
size_t st_plan_room(const st_documents *documents, size_t length);

/* The documents one behind the other, cut into rows. Returns the number of sequences; one more stands behind them. */
size_t st_plan_joined(const st_documents *documents, size_t length, st_sequence *plan);

/* Documents longer than a row are cut into rows and a rest. What is not a whole row is put, the longest first, of equal ones the
 * first, into the row with the least room that is enough; of several such rows into the one that came to have this room last; into a
 * new row if there is none (best fit, decreasing). What stays free in a row is a sequence of pads, but in the last row.
 * *count: as st_plan_joined returns it. ST_NO_MEMORY and ST_INTERRUPTED: there is no plan. */
st_status st_plan_best_fit(const st_documents *documents, size_t length, st_sequence *plan, size_t *count);

typedef struct st_packing {
    const uint32_t *ids; /* of all documents */
    const st_sequence *plan;
    size_t count;       /* of its sequences */
    uint64_t room;      /* numbers in all rows; behind the last sequence stand pads */
    uint64_t end, pad;
    unsigned width;     /* bytes of a number in the two: 2, 4 or 8 */
    void *out, *positions; /* positions count from 0 in each sequence, and are 0 for pads */
} st_packing;

/* Writes the sequences first .. last - 1, and with the last one of all what stands behind it. Thread rule: by any number of threads
 * at once, for different sequences. */
void st_pack_rows(const st_packing *job, size_t first, size_t last);

#endif
