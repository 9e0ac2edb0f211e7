/* The encoder: text cut anywhere -> ids. feed() returns the ids that no later text can change, flush() the rest.
 *
 *     text (text/chunk.h) -> special tokens (special/special_tokens.h) -> pieces (split/scan.h)
 *     -> ids (lookup/encode_pieces.h, vocab/open.h)
 *
 * Where the text is normalized, or names have rules of their own, that comes first (stream/front.h); `allowed` then holds the names
 * without such rules that are found in normalized text.
 *
 * One core serves one-shot and streaming: encoding a whole text is a feed with `final` set. Between two feeds the
 * encoder holds: up to 3 bytes of a cut character; the open piece, or, once that is longer than its model holds, what
 * vocab/open.h keeps of it; and the beginning of what may become an allowed special token.
 *
 * A feed that fails leaves the encoder, and `out`, as they were before it.
 * Thread rule: one encoder belongs to one thread at a time; different encoders share a vocabulary freely. */
#ifndef ST_STREAM_ENCODER_H
#define ST_STREAM_ENCODER_H

#include "special/disallowed.h"
#include "special/special_tokens.h"
#include "split/scan.h"
#include "stream/front.h"
#include "stream/gather.h"
#include "stream/open_piece.h"
#include "text/chunk.h"

/* Held bytes: data[start..size). The bytes before `start` are kept until the feed is known to succeed. */
typedef struct st_carry {
    st_bytes bytes;
    size_t start;
} st_carry;

typedef struct st_encoder {
    st_vocab *vocab;             /* not owned */
    const st_special *allowed;   /* found in what is split; not owned; NULL = none */
    st_front front;              /* in front of all that follows */
    st_pattern pattern;
    st_engine engine;
    st_text_stage text;
    st_watch watch;     /* for disallowed special tokens */
    uint32_t name;      /* node of `allowed` for the longest end of the carry that begins an allowed name; 0 = none */
    st_scan scan;       /* of the open piece */
    st_carry carry;     /* the open piece without the bytes taken from its front, then text not scanned yet */
    st_open_piece open; /* what was taken of the open piece */
    st_gather gather;   /* parts of the text, within a feed */
    st_bytes copy;      /* of a chunk that others may change, within a feed */
    st_workspace *workspace; /* of a caller that lends one for many feeds; NULL: each feed borrows one */
} st_encoder;

/* What a failing feed reports besides its status. */
typedef struct st_feed_error {
    uint64_t offset;     /* in bytes from the start of the text: of the invalid bytes, or of the special token's name */
    uint32_t id;         /* of the disallowed special token */
    st_text_error text;  /* positions counted from the first held byte of a cut character (offset says where that is) */
} st_feed_error;

void st_encoder_init(st_encoder *encoder, st_vocab *vocab, st_pattern pattern);
void st_encoder_free(st_encoder *encoder);

/* Sets the names of allowed special tokens, and the normalizer; NULL = none. Both stay the caller's. */
void st_encoder_allow(st_encoder *encoder, const st_special *names, const st_normalizer *normalizer);

/* Flags of a feed. */
enum {
    ST_FEED_FINAL = 1,  /* the text ends with these bytes; the encoder is then ready for the next text */
    ST_FEED_TRUSTED = 2, /* the bytes are valid UTF-8: skip the check */
    ST_FEED_SHARED = 4   /* other threads may write to the bytes meanwhile: they are copied first, because all stages rely on what was
                          * checked, and the caches of the vocabulary on one text. Not together with ST_FEED_TRUSTED */
};

/* Appends to `out` the ids that became final. */
st_status st_encoder_feed(st_encoder *encoder, const uint8_t *text, size_t n, int flags, st_ids *out,
                          st_feed_error *error);

/* The same for a whole text, from where the encoder is ready for one. What is shared is copied in slices. After a failure the encoder is to
 * be reset; the positions in *error count from the first byte. */
st_status st_encoder_whole(st_encoder *encoder, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error);

/* Adds the number of ids of a whole text, of any length, to *count. The text is fed in slices, whose ids go to `scratch`.
 * Errors are those of st_encoder_whole. */
st_status st_encoder_count(st_encoder *encoder, const uint8_t *text, size_t n, int flags, st_ids *scratch, size_t *count,
                           st_feed_error *error);

/* Encodes text[spans[0]..spans[1]), text[spans[2]..spans[3]), ... as one piece each, for callers with a splitter of their own.
 * Uses only the vocabulary and the engine of the encoder. */
st_status st_encoder_spans(st_encoder *encoder, const uint8_t *text, const int64_t *spans, size_t count, st_ids *out);

/* Forgets the text; options stay. */
void st_encoder_reset(st_encoder *encoder);

/* Bytes fed whose ids have not been returned. */
uint64_t st_encoder_pending(const st_encoder *encoder);

/* target (initialised, same vocabulary and options) takes the state of source. ST_NO_MEMORY: target is reset. */
st_status st_encoder_copy(st_encoder *target, const st_encoder *source);

#endif
