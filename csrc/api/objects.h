/* objects.h - what the opaque types of streamtok.h are, and what the functions of that header share. */
#ifndef ST_API_OBJECTS_H
#define ST_API_OBJECTS_H

#include "base/atomic.h"
#include "compiled/compiled.h"
#include "stream/encoder.h"
#include "streamtok.h"

struct stk_model {
    st_compiled *compiled;
    void *block; /* of the file */
    int users;   /* the caller, and objects that keep it */
};

struct stk_coder {
    stk_model *model;
    int users;
    st_errors errors;
    uint32_t flags;
    st_special *allowed, *refused; /* NULL: none */
    st_special *plain;             /* found where no special token is; the same as `allowed`, or NULL */
    uint8_t *is_allowed;           /* by number of an added token: it is found; */
    uint8_t *is_plain;             /* also where no special token is */
    st_ids spare;                  /* memory that an earlier call has left, for one thread at a time */
    int is_lent;
};

/* What a call works with. */
typedef struct stk_buffer {
    st_ids ids;
    int borrowed;
} stk_buffer;

stk_buffer stk_buffer_take(stk_coder *coder);
void stk_buffer_give(stk_coder *coder, stk_buffer *buffer);

stk_model *stk_model_keep(stk_model *model);
stk_coder *stk_coder_keep(stk_coder *coder);

stk_status stk_status_of(st_status status);

/* All fields 0. */
void stk_fault_clear(stk_fault *fault);
/* Says what a failing feed of the core has said. Returns its status. */
stk_status stk_fault_of(st_status status, const st_feed_error *error, stk_fault *fault);

/* An encoder with the coder's options. */
void stk_encoder_begin(const stk_coder *coder, st_encoder *encoder);

/* Appends the ids around a text, if the coder puts them there. */
st_status stk_add_prefix(const stk_coder *coder, st_ids *ids);
st_status stk_add_suffix(const stk_coder *coder, st_ids *ids);

/* Copies as many as there is room for. */
stk_status stk_put_ids(const st_ids *from, uint32_t *ids, size_t capacity, size_t *count);

/* The bytes of an id; NULL: there is none. */
const uint8_t *stk_bytes_of(const st_compiled *compiled, uint32_t id, size_t *n);

/* A text that is not NULL where it is empty. */
static inline const uint8_t *stk_text_of(const char *text, size_t n)
{
    return n ? (const uint8_t *)text : (const uint8_t *)"";
}

#endif
