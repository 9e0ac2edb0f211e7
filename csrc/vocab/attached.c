#include "vocab/attached.h"

#include "base/alloc.h"

void *st_attach(st_attached **place, const st_attached_kind *kind, const struct st_vocab *vocab)
{
    st_attached *made = st_alloc_table(kind->size);
    if (!made)
        return NULL;
    made->release = kind->release;
    st_attached *other = NULL;
    if (!kind->build(made, vocab) && !(other = st_publish((void **)place, made)))
        return made;
    made->release(made);
    return other;
}
