/* cutter.h - cuts a text at the names of added tokens, as Hugging Face's tokenizers does it, across chunks.
 *
 * Names are found as in special/special_tokens.h. Then, for each one that is found (ST_NAME_... in special_tokens.h):
 *   - one that stands ALONE is dropped where a character of a word is beside it, and its text is ordinary text;
 *   - one that takes white space on its LEFT takes all of it that no name in front has taken, and so on its RIGHT. The white space
 *     on the right still counts as text in which the next name may begin; if one begins there, the text goes on behind that name.
 * A name of white space alone that takes white space on its left does not go together with one that does so on its right.
 *
 * Between two feeds the cutter holds the beginning of what may become a name, a name whose next character is needed, and the white
 * space in front of these, where some name takes it. All of that lies in `held`; whatever comes is appended to it until all that is
 * still open lies in the new text alone.
 *
 * Thread rule: one cutter belongs to one thread at a time. */
#ifndef ST_SPECIAL_CUTTER_H
#define ST_SPECIAL_CUTTER_H

#include "base/buffer.h"
#include "special/special_tokens.h"

/* Where text and names go, in order. */
typedef struct st_cutter_sink {
    st_status (*text)(void *context, const uint8_t *text, size_t n); /* follows directly on that of the call before */
    st_status (*end)(void *context);                                 /* a name comes next, or the whole text ends */
    st_status (*name)(void *context, uint32_t id, const uint8_t *text); /* text: where it begins, with white space that it takes */
    void *context;
} st_cutter_sink;

/* What is had back when a feed fails. */
typedef struct st_cutter_state {
    uint32_t node;   /* for the end of what is held, the longest that begins a name; 0 = none */
    size_t start;    /* what is held is held.data[start..held.size) */
    size_t size;     /* of `held`; set by st_cutter_mark */
    size_t searched; /* so many bytes of what is held need not be searched again */
    size_t blank;    /* so many bytes at the start of what is held are white space */
    int skips;       /* the last name takes the white space that follows, and nothing else has come yet */
    int in_word;     /* the character in front of what is held belongs to a word */
} st_cutter_state;

typedef struct st_cutter {
    const st_special *names; /* not owned; NULL = none: all is text */
    st_bytes held;
    st_cutter_state state;
} st_cutter;

void st_cutter_free(st_cutter *cutter);

/* Forgets the text. */
void st_cutter_reset(st_cutter *cutter);

/* text[0..n) is valid UTF-8 and follows on that of the call before. final: the text ends with it; the cutter is then at the start
 * of the next one. After an error, st_cutter_roll_back or st_cutter_reset. */
st_status st_cutter_feed(st_cutter *cutter, const uint8_t *text, size_t n, int final, const st_cutter_sink *sink);

/* Bytes that it holds. */
static inline size_t st_cutter_held(const st_cutter *cutter)
{
    return cutter->held.size - cutter->state.start;
}

void st_cutter_mark(const st_cutter *cutter, st_cutter_state *mark);
void st_cutter_roll_back(st_cutter *cutter, const st_cutter_state *mark);
void st_cutter_commit(st_cutter *cutter);

/* target (initialised, same names) takes the state of source. ST_NO_MEMORY: target is reset. */
st_status st_cutter_copy(st_cutter *target, const st_cutter *source);

/* Into a reset cutter: fields of a state, all but `start` and `size`, and what is held. `node` is found here; `named` is the size of
 * its text. ST_BAD_STATE: no cutter with these names can hold that. */
st_status st_cutter_restore(st_cutter *cutter, const st_cutter_state *state, size_t named, const uint8_t *held, size_t n);

#endif
