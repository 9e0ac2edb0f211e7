#include "stream/prepared.h"

typedef struct prepared {
    st_bytes *normal, *parts;
} prepared;

static st_status take_text(void *context, const uint8_t *text, size_t n)
{
    prepared *p = context;
    return st_bytes_append(p->normal, text, n);
}

static st_status take_end(void *context)
{
    (void)context;
    return ST_OK;
}

static st_status end_part(prepared *p, int64_t id)
{
    const st_part part = {p->normal->size, id};
    return st_bytes_append(p->parts, &part, sizeof part);
}

static st_status take_name(void *context, uint32_t id, const uint8_t *text)
{
    (void)text;
    return end_part(context, id);
}

st_status st_prepare(const st_normalizer *normalizer, const st_special *names, const uint8_t *text, size_t n, st_bytes *normal,
                     st_bytes *parts)
{
    prepared p = {normal, parts};
    const st_cutter_sink sink = {take_text, take_end, take_name, &p};
    st_front front = {0};
    st_front_use(&front, normalizer, names);
    st_status status = st_front_feed(&front, text, n, 1, &sink);
    if (status == ST_OK)
        status = end_part(&p, -1);
    st_front_free(&front);
    return status;
}
