/* attached.h - what the stages above build for a vocabulary at first need, and leave with it. */
#ifndef ST_VOCAB_ATTACHED_H
#define ST_VOCAB_ATTACHED_H

#include "base/atomic.h"

/* The first member of each such thing: the vocabulary knows only how to let it go. */
typedef struct st_attached {
    void (*release)(struct st_attached *attached);
} st_attached;

/* Publishes `made` at an empty place and returns it. If another thread was faster, `made` is released and the other one returned:
 * both are the same. */
static inline void *st_attach(st_attached **place, st_attached *made)
{
    st_attached *other = st_publish((void **)place, made);
    if (!other)
        return made;
    made->release(made);
    return other;
}

#endif
