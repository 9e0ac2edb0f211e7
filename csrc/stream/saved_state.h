/* The state of an encoder as bytes: to copy a stream into another process, or to resume a file. Little-endian, the same
 * on every machine; the caller adds version, checksum and the names of vocabulary and options. */
#ifndef ST_STREAM_SAVED_STATE_H
#define ST_STREAM_SAVED_STATE_H

#include "stream/encoder.h"

/* Appends the state to `out`. ST_NO_MEMORY: the bytes behind the old size of `out` are undefined. */
st_status st_encoder_save(const st_encoder *encoder, st_bytes *out);

/* Loads a saved state. Vocabulary, family, engine and special tokens must be set as they were. A state that no encoder can have
 * saved is refused with ST_BAD_STATE, and the encoder is then reset. */
st_status st_encoder_load(st_encoder *encoder, const uint8_t *state, size_t n);

#endif
