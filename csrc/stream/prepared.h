/* prepared.h - a whole text as a device takes it that only splits and merges: normalized, in parts between the names of added
 * tokens. Thread rule: what front.h says. */
#ifndef ST_STREAM_PREPARED_H
#define ST_STREAM_PREPARED_H

#include "base/buffer.h"
#include "stream/front.h"

/* Where a part ends in the normalized text, and the id of the name behind it. */
typedef struct st_part {
    uint64_t end;
    int64_t id; /* -1: the text ends */
} st_part;

/* Appends the normalized text[0..n), which is valid UTF-8, and its st_parts. names: NULL = none. */
st_status st_prepare(const st_normalizer *normalizer, const st_special *names, const uint8_t *text, size_t n, st_bytes *normal,
                     st_bytes *parts);

#endif
