#include "lookup/workspace.h"

#include "base/alloc.h"
#include "base/atomic.h"

static void release(st_attached *attached)
{
    st_workspace *workspace = (st_workspace *)attached; /* its first member */
    st_long_piece_free(&workspace->long_piece);
    st_long_scratch_free(&workspace->scratch);
    st_reference_scratch_free(&workspace->reference);
    st_free(workspace->block);
}

st_workspace *st_workspace_borrow(st_vocab *vocab)
{
    for (size_t i = 0; i < ST_POOL_SIZE; i++) {
        if (!st_acquire((void **)&vocab->pool[i]))
            continue;
        st_workspace *found = st_take((void **)&vocab->pool[i]);
        if (found)
            return found;
    }
    void *block;
    st_workspace *workspace = st_alloc_zeros(sizeof *workspace, &block);
    if (workspace) {
        workspace->attached.release = release;
        workspace->block = block;
    }
    return workspace;
}

void st_workspace_return(st_vocab *vocab, st_workspace *workspace)
{
    for (size_t i = 0; i < ST_POOL_SIZE; i++)
        if (!st_acquire((void **)&vocab->pool[i]) && !st_publish((void **)&vocab->pool[i], workspace))
            return;
    release(&workspace->attached); /* more threads than places: the pool stays bounded */
}
