/* job.h - what the kernels of training work on, as it lies on the device.
 *
 *     pieces.cu   the table of distinct pieces, each with its count
 *     count.cu    text, whose pieces cuda/split.cu has found, into that table
 *     row.cu      the table to one row of tokens
 *     pairs.cu    the table of pairs, and what a merge notes of its neighbours
 *     search.cu   the row to pairs with counts and lists of places
 *     choose.cu   the pair to merge next
 *     merge.cu    a merge
 *     train.cu    the kernels
 *
 * All fields are eight bytes, so that the host fills them in as 64-bit numbers (streamtok/train/gpu/jobs.py names them in
 * this order). Counts have 64 bits everywhere. */
#ifndef ST_CUDA_TRAIN_JOB_H
#define ST_CUDA_TRAIN_JOB_H

#include "base/key.h"
#include "cuda/grid.h"

/* ---- counting ---- */

/* Pieces of up to ST_KEY_BYTES bytes by their key; longer ones, up to ST_TRAIN_LONGEST, by a hash, their bytes in `bytes`. */
#define ST_TRAIN_LONGEST 1024

/* A free place has ST_FREE in both halves of its key: no piece has, because 0xFF stands in no UTF-8. */
#define ST_FREE UINT64_MAX

/* In the upper half of a key, whose highest byte is a length: the lower half is being written. */
#define ST_BUSY ((uint64_t)1 << 63)

typedef struct st_piece_table {
    st_key *keys;
    uint64_t *counts;
    uint64_t short_mask;
    uint64_t *hashes; /* 0: free */
    uint64_t *wheres; /* first byte in `bytes` << 16 | length; 0: being written */
    uint64_t *long_counts;
    uint64_t long_mask;
    uint8_t *bytes;
} st_piece_table;

typedef struct st_counted {
    uint64_t shorts, longs;           /* distinct pieces */
    uint64_t short_bytes, long_bytes; /* their bytes */
    uint64_t pieces;                  /* seen, repeated ones too */
    uint64_t next;                    /* stretches of the text that were taken */
    uint64_t huge;                    /* pieces too long for the table */
} st_counted;

/* A text to count. When a limit is reached, no further stretch is begun; the limits leave room for the stretches that are being
 * counted. Then the host enlarges the table, and the rest of the text is counted. */
typedef struct st_counting {
    st_piece_table table;
    uint64_t short_limit, long_limit, byte_limit;
    const uint8_t *text;      /* readable up to the end of the last stretch, and 32 bytes more */
    const uint64_t *starts;   /* of pieces: a bit a byte (cuda/split.cu) */
    uint64_t blocks, stretches;
    const uint32_t *flags;    /* of the text (cuda/job.h): other than 0, nothing is counted */
    uint64_t *huge;           /* first byte, end, for each; the host counts them */
    uint64_t huge_room;
    st_counted *counted;
} st_counting;

typedef struct st_growing {
    st_piece_table from, to; /* `bytes` are copied by the host */
} st_growing;

/* ---- the row ----
 * As in train/text.h: a byte of a distinct piece is a place, a token of n bytes takes n, and its number stands at the first
 * and the last of them; at the last with ST_LAST, so that each place shows whether a token begins there. Pieces lie in any
 * order; each place has the count of its piece. */
#define ST_BORDER 0xFFFFFFFFu
#define ST_INSIDE 0xFFFFFFFEu
#define ST_LAST 0x80000000u

/* Counts of this size or more are in a list of their own; the weight is then ST_HEAVY | the number in the list. */
#define ST_HEAVY 0x80000000u

typedef struct st_row_top {
    uint64_t places, heavy;
} st_row_top;

/* Copies the pieces of the table to places of the row, from top->places on. */
typedef struct st_placing {
    st_piece_table table;
    uint32_t *row, *weights;
    uint64_t *heavy;
    const uint32_t *alphabet; /* byte -> token */
    st_row_top *top;
} st_placing;

/* Copies a row that the CPU has laid out to places of the row. `source` has no border in front. */
typedef struct st_widening {
    const uint32_t *source;
    uint64_t places;
    const uint64_t *ends, *counts; /* of its ranges, in its places */
    uint64_t ranges;
    uint32_t *row, *weights; /* where it goes */
    uint64_t heavy;          /* number of the first range's count in the list of heavy counts */
    const uint32_t *lengths; /* of tokens */
} st_widening;

/* ---- learning ---- */

/* Room that is kept for the bytes of the next token, more than any token has. */
#define ST_MOST_BYTES ((uint64_t)1 << 17)

#define ST_NO_PAIR UINT64_MAX
#define ST_NO_LIST UINT64_MAX

typedef struct st_pair {
    uint64_t key; /* left << 32 | right; ST_NO_PAIR: free */
    uint64_t count;
    uint64_t start, n; /* of its list */
} st_pair;

/* What is known of one neighbour while a pair is merged. */
typedef struct st_side {
    uint64_t sum;   /* how often it stands there */
    uint64_t n;     /* in how many places */
    uint64_t place; /* where in the lists its next place goes, or ST_NO_LIST */
    uint64_t unused;
} st_side;

