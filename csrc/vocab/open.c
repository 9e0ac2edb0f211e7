#include "vocab/open.h"

#include <string.h>

#include "base/alloc.h"

void st_open_begin(st_open *open, int merged_only)
{
    open->base = open->root = open->oldest = open->frontier = open->end = 0;
    open->state = 0;
    open->active = 1;
    open->merged_only = (uint32_t)merged_only;
    open->text.size = open->own.size = 0;
    if (open->window)
        open->window[0] = (st_open_entry){0, 0, 0};
}

void st_open_free(st_open *open)
{
    st_free(open->window);
    st_bytes_free(&open->text);
    st_bytes_free(&open->own);
    memset(open, 0, sizeof *open);
}

st_status st_open_keep(st_open *open, const uint8_t *text, size_t n, size_t pending)
{
    const size_t kept = pending > n ? pending - n : 0; /* of those that were pending before */
    st_bytes_drop(&open->text, open->text.size - kept);
    ST_TRY(st_bytes_append(&open->text, text + (n - (pending - kept)), pending - kept));
    open->end += n;
    open->root = open->frontier = open->end - pending;
    return ST_OK;
}

st_status st_open_push(st_open *open, st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    return v->model->push ? v->model->push(open, v, scratch, text, n, out) : st_open_keep(open, text, n, open->text.size + n);
}

st_status st_open_finish(st_open *open, st_vocab *v, void *scratch, st_ids *out)
{
    if (v->model->finish)
        ST_TRY(v->model->finish(open, v, out));
    else
        ST_TRY(v->model->whole(v, scratch, open->text.data, open->text.size, out));
    open->active = 0;
    open->end = open->root = open->base = 0;
    open->text.size = open->own.size = 0;
    return ST_OK;
}

uint32_t st_open_previous(const st_open *open, const st_vocab *v)
{
    return open->root && v->model->previous ? v->model->previous(open, v) : ST_NONE;
}

/* Without `load` the pending text is replayed behind the token in front of it. */
st_status st_open_restore(st_open *open, st_vocab *v, void *scratch, const st_open_saved *saved)
{
    const st_model *model = v->model;
    st_ids none = {0};
    st_open_begin(open, saved->merged_only);
    if (model->load)
        return saved->previous == ST_NONE ? model->load(open, v, saved->text, saved->n, saved->own, saved->own_size) : ST_BAD_STATE;
    if (saved->own_size || (saved->previous != ST_NONE && !model->begin_behind))
        return ST_BAD_STATE; /* its state is what is pending, and nothing else */
    if (saved->previous != ST_NONE)
        ST_TRY(model->begin_behind(open, v, saved->previous));
    const uint64_t root = open->root;
    st_status status = st_open_push(open, v, scratch, saved->text, saved->n, &none);
    st_ids_free(&none);
    if (!status && (open->root != root || (saved->n && model->is_reached && !model->is_reached(open))))
        status = ST_BAD_STATE; /* more could have left than had: no encoder was in this state */
    return status;
}

st_status st_open_copy(st_open *target, const st_open *source)
{
    size_t used = source->window ? (size_t)(source->end - source->base) + 1 : 0;
    st_open_begin(target, 0);
    if (used > target->capacity) {
        st_open_entry *window = st_realloc(target->window, used * sizeof *window);
        if (!window)
            return ST_NO_MEMORY;
        target->window = window;
        target->capacity = used;
    }
    if (st_bytes_append(&target->text, source->text.data, source->text.size) ||
        st_bytes_append(&target->own, source->own.data, source->own.size))
        return ST_NO_MEMORY;
    if (used)
        memcpy(target->window, source->window, used * sizeof *target->window);
    st_open_entry *window = target->window;
    size_t capacity = target->capacity;
    st_bytes text = target->text, own = target->own;
    *target = *source;
    target->window = window;
    target->capacity = capacity;
    target->text = text;
    target->own = own;
    return ST_OK;
}
