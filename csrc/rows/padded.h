/* padded.h - texts in rows of one length, with pads. */
#ifndef ST_ROWS_PADDED_H
#define ST_ROWS_PADDED_H

#include <stddef.h>
#include <stdint.h>

typedef struct st_padding {
    const uint32_t *ids;
    const int64_t *starts; /* text i has the ids starts[i] .. starts[i + 1] - 1 */
    const uint32_t *prefix, *suffix; /* ids around those of each text */
    size_t prefix_size, suffix_size;
    size_t length; /* of a row */
    size_t most;   /* ids of a row, those around included: prefix_size + suffix_size .. length. Of a text that has more are left out: */
    int keeps_end; /* those in front; else those behind */
    int is_left;   /* pads stand in front */
    uint64_t pad;
    unsigned width;  /* bytes of a number in the two: 2, 4 or 8 */
    void *out, *mask; /* rows of `length` numbers: ids and pads; 1 for each id and 0 for each pad */
} st_padding;

/* Writes the rows first .. last - 1. Thread rule: by any number of threads at once, for different rows. */
void st_pad_rows(const st_padding *job, size_t first, size_t last);

#endif
