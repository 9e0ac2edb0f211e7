/* Reading a JSON text in one pass: where values lie, what strings hold. Only what the two long lists of a model file need
 * (listing/listing.h); all else of such a file is short and read elsewhere.
 *
 * The text is valid UTF-8 and is followed by a byte of value 0, which no JSON text holds outside of a string: no reader
 * passes it, so none has to compare its place with the end. */
#ifndef ST_LISTING_JSON_H
#define ST_LISTING_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* A place in the text, and why the reading ended there; NULL as long as nothing is wrong. */
typedef struct st_json {
    const uint8_t *at;
    const char *fault;
} st_json;

/* Moves behind white space. */
void st_json_blank(st_json *json);

/* Moves behind white space and the byte, and behind white space after it. 0: another byte stands there; nothing is moved but
 * behind the white space in front. */
int st_json_take(st_json *json, uint8_t byte);

/* Appends the string that begins here, without its quotes and escapes, to `out`. On failure json->fault is set, but for
 * ST_NO_MEMORY. */
st_status st_json_string(st_json *json, st_bytes *out);

/* Reads a whole number of at most `most`, and sets the fault if something else stands here. */
uint32_t st_json_number(st_json *json, uint32_t most);

/* Reads a number as Rust's serde_json does, without its feature float_roundtrip: the first digits, as many as 64 bits hold, times a
 * power of ten, with one rounding each. So a quarter of all scores differ in the last bit from the number that is written. Sets the
 * fault if something else stands here, or a number that is too large. */
double st_json_real(st_json *json);

/* Moves behind the value that begins here. Brackets are counted, not matched, and what stands between them is not looked at:
 * whoever reads the value finds what is wrong with it. */
void st_json_skip(st_json *json);

#endif
