/* Where tokens lie in a text. Where ids have the bytes of the text, their sizes tell, else stream/trace.h. */
#include "api/objects.h"
#include "api/token_sizes.h"
#include "base/utf8.h"
#include "stream/trace.h"

typedef struct work {
    const stk_coder *coder;
    const st_compiled *c;
    const uint8_t *text;
    size_t n, prefix, suffix; /* prefix, suffix: ids around the text */
    int plain;                /* the sizes of the ids tell */
} work;

/* Where the character begins that holds the byte at a place. */
static uint64_t character_at(const work *w, size_t at)
{
    while (at && at < w->n && st_utf8_is_continuation(w->text[at]))
        at--;
    return at;
}

/* The sum of the sizes of ids in text[0..n). */
static size_t sum_of(const st_compiled *c, const st_ids *ids, const uint8_t *text, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < ids->size && at <= n; i++)
        at += stk_token_size_in(c, ids->data[i], text + at, n - at);
    return at;
}

static int is_plain(const work *w, const st_ids *ids)
{
    return !w->c->normalizer && st_vocab_has(w->c->vocab, ST_MODEL_KEEPS_BYTES) &&
           !(w->coder->allowed && st_special_has_rules(w->coder->allowed)) && sum_of(w->c, ids, w->text, w->n) == w->n;
}

static void put(const work *w, const st_tracing *t, const st_ids *ids, uint64_t *offsets, size_t capacity)
{
    const size_t *places = (const size_t *)(const void *)t->places.data, known = t->places.size / sizeof *places;
    const uint8_t *text = w->plain ? w->text : t->made.data;
    const size_t n = w->plain ? w->n : t->made.size;
    const int by_token = !w->plain && !st_vocab_has(w->c->vocab, ST_MODEL_KEEPS_BYTES);
    size_t at = 0;
    for (size_t i = 0; i < w->prefix && i < capacity; i++)
        offsets[i] = 0;
    for (size_t i = 0; i < ids->size; i++) {
        const size_t number = by_token ? i : at, place = w->plain ? at : number < known ? places[number] : w->n;
        if (w->prefix + i < capacity)
            offsets[w->prefix + i] = character_at(w, place);
        at += by_token || at > n ? 0 : stk_token_size_in(w->c, ids->data[i], text ? text + at : NULL, n - at);
    }
    for (size_t i = w->prefix + ids->size; i < w->prefix + ids->size + w->suffix && i < capacity; i++)
        offsets[i] = w->n;
}

static st_span name_of(void *context, uint32_t id)
{
    const st_compiled *c = context;
    st_span name = {NULL, 0};
    for (size_t i = c->added_count; i-- > 0;)
        if (c->added[i].id == id)
            name = c->added[i].name;
    return name;
}

static st_status find(work *w, const st_ids *ids, uint64_t *offsets, size_t capacity)
{
    st_compiled *c = w->coder->model->compiled;
    st_tracing t = {.vocab = c->vocab, .pattern = c->pattern, .normalizer = c->normalizer, .names = w->coder->allowed,
                    .name_of = name_of, .context = c};
    w->plain = is_plain(w, ids);
    const st_status status = w->plain ? ST_OK : st_trace(&t, w->text, w->n);
    if (!status)
        put(w, &t, ids, offsets, capacity);
    st_tracing_free(&t);
    return status;
}

stk_status stk_encode_offsets(stk_coder *coder, const char *text, size_t size, uint32_t *ids, uint64_t *offsets, size_t capacity,
                              size_t *count, stk_fault *fault)
{
    st_encoder encoder;
    st_feed_error error;
    if (!coder || !count || (size && !text) || (capacity && !(ids && offsets)))
        return STK_BAD_ARGUMENT;
    *count = 0;
    stk_fault_clear(fault);
    const st_compiled *c = coder->model->compiled;
    const int adds = (coder->flags & STK_ADD_TEMPLATE) != 0;
    work w = {.coder = coder, .c = c, .text = stk_text_of(text, size), .n = size};
    w.prefix = adds ? c->prefix_count : 0;
    w.suffix = adds ? c->suffix_count : 0;
    stk_buffer buffer = stk_buffer_take(coder);
    stk_encoder_begin(coder, &encoder);
    encoder.text.errors = ST_ERRORS_STRICT;
    st_status status = st_encoder_whole(&encoder, w.text, size, 0, &buffer.ids, &error);
    st_encoder_free(&encoder);
    if (!status)
        status = find(&w, &buffer.ids, offsets, capacity);
    if (!status) {
        const st_ids made = buffer.ids;
        buffer.ids = (st_ids){0};
        status = stk_add_prefix(coder, &buffer.ids);
        if (!status)
            status = st_ids_reserve(&buffer.ids, made.size);
        if (!status && made.size)
            memcpy(buffer.ids.data + buffer.ids.size, made.data, made.size * sizeof *made.data);
        buffer.ids.size += status ? 0 : made.size;
        if (!status)
            status = stk_add_suffix(coder, &buffer.ids);
        st_free(made.data);
    }
    const stk_status result = status ? stk_fault_of(status, &error, fault) : stk_put_ids(&buffer.ids, ids, capacity, count);
    stk_buffer_give(coder, &buffer);
    return result;
}
