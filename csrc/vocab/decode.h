/* Ids to bytes. */
#ifndef ST_VOCAB_DECODE_H
#define ST_VOCAB_DECODE_H

#include "base/buffer.h"
#include "vocab/vocab.h"

/* Special tokens by id, ascending: bytes[starts[i]..starts[i + 1]) is the name of ids[i]. */
typedef struct st_names {
    const uint8_t *bytes;
    const size_t *starts;
    const uint32_t *ids;
    size_t count;
} st_names;

/* The bytes of one id, special tokens included; NULL if it is unknown. If an id is that of an
 * ordinary token too, the ordinary token wins. */
const uint8_t *st_decode_one(const st_vocab *vocab, const st_names *names, uint32_t id, size_t *n);

/* Appends the bytes of ids[0..count). ST_UNKNOWN_TOKEN: *bad is the index of the first unknown id, `out` as it was. */
st_status st_decode(const st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, st_bytes *out,
                    size_t *bad);

#endif
