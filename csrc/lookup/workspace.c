#include "lookup/workspace.h"

#include "base/alloc.h"
#include "base/atomic.h"

static void release(st_attached *attached)
{
    st_workspace *workspace = (st_workspace *)attached; /* its first member */
    if (workspace->model->release)
        workspace->model->release(workspace->scratch);
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
    st_workspace *workspace;
    const size_t size = (sizeof *workspace + 63) / 64 * 64;
    workspace = st_alloc_zeros(size + vocab->model->scratch, &block);
    if (workspace) {
        workspace->attached.release = release;
        workspace->block = block;
        workspace->scratch = (uint8_t *)workspace + size;
        workspace->model = vocab->model;
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
