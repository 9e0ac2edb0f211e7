/* Versions, messages, memory, and compiled models. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "api/objects.h"
#include "models/models.h"

#ifndef STK_VERSION
#define STK_VERSION "0"
#endif

uint32_t stk_abi_version(void)
{
    return STK_ABI_VERSION;
}

const char *stk_version(void)
{
    return STK_VERSION;
}

const char *stk_message(stk_status status)
{
    switch (status) {
    case STK_OK: return "done";
    case STK_MORE: return "the buffer has too little room";
    case STK_NO_MEMORY: return "not enough memory";
    case STK_BAD_ARGUMENT: return "an argument is wrong";
    case STK_NO_FILE: return "the file cannot be read";
    case STK_NOT_A_MODEL: return "the file is no compiled model; streamtok compile makes one";
    case STK_OTHER_VERSION: return "another version of streamtok compiled the model: compile it anew";
    case STK_OTHER_MACHINE: return "the model was compiled for machines of another byte order: compile it on this one";
    case STK_DAMAGED: return "the compiled model is damaged: compile it anew";
    case STK_NOT_UTF8: return "the text is not UTF-8";
    case STK_SPECIAL_REFUSED: return "the text names a special token that is refused";
    case STK_UNKNOWN_ID: return "no token has this id";
    case STK_UNKNOWN_NAME: return "the model has no token of this name";
    case STK_NO_TOKEN: return "the text holds what is no token of this vocabulary";
    case STK_UNSUPPORTED: return "the model cannot do that";
    }
    return "unknown status";
}

stk_status stk_status_of(st_status status)
{
    switch (status) {
    case ST_OK: return STK_OK;
    case ST_NO_MEMORY: return STK_NO_MEMORY;
    case ST_INVALID_UTF8: return STK_NOT_UTF8;
    case ST_DISALLOWED_SPECIAL: return STK_SPECIAL_REFUSED;
    case ST_UNKNOWN_TOKEN: return STK_UNKNOWN_ID;
    case ST_MISSING_BYTE: return STK_NO_TOKEN;
    default: return STK_DAMAGED;
    }
}

/* ---- memory ---- */

stk_status stk_set_memory(const stk_memory *memory)
{
    if (st_alloc_read().live || (memory && !(memory->allocate && memory->resize && memory->release)))
        return STK_BAD_ARGUMENT;
    if (memory)
        st_alloc_use(memory->allocate, memory->resize, memory->release, memory->context);
    else
        st_alloc_use(NULL, NULL, NULL, NULL);
    return STK_OK;
}

int64_t stk_live_blocks(void)
{
    return st_alloc_read().live;
}

/* ---- opening ---- */

static stk_status opened(void *block, const uint8_t *file, size_t n, stk_model **model)
{
    static const stk_status faults[] = {[ST_COMPILED_DAMAGED] = STK_DAMAGED,
                                        [ST_COMPILED_OTHER_FILE] = STK_NOT_A_MODEL,
                                        [ST_COMPILED_OTHER_VERSION] = STK_OTHER_VERSION,
                                        [ST_COMPILED_OTHER_MACHINE] = STK_OTHER_MACHINE};
    st_compiled_fault fault = ST_COMPILED_DAMAGED;
    stk_model *made = st_calloc(1, sizeof *made);
    const st_status status = made ? st_compiled_open(file, n, st_model_named, &made->compiled, &fault) : ST_NO_MEMORY;
    if (status) {
        st_free(made);
        st_free(block);
        return status == ST_NO_MEMORY ? STK_NO_MEMORY : faults[fault];
    }
    made->block = block;
    made->users = 1;
    *model = made;
    return STK_OK;
}

stk_status stk_model_open_memory(const void *data, size_t size, stk_model **model)
{
    void *block;
    if (!model || (size && !data))
        return STK_BAD_ARGUMENT;
    *model = NULL;
    uint8_t *file = size < SIZE_MAX / 2 ? st_alloc_zeros(size + 1, &block) : NULL;
    if (!file)
        return STK_NO_MEMORY;
    if (size)
        memcpy(file, data, size);
    return opened(block, file, size, model);
}

