/* A text that is decoded as its ids come: whole characters of valid UTF-8, up to the first stop string. A program keeps one
 * decoder for each of thousands of texts, so it is small: a cut character, and where in the stop strings the text ends.
 *
 * Stop strings: the one that ends first counts; of several that end at one place, the longest. A string that another one lies in,
 * but for its end, can never end first, and has to be left out of the set. In what is left no string begins another one. So the
 * leftmost name (special/special_tokens.h) is the one that ends first, and it is known as soon as its last byte is there.
 *
 * Thread rule: one call at a time for a decoder, and for a scratch. */
#ifndef ST_DECODERS_DECODER_H
#define ST_DECODERS_DECODER_H

#include "special/special_tokens.h"
#include "text/chunk.h"
#include "vocab/decode.h"

#define ST_NO_STOP UINT32_MAX

typedef struct st_decoder {
    const st_special *stops; /* not owned; NULL: there are none */
    uint32_t node;           /* the end of the text that may begin a stop string; its bytes are held back */
    uint32_t stop;           /* id of the stop string that ended the text, or ST_NO_STOP */
    uint8_t partial[3];      /* a character whose end has not come */
    uint8_t partial_size;
} st_decoder;

/* What the decoders of a thread share: memory that lasts no longer than a call. */
typedef struct st_decoder_scratch {
    st_text_stage stage;
    st_bytes bytes;
} st_decoder_scratch;

void st_decoder_reset(st_decoder *decoder, const st_special *stops);

/* Room for text of n bytes, repaired: feeding ids that have no more does not fail for want of it. */
st_status st_decoder_reserve(st_decoder_scratch *scratch, size_t n);
void st_decoder_scratch_free(st_decoder_scratch *scratch);

/* The bytes that the decoder holds back of stop strings: *n of them. */
const uint8_t *st_decoder_held(const st_decoder *decoder, size_t *n);

/* Appends the text that the ids complete. Behind a stop string there is none. final: the text ends with these ids.
 * ST_UNKNOWN_TOKEN, ST_NO_MEMORY: decoder and `out` are as they were. */
st_status st_decoder_feed(const st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, int final,
                          st_decoder_scratch *scratch, st_decoder *decoder, st_bytes *out);

/* The same for text, valid UTF-8, of an encoding whose tokens are spelled in another way. */
st_status st_decoder_pass(const uint8_t *text, size_t n, int final, st_decoder *decoder, st_bytes *out);

#endif
