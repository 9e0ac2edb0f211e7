/* The first stage: checks UTF-8, and refuses or repairs invalid bytes. All later stages get valid UTF-8. */
#ifndef ST_TEXT_UTF8_CHECK_H
#define ST_TEXT_UTF8_CHECK_H

#include "base/reader.h"

typedef enum st_errors {
    ST_ERRORS_STRICT,  /* invalid bytes are refused */
    ST_ERRORS_REPLACE, /* each becomes U+FFFD, as bytes.decode(errors="replace") has it */
    ST_ERRORS_IGNORE   /* each is dropped, as bytes.decode(errors="ignore") has it */
} st_errors;

/* One ill-formed sequence, text[start..end), with the extent and the reason that CPython reports. */
typedef enum st_text_fault {
    ST_TEXT_INVALID_START,
    ST_TEXT_INVALID_CONTINUATION,
    ST_TEXT_UNEXPECTED_END /* the text ends inside a character */
} st_text_fault;

typedef struct st_text_error {
    size_t start, end;
    st_text_fault fault;
} st_text_error;

/* Length of the valid part of text[0..n): n if all is valid, else error->start. Also n if the call is to end (base/interrupt.h)
 * and there are more than ST_LONG_CHECK bytes: call st_go_on(0) before the result is used. */
#define ST_LONG_CHECK ((size_t)1 << 20)
size_t st_text_check(const uint8_t *text, size_t n, st_text_error *error);

/* Appends text[0..n) to `out`, ill-formed sequences replaced or dropped. */
st_status st_text_repair(const uint8_t *text, size_t n, st_errors errors, st_bytes *out);

/* Bytes with their number in front; the reader fails where they are not valid UTF-8. */
st_span st_read_text(st_reader *r);

#endif