static stk_status read_file(FILE *file, stk_model **model)
{
    void *block;
    if (fseek(file, 0, SEEK_END))
        return STK_NO_FILE;
    const long size = ftell(file);
    if (size < 0 || size == LONG_MAX || fseek(file, 0, SEEK_SET)) /* a folder has the largest size there is */
        return STK_NO_FILE;
    uint8_t *data = st_alloc_zeros((size_t)size + 1, &block);
    if (!data)
        return STK_NO_MEMORY;
    if (fread(data, 1, (size_t)size, file) == (size_t)size)
        return opened(block, data, (size_t)size, model);
    st_free(block);
    return STK_NO_FILE;
}

stk_status stk_model_open(const char *path, stk_model **model)
{
    if (!path || !model)
        return STK_BAD_ARGUMENT;
    *model = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return STK_NO_FILE;
    const stk_status status = read_file(file, model);
    const int error = errno;
    fclose(file);
    errno = error;
    return status;
}

stk_model *stk_model_keep(stk_model *model)
{
    st_count_add(&model->users, 1);
    return model;
}

void stk_model_free(stk_model *model)
{
    if (!model || st_count_add(&model->users, -1))
        return;
    st_compiled_free(model->compiled);
    st_free(model->block);
    st_free(model);
}

/* ---- facts ---- */

static stk_text text_of(st_span span)
{
    const stk_text text = {(const char *)span.bytes, span.n};
    return text;
}

stk_text stk_model_name(const stk_model *model)
{
    return text_of(model->compiled->name);
}

uint32_t stk_model_vocab_size(const stk_model *model)
{
    const st_compiled *c = model->compiled;
    const uint32_t highest = st_vocab_highest(c->vocab), other = c->names.count ? c->names.ids[c->names.count - 1] : 0;
    return (highest > other ? highest : other) + 1;
}

size_t stk_model_special_count(const stk_model *model)
{
    return model->compiled->added_count;
}

stk_status stk_model_special(const stk_model *model, size_t i, stk_text *name, uint32_t *id, int *is_special)
{
    if (!model || i >= model->compiled->added_count)
        return STK_BAD_ARGUMENT;
    const st_added *each = &model->compiled->added[i];
    if (name)
        *name = text_of(each->name);
    if (id)
        *id = each->id;
    if (is_special)
        *is_special = (each->flags & ST_ADDED_SPECIAL) != 0;
    return STK_OK;
}

const uint8_t *stk_bytes_of(const st_compiled *c, uint32_t id, size_t *n)
{
    return id >= ST_FIRST_FRAGMENT ? NULL : st_decode_one(c->vocab, &c->names, id, n);
}

stk_status stk_model_token(const stk_model *model, uint32_t id, stk_text *bytes)
{
    size_t n;
    if (!model || !bytes)
        return STK_BAD_ARGUMENT;
    const uint8_t *found = stk_bytes_of(model->compiled, id, &n);
    if (!found)
        return STK_UNKNOWN_ID;
    *bytes = text_of((st_span){found, n});
    return STK_OK;
}

stk_status stk_model_find(const stk_model *model, const char *bytes, size_t size, uint32_t *id)
{
    if (!model || !id || (size && !bytes))
        return STK_BAD_ARGUMENT;
    const st_compiled *c = model->compiled;
    const uint32_t found = st_vocab_find(c->vocab, stk_text_of(bytes, size), size);
    if (found != ST_NONE && c->vocab->ids[found] < ST_FIRST_FRAGMENT) {
        *id = c->vocab->ids[found];
        return STK_OK;
    }
    for (size_t i = 0; i < c->added_count; i++)
        if (c->added[i].name.n == size && !memcmp(c->added[i].name.bytes, bytes, size)) {
            *id = c->added[i].id;
            return STK_OK;
        }
    return STK_UNKNOWN_NAME;
}

void stk_model_template(const stk_model *model, const uint32_t **prefix, size_t *prefix_count, const uint32_t **suffix,
                        size_t *suffix_count)
{
    *prefix = model->compiled->prefix;
    *prefix_count = model->compiled->prefix_count;
    *suffix = model->compiled->suffix;
    *suffix_count = model->compiled->suffix_count;
}
