/* Where the text comes from that tokens stand for: a text goes once more through what is in front of the splitter, part by part between
 * names, and each byte of what comes out knows the character that it came from. */
#ifndef ST_STREAM_TRACE_H
#define ST_STREAM_TRACE_H

#include "base/reader.h"
#include "split/scan.h"
#include "stream/front.h"
#include "vocab/vocab.h"

typedef struct st_tracing {
    st_vocab *vocab;
    st_pattern pattern;
    const st_normalizer *normalizer;               /* NULL: none */
    const st_special *names;                       /* that are allowed; NULL: none */
    st_span (*name_of)(void *context, uint32_t id); /* the bytes of a name */
    /* Appends where each piece of a text begins and ends, as int64_t; NULL: the pattern tells. */
    st_status (*pieces)(void *context, const uint8_t *text, size_t n, st_bytes *spans);
    void *context;
    st_bytes made;   /* the text of the pieces and names, where the model keeps bytes */
    st_bytes places; /* size_t: of each byte of it, else of each token, the place in the text */
    st_bytes parts[ST_FRONT_FLOWS]; /* normalized text: of a part between names, of one between late names, of a piece, and so on; */
    st_bytes sources[ST_FRONT_FLOWS]; /* size_t: for each byte its place in the given text */
    st_ids starts;
} st_tracing;

/* Fills `made` and `places`, which are empty, for valid UTF-8. */
st_status st_trace(st_tracing *t, const uint8_t *text, size_t n);
void st_tracing_free(st_tracing *t);

#endif
