/* job.h - what the kernels work on that take ids: decoding (decode.cu, hold.cu), and rows for a model (rows.cu).
 *
 * All fields are eight bytes, as those of cuda/job.h; streamtok/gpu/ids/jobs.py names them in this order. */
#ifndef ST_CUDA_IDS_JOB_H
#define ST_CUDA_IDS_JOB_H

#include "cuda/grid.h"
#include "rows/sequence.h"

/* Ids that a warp takes at a time: so many of each lane, which are on their way from memory together. */
#define ST_IDS_A_LANE 8
#define ST_ID_TILE (32 * ST_IDS_A_LANE)

/* Tokens of a lane that are on their way from memory together. */
#ifndef ST_DECODE_LOADS
#define ST_DECODE_LOADS 4
#endif

/* Bytes that a warp gathers before it writes them: a tile of tokens of up to 12 bytes each. A tile that has more is written byte by
 * byte. */
#define ST_DECODE_BUFFER 3072

/* Bytes of a token in its slot. */
#define ST_DECODE_SLOT 15

/* In the table of lengths: a token that is not in its slot, and an id that no token has. */
#define ST_TOKEN_LONG 255
#define ST_TOKEN_UNKNOWN 254

/* An id that is unknown, negative or beyond 32 bits. Which one, the host finds out. */
#define ST_FLAG_BAD_ID 1
/* There are more bytes than room. */
#define ST_FLAG_OVERFLOW 2
/* A row begins in front of the one before it, or behind the ids. */
#define ST_FLAG_BAD_ROWS 4

/* What the kernels report. `total` is as st_add_up finds it; `longest_row` in ids. */
typedef struct st_id_report {
    uint64_t total, flags, longest_row;
} st_id_report;

/* Numbers that become the sums of those in front of them; one more is written, the sum of all. host: NULL where the report goes on. */
typedef struct st_sums {
    uint64_t *numbers;
    uint64_t count;
    uint64_t capacity; /* of what the sum counts: ST_FLAG_OVERFLOW beyond it */
    st_id_report *report, *host; /* on the device, and where the host reads it */
} st_sums;

/* The slot of a token is its bytes, or, of a long one, where they begin (x and y) and their number (z). */
typedef struct st_decode {
    const void *ids; /* `id_bytes` each: 1, 2, 4 or 8; those of 8 may be negative, and smaller ones if is_signed is set */
    uint64_t id_bytes, is_signed, count;

    const uint8_t *lengths; /* id: bytes of its token, if it is in a slot */
    const uint4 *slots;     /* id */
    uint64_t table;         /* ids 0 .. table - 1 are in these two; others are searched: */
    const uint32_t *other_ids; /* ascending */
    const uint4 *other_slots;  /* as those of long tokens */
    uint64_t other_count;
    const uint8_t *bytes;   /* of tokens that are in no slot */

    uint64_t *tiles; /* tile: bytes of its tokens, and then bytes before it */
    uint8_t *out;
    uint64_t out_capacity;
    const uint64_t *rows; /* row: the number of its first id, ascending */
    uint64_t *row_starts; /* row: bytes before it */
    uint64_t row_count;
    uint64_t *starts;     /* id: bytes before it; NULL: they are not asked for */
    st_id_report *report;
} st_decode;

/* Bytes of a row that wait for the rest of their character: the first in the low bits, and how many in the highest byte. */
typedef struct st_hold {
    const uint8_t *text; /* all rows */
    const uint64_t *row_starts;
    uint64_t row_count, final;
    const uint32_t *before; /* row: what waited */
    uint32_t *after;        /* row: what waits now */
    uint64_t *sizes;        /* row: bytes that it gives, and then bytes before it */
    uint8_t *out;
} st_hold;

/* Rows one behind the other, each with ids around its own. */
typedef struct st_template {
    const void *ids; /* as made by encoding: `id_bytes` each, 2, 4 or 8 */
    uint64_t id_bytes;
    const uint64_t *row_starts;
    uint64_t row_count, total; /* ids with those around */
    void *out;                 /* of `id_bytes` */
    const uint32_t *prefix, *suffix; /* around the ids of each row */
    uint64_t prefix_size, suffix_size;
} st_template;

typedef struct st_pad {
    const void *ids; /* as made by encoding: `id_bytes` each, 2, 4 or 8 */
    uint64_t id_bytes;
    const uint64_t *row_starts;
    uint64_t row_count, length;
    uint64_t most;      /* ids of a row, those around included: `length` at most; of a row that has more are left out: */
    uint64_t keeps_end; /* those in front; else those behind */
    uint64_t is_left;   /* pads stand in front */
    uint64_t pad;
    void *out, *mask; /* row_count * length numbers of `out_bytes` each: 2, 4 or 8 */
    uint64_t out_bytes;
    const uint32_t *prefix, *suffix; /* around the ids of each row, never left out */
    uint64_t prefix_size, suffix_size;
    st_id_report *report;
} st_pad;

/* Documents one behind the other, each with its end, in rows of `length`. `total` ids with the ends, and pads up to `capacity`, a multiple
 * of `length`. A SEQUENCE is what of a document lies in one row. */
typedef struct st_pack {
    const void *ids;
    uint64_t id_bytes;
    const uint64_t *doc_starts; /* document: ids before it, without the ends; one more than there are documents */
    uint64_t doc_count, length, total, capacity;
    uint64_t has_end, end, pad;
    void *out, *positions; /* place: numbers of `out_bytes` each */
    uint64_t out_bytes;
    uint64_t *tiles;       /* tile: sequences that begin in it, and then those before it */
    uint32_t *sequences;   /* sequence: place where it begins */
    uint64_t *sources;     /* sequence: its document; NULL: they are not asked for */
} st_pack;

/* Sequences where a plan of the host puts them (rows/sequence.h): `count`, and one more that says where the last one ends. */
typedef struct st_planned {
    const void *ids;
    uint64_t id_bytes;
    const st_sequence *plan;
    uint64_t count, capacity, end, pad;
    void *out, *positions; /* place: numbers of `out_bytes` each */
    uint64_t out_bytes;
} st_planned;

#endif
