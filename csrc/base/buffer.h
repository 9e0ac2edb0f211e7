/* Growable arrays of bytes and of ids. Growth is geometric, so n appends cost O(n); a buffer never shrinks by itself. */
#ifndef ST_BASE_BUFFER_H
#define ST_BASE_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"

typedef struct st_bytes {
    uint8_t *data;
    size_t size, capacity;
} st_bytes;

typedef struct st_ids {
    uint32_t *data;
    size_t size, capacity;
} st_ids;

/* Room for `more` further bytes behind size. On ST_NO_MEMORY the buffer is as it was. */
static inline st_status st_bytes_reserve(st_bytes *b, size_t more)
{
    if (more <= b->capacity - b->size)
        return ST_OK;
    if (more > SIZE_MAX / 4 - b->size)
        return ST_NO_MEMORY;
    size_t capacity = b->capacity + b->capacity / 2 + 256;
    if (capacity < b->size + more)
        capacity = b->size + more;
    uint8_t *data = st_realloc(b->data, capacity);
    if (!data)
        return ST_NO_MEMORY;
    b->data = data;
    b->capacity = capacity;
    return ST_OK;
}

static inline st_status st_bytes_append(st_bytes *b, const void *data, size_t n)
{
    if (n == 0)
        return ST_OK;
    ST_TRY(st_bytes_reserve(b, n));
    memcpy(b->data + b->size, data, n);
    b->size += n;
    return ST_OK;
}

/* Drops the first n bytes. */
static inline void st_bytes_drop(st_bytes *b, size_t n)
{
    b->size -= n;
    if (n && b->size)
        memmove(b->data, b->data + n, b->size);
}

static inline void st_bytes_free(st_bytes *b)
{
    st_free(b->data);
    b->data = NULL;
    b->size = b->capacity = 0;
}

/* Room for `more` further ids behind size. On ST_NO_MEMORY the buffer is as it was. */
static inline st_status st_ids_reserve(st_ids *ids, size_t more)
{
    if (more <= ids->capacity - ids->size)
        return ST_OK;
    if (more > SIZE_MAX / 16 - ids->size)
        return ST_NO_MEMORY;
    size_t capacity = ids->capacity + ids->capacity / 2 + 64;
    if (capacity < ids->size + more)
        capacity = ids->size + more;
    uint32_t *data = st_realloc(ids->data, capacity * sizeof *data);
    if (!data)
        return ST_NO_MEMORY;
    ids->data = data;
    ids->capacity = capacity;
    return ST_OK;
}

static inline void st_ids_free(st_ids *ids)
{
    st_free(ids->data);
    ids->data = NULL;
    ids->size = ids->capacity = 0;
}

#endif
