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

/* Ids to decode: the first `done` of ids[0..count) are, and the next one has `next` bytes, if there was no room for it. */
typedef struct st_decoding {
    const uint32_t *ids;
    size_t count, done, next;
} st_decoding;

/* Writes the bytes of the next ids to to[*size..capacity), and moves `done` and *size behind what it wrote. It may write more of `to` than
 * that. ST_OK with done < count: there was no room for the next id. ST_UNKNOWN_TOKEN: the next id is unknown. */
st_status st_decode_into(st_vocab *vocab, const st_names *names, st_decoding *decoding, uint8_t *to, size_t capacity, size_t *size);

/* Bytes to have room for, for the ids that are left: what those before took a token, or what tokens of English do. */
size_t st_decode_room(const st_decoding *decoding, size_t size);

/* Appends the bytes of ids[0..count). ST_UNKNOWN_TOKEN: *bad is the index of the first unknown id. `out` is as it was where it fails. */
st_status st_decode(st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, st_bytes *out, size_t *bad);

/* How many of ids[0..count), from the first on, text[0..n) begins with the bytes of; *bytes is the number of these. Unknown ids
 * have none. */
size_t st_decode_match(st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, const uint8_t *text, size_t n,
                       size_t *bytes);

/* The same from the last on, with which the text ends. */
size_t st_decode_match_back(const st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, const uint8_t *text,
                            size_t n, size_t *bytes);

/* Leaves out the ids of a sorted list. Returns how many ids are left in to[0..count), which may be ids. */
size_t st_ids_without(const uint32_t *ids, size_t count, const uint32_t *sorted, size_t sorted_count, uint32_t *to);

#endif
