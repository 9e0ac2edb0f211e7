/* attached.h - what the stages above build for a vocabulary at first need, and leave with it. */
#ifndef ST_VOCAB_ATTACHED_H
#define ST_VOCAB_ATTACHED_H

#include <stddef.h>

#include "base/atomic.h"
#include "base/status.h"

struct st_vocab;

/* The first member of each such thing: the vocabulary knows only how to let it go. */
typedef struct st_attached {
    void (*release)(struct st_attached *attached);
} st_attached;

/* How one is made. `build` gets `size` bytes that are zero but for the first member; `release` also takes what a build that failed
 * left. */
typedef struct {
    size_t size;
    st_status (*build)(st_attached *made, const struct st_vocab *vocab);
    void (*release)(st_attached *attached);
} st_attached_kind;

/* Makes one and publishes it at an empty place. If another thread was faster, its own is returned: both are the same. NULL if there is
 * no memory. */
void *st_attach(st_attached **place, const st_attached_kind *kind, const struct st_vocab *vocab);

/* What is at the place, made by the first call; NULL if there is no memory. */
static inline void *st_attached_at(st_attached **place, const st_attached_kind *kind, const struct st_vocab *vocab)
{
    void *there = st_acquire((void **)place);
    return there ? there : st_attach(place, kind, vocab);
}

#endif
