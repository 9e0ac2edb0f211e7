/* dfa_table.h - a table that runs (dfa.h): its entries, and what was derived from them. */
#ifndef ST_SPLIT_DFA_TABLE_H
#define ST_SPLIT_DFA_TABLE_H

#include "split/pattern.h"

#define ST_DFA_CLASSES 256
#define ST_DFA_STATES 4096
#define ST_DFA_OPS 4096
#define ST_DFA_SHIFT 7 /* of a code point: what is left is the number of its block */
#define ST_DFA_BLOCK 128
#define ST_DFA_INDEX_BYTES (2 * (0x110000 >> ST_DFA_SHIFT))

/* States whose steps are made in a vector register (dfa_hot.h), at most. */
#define ST_DFA_HOT 32
#define ST_DFA_COLD 0xFFu /* in place of the number of a hot state */

/* Where an end, or the new value of a mark, comes from: a mark, or one of these. */
enum { ST_FROM_BACK = ST_SCAN_MARKS, ST_FROM_HERE, ST_FROM_COUNT };

#define ST_END_DROPS 0x80u /* with the source of an end: the piece is dropped */

/* What a step does besides going to the next state. */
typedef struct st_dfa_effect {
    uint8_t ends[ST_SCAN_STEP_ENDS]; /* sources, in order */
    uint8_t end_count;
    uint8_t marks[ST_SCAN_MARKS]; /* the source of each mark's new value */
} st_dfa_effect;

/* An entry, for the loop: the row of the next state (its number times `classes`), and the flags. */
#define ST_DFA_EMIT (1u << 31)
#define ST_DFA_BACK (1u << 30)
#define ST_DFA_SLOW (1u << 29) /* `effects` says what to do */
#define ST_DFA_DROP (1u << 28) /* the piece that ends is dropped: never together with both ends */
#define ST_DFA_ROW ((1u << 21) - 1)

/* What is known of a state. */
typedef struct st_dfa_state {
    uint16_t firsts; /* the marks, ST_FROM_BACK, ST_FROM_HERE: what the first end to come may be */
    uint16_t live;   /* the marks that are read before they are set */
    uint8_t kept, dropped; /* the open piece may be kept, may be dropped */
    uint8_t open;          /* characters of the open piece: 0, 1, or 2 for at least two */
    uint8_t closed;        /* the open piece ends here, whatever follows */
} st_dfa_state;

struct st_dfa {
    uint32_t classes, states;
    uint32_t mark_count; /* the marks in use are the first ones */
    uint32_t drops;      /* some pieces are dropped */
    uint64_t identity;   /* of the table: a number that differs where tables differ */
    uint8_t ascii[128];  /* the class of a byte */
    uint16_t *index;     /* the class of a character is blocks[index[c >> 7] * 128 + (c & 127)] */
    uint8_t *blocks;
    uint8_t *whole_rows;     /* [256]: the class of all code points c with that c >> 8, or 0 where they have several */
    uint32_t *entries;       /* [states][classes] */
    uint16_t *effect_of;     /* [states][classes]: with ST_DFA_SLOW, the number of its effect */
    st_dfa_effect *effects;
    st_dfa_state *about; /* [states] */
    uint64_t *sync; /* [classes][ST_DFA_CLASSES / 64]: bit y of row x: behind x a piece starts at y, as in st_last_sync_point */
    uint8_t *hot_of;    /* [states][classes], of which the first of each row: the number among the hot states, or ST_DFA_COLD */
    uint32_t *hot_rows; /* [ST_DFA_HOT]: the rows of the hot states */
    uint32_t hot_size;  /* how many states can be hot in the tier in use */
    uint8_t *hot;       /* [256][hot_size], see dfa_hot.h */
    void *block;        /* the memory of all of these */
    size_t size;        /* bytes of them, from `entries` on */
};

#endif
