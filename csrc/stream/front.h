/* front.h - what a text goes through in front of the splitter where it is normalized, or where names of added tokens have rules of
 * their own: names are found in the text as it was given, what lies between two of them is normalized by itself, and late names are
 * found in that.
 *
 *     text -> names (special/cutter.h) -> normalizer (normal/normalizer.h) -> late names (special/cutter.h) -> normalizer->behind -> sink
 *
 * Where the last step of that splits it into pieces, normalizer->behind->behind is done to each of them, and so on; each of the last
 * pieces is to the sink as a text of its own.
 *
 * Late names without flags are found behind it, as the names of a text that needs no front, unless something is done behind them. A
 * step may ask whether a part is the first one (st_flow.later), and what of it comes from its first character; a text that begins with a
 * name has no first part. */
#ifndef ST_STREAM_FRONT_H
#define ST_STREAM_FRONT_H

#include "normal/normalizer.h"
#include "special/cutter.h"

/* What parts of a text go through: the normalizer between names, what is behind it between late names, what is behind that in a piece,
 * and in a piece of these. */
enum { ST_FRONT_PIECE = 2, ST_FRONT_FLOWS = ST_FRONT_PIECE + ST_MOST_SPLITS };

typedef struct st_front {
    int is_on;
    st_cutter names, late;
    size_t count; /* of the flows that this text goes through: 1 for most */
    st_flow flows[ST_FRONT_FLOWS];
} st_front;

/* Sets what is used from now on; all of it stays the caller's. normalizer, names: NULL = none. */
void st_front_use(st_front *front, const st_normalizer *normalizer, const st_special *names);
void st_front_free(st_front *front);

/* text[0..n) is valid UTF-8 and follows on that of the call before. The sink's end() comes in front of each name and where the whole
 * text ends, with no text in front of it or some. After an error, st_front_roll_back or st_front_reset. */
st_status st_front_feed(st_front *front, const uint8_t *text, size_t n, int final, const st_cutter_sink *sink);

void st_front_reset(st_front *front);

/* Bytes that it holds. */
size_t st_front_held(const st_front *front);

/* What is had back when a feed fails. */
typedef struct st_front_marks {
    st_cutter_state names, late;
    int later[ST_FRONT_FLOWS];
    st_flow_marks flows[ST_FRONT_FLOWS];
} st_front_marks;

void st_front_mark(const st_front *front, st_front_marks *marks);
void st_front_roll_back(st_front *front, const st_front_marks *marks);
void st_front_commit(st_front *front);

/* target (initialised, same normalizer and names) takes the state of source. ST_NO_MEMORY: target is reset. */
st_status st_front_copy(st_front *target, const st_front *source);

#endif
