#include "workspace.h"

#include "alloc.h"
#include "publish.h"

st_workspace *st_workspace_borrow(st_vocab *vocab)
{
    for (size_t i = 0; i < ST_POOL_SIZE; i++) {
        if (!st_acquire((void **)&vocab->pool[i]))
            continue;
        st_workspace *found = st_take((void **)&vocab->pool[i]);
        if (found)
            return found;
    }
    return st_alloc_table(sizeof(st_workspace));
}

void st_workspace_return(st_vocab *vocab, st_workspace *workspace)
{
    for (size_t i = 0; i < ST_POOL_SIZE; i++)
        if (!st_acquire((void **)&vocab->pool[i]) && !st_publish((void **)&vocab->pool[i], workspace))
            return;
    st_workspace_free(workspace); /* more threads than places: the pool stays bounded */
}

void st_workspace_free(st_workspace *workspace)
{
    if (!workspace)
        return;
    st_long_piece_free(&workspace->long_piece);
    st_reference_scratch_free(&workspace->reference);
    st_free(workspace);
}
