/* dfa_hot.h - the steps of a compiled pattern between its hot states, one instruction a byte.
 *
 * For each byte there is a row of ST_DFA_HOT entries, one for each hot state: in bits 0 to 3 the next one, above it flags. A row in a
 * register is a function of the state, which the instruction that picks bytes by the low four bits of others computes for the state
 * of 16 bytes of text in turn. ST_HOT_STOP: the step is none for the register, because the byte is not ASCII, the next state is not
 * hot, or the entry has an op. */
#ifndef ST_SPLIT_DFA_HOT_H
#define ST_SPLIT_DFA_HOT_H

#include "split/dfa_table.h"

#define ST_HOT_EMIT 4 /* numbers of bits */
#define ST_HOT_BACK 5
#define ST_HOT_STOP 6

/* Where a call of st_dfa_hot stands. */
typedef struct st_dfa_place {
    const uint8_t *at, *stop; /* text */
    unsigned state;           /* number of a hot state */
    uint64_t here, back;      /* offsets of text at[0], and of the character before it */
    uint64_t *to;             /* where the next end goes */
    const uint64_t *full;     /* ends go no farther than 64 behind it */
} st_dfa_place;

/* The most that one round writes, used or not. */
#define ST_HOT_ROOM 80
/* Text is read by so many bytes. */
#define ST_HOT_BYTES 16

/* Goes on while steps can be made in a register, ST_HOT_BYTES bytes of text are left, and `to` is not behind `full`. */
typedef void st_dfa_hot_function(const st_dfa *dfa, st_dfa_place *place);

st_dfa_hot_function st_dfa_hot_neon, st_dfa_hot_avx2;

/* That of the tier in use; NULL: it has none. */
st_dfa_hot_function *st_dfa_hot(void);

#endif
