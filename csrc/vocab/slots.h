/* The bytes of tokens by id, 16 bytes each, for decoding: a load and a store of fixed size copy a token, whatever its length. */
#ifndef ST_VOCAB_SLOTS_H
#define ST_VOCAB_SLOTS_H

#include "vocab/vocab.h"

#define ST_SLOT_BYTES 15

typedef struct st_slot {
    uint8_t bytes[ST_SLOT_BYTES];
    uint8_t length; /* 0: no token has this id, or one that is longer than a slot */
} st_slot;

typedef struct st_slots {
    st_attached attached;
    size_t count; /* ids 0 .. count - 1 have a slot */
    uint8_t padding[64 - sizeof(st_attached) - sizeof(size_t)]; /* so that no slot lies across two cache lines */
    st_slot slot[];
} st_slots;

/* The slots, for a call that decodes `ids` ids; NULL as long as they do not pay, and where memory is short. Any thread may call. */
const st_slots *st_vocab_slots(st_vocab *vocab, size_t ids);

#endif