/* Neighbours to the left and to the right, of this merge and of the one before, whose notes are cleared meanwhile. */
#define ST_SIDES 4

/* Why a launch ended. */
typedef enum st_stop {
    ST_STOP_WORK,  /* as many merges or as much work as a launch may do */
    ST_STOP_DONE,  /* as many tokens as wanted, or no pair is frequent enough */
    ST_STOP_PAIRS, /* the table of pairs is too small */
    ST_STOP_BYTES  /* there is no room for the bytes of a token */
} st_stop;

/* What all blocks do together. */
typedef enum st_command { ST_LEAVE, ST_SEARCH, ST_FILL_FRONT, ST_MERGE } st_command;

/* What the first thread does: its cycles are counted if ST_COUNT_CYCLES is defined. A step of a merge has two numbers: the
 * first for merges by the first block alone, the second for merges by all blocks. */
typedef enum st_stage {
    ST_AT_CHOICE,
    ST_AT_SEARCH,
    ST_AT_FRONT,
    ST_AT_CALL, /* until all blocks are there */
    ST_AT_NOTES,
    ST_AT_SETTLING = ST_AT_NOTES + 2,
    ST_AT_LISTS = ST_AT_SETTLING + 2,
    ST_STAGES = ST_AT_LISTS + 2
} st_stage;

typedef struct st_learned {
    uint64_t tokens;
    uint64_t least;      /* pairs seen less often are not known */
    uint64_t last_count; /* of the last merge: how often its pair was seen */
    uint64_t stale;      /* the row is to be searched before the next merge */
    uint64_t list_top, pair_count, byte_top;
    uint64_t front_count, front_least;
    uint64_t front_filled;   /* pairs in the front when it was filled */
    uint64_t made;           /* whether the merge made a new pair */
    uint64_t seen[ST_SIDES]; /* distinct neighbours */
    uint64_t chosen;         /* the pair's place in the table */
    uint64_t command, stop;
    uint64_t merges, work; /* of this launch: merges, places looked at by them */
    uint64_t arrived;
    uint64_t searches, fronts, together; /* how often, for benchmarks; merges by all blocks */
    uint64_t cycles[ST_STAGES];          /* of the first thread, if they are counted */
} st_learned;

typedef struct st_learning {
    uint32_t *row;
    const uint32_t *weights;
    const uint64_t *heavy;
    uint64_t places; /* borders too, one in front and one behind */

    /* tokens */
    uint32_t *lengths;
    uint64_t *prefixes; /* the first eight bytes as a big-endian number, zeros behind the last */
    uint64_t *starts;   /* in `bytes` */
    uint8_t *bytes;
    uint64_t byte_room;
    uint64_t *merged; /* the pair that each was merged of */
    uint64_t wanted, max_token_bytes, floor;
    uint64_t by_bytes; /* does the order of bytes decide ties? Else that of numbers */

    /* pairs */
    st_pair *pairs;
    uint64_t pair_mask, pair_limit;
    uint32_t *lists;
    uint64_t list_room;
    uint64_t *sketch;
    uint64_t sketch_bits;
    uint32_t *front; /* places in the table: all pairs seen front_least times or more, among others */
    uint64_t front_wish;
    uint32_t *histogram;

    st_side *sides; /* side * wanted + token */
    uint32_t *seen; /* side * wanted + number */

    uint64_t alone; /* lists up to this length are merged by the first block alone */
    uint64_t most_merges, most_work;
    st_learned *learned;
} st_learning;

/* ---- memory that other threads write ---- */

ST_FORCE_INLINE void st_add64(uint64_t *at, uint64_t value)
{
    atomicAdd((unsigned long long *)at, (unsigned long long)value);
}

ST_FORCE_INLINE uint64_t st_take64(uint64_t *at, uint64_t count)
{
    return atomicAdd((unsigned long long *)at, (unsigned long long)count);
}

ST_FORCE_INLINE uint64_t st_swap64(uint64_t *at, uint64_t expected, uint64_t value)
{
    return atomicCAS((unsigned long long *)at, (unsigned long long)expected, (unsigned long long)value);
}

/* A thread that reads what st_publish wrote sees everything written before it. */
ST_FORCE_INLINE uint64_t st_look(const uint64_t *at)
{
    const uint64_t value = *(const volatile uint64_t *)at;
    __threadfence();
    return value;
}

ST_FORCE_INLINE void st_publish(uint64_t *at, uint64_t value)
{
    __threadfence();
    *(volatile uint64_t *)at = value;
}

/* Reserves room in a common array for each lane's share, with one operation a warp. All lanes must call it. */
ST_INLINE uint64_t st_take_for_warp(uint64_t *top, uint64_t share, unsigned lane)
{
    uint64_t sum = share;
    for (unsigned step = 1; step < 32; step *= 2) {
        const uint64_t other = __shfl_up_sync(0xFFFFFFFFu, sum, step);
        sum += lane >= step ? other : 0;
    }
    uint64_t first = lane == 31 && sum ? st_take64(top, sum) : 0;
    first = __shfl_sync(0xFFFFFFFFu, first, 31);
    return first + sum - share;
}

#endif
