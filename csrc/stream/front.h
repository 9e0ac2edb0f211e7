/* front.h - what a text goes through in front of the splitter where it is normalized: names of added tokens are found in the text
 * as it was given, and what lies between two of them is normalized by itself.
 *
 *     text -> names (special/names.h) -> normalizer (normal/normalizer.h) -> sink
 *
 * A step may ask whether a part is the first one (flow.later). A text that begins with a name has no first part.
 *
 * Between two feeds the front holds the beginning of what may become a name, as a node, and what the normalizer waits with. */
#ifndef ST_STREAM_FRONT_H
#define ST_STREAM_FRONT_H

#include "normal/normalizer.h"
#include "special/names.h"

typedef struct st_front {
    int is_on;               /* the text is normalized */
    const st_special *names; /* not owned; found in the text as it was given; NULL = none */
    uint32_t node;           /* of `names`, for the longest end of the text that begins one; 0 = none */
    st_flow flow;
} st_front;

/* Where text and names go, in order. */
typedef struct st_front_sink {
    st_normal_sink *text;                            /* normalized text, which follows directly on that of the call before */
    st_status (*end)(void *context);                 /* the text in front of a name ends, or the whole text */
    st_status (*name)(void *context, uint32_t id);
    void *context;
} st_front_sink;

/* Normalizes from now on. The normalizer stays the caller's. */
void st_front_use(st_front *front, const st_normalizer *normalizer, const st_special *names);
void st_front_free(st_front *front);

/* text[0..n) is valid UTF-8 and follows on that of the call before. After an error, st_front_roll_back or st_front_reset. */
st_status st_front_feed(st_front *front, const uint8_t *text, size_t n, int final, const st_front_sink *sink);

void st_front_reset(st_front *front);

/* Bytes that it holds. */
size_t st_front_held(const st_front *front);

/* What is had back when a feed fails. */
typedef struct st_front_marks {
    uint32_t node;
    int later;
    st_flow_marks flow;
} st_front_marks;

void st_front_mark(const st_front *front, st_front_marks *marks);
void st_front_roll_back(st_front *front, const st_front_marks *marks);
void st_front_commit(st_front *front);

/* target (initialised, same normalizer and names) takes the state of source. ST_NO_MEMORY: target is reset. */
st_status st_front_copy(st_front *target, const st_front *source);

#endif
