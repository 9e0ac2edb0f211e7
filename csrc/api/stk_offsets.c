/* Where tokens lie in a text. Where ids have the bytes of the text, their sizes tell. Else the text goes once more through what is in
 * front of the splitter, part by part between names, and each byte of what comes out knows the character that it came from. */
#include "api/objects.h"
#include "api/token_sizes.h"
#include "base/utf8.h"

typedef struct tracing {
    const stk_coder *coder;
    const st_compiled *c;
    const uint8_t *text;
    size_t n;
    st_bytes made;    /* the text of the pieces and names, and */
    st_bytes places;  /* size_t: for each byte, or for each token of a model that does not keep bytes, the place in the text */
    st_bytes parts[ST_FRONT_FLOWS]; /* normalized text: of a part between names, of one between late names, of a piece, and so on; */
    st_bytes sources[ST_FRONT_FLOWS]; /* size_t: for each byte its place in the given text */
    st_ids starts;
} tracing;

static st_status add_place(tracing *t, size_t place)
{
    return st_bytes_append(&t->places, &place, sizeof place);
}

/* ---- what a part becomes ---- */

static st_status add_span(tracing *t, const uint8_t *text, const size_t *places, size_t start, size_t end)
{
    const st_vocab *v = t->c->vocab;
    if (st_vocab_has(v, ST_MODEL_KEEPS_BYTES)) {
        ST_TRY(st_bytes_append(&t->made, text + start, end - start));
        return st_bytes_append(&t->places, places + start, (end - start) * sizeof *places);
    }
    t->starts.size = 0;
    ST_TRY(v->model->starts(t->c->vocab, text + start, end - start, &t->starts));
    for (size_t i = 0; i < t->starts.size; i++)
        ST_TRY(add_place(t, places[start + t->starts.data[i]]));
    return ST_OK;
}

/* The pieces that are kept of text whose bytes come from places[..] of the given one. */
static st_status add_text(tracing *t, const uint8_t *text, const size_t *places, size_t n)
{
    uint64_t ends[256];
    st_scan scan;
    size_t at = 0, used, origin = 0, open = 0;
    if (!st_pattern_drops(t->c->pattern) && st_vocab_has(t->c->vocab, ST_MODEL_KEEPS_BYTES))
        return add_span(t, text, places, 0, n);
    st_scan_init(&scan);
    for (int last = n == 0; !last || at < n;) {
        const size_t count = at < n ? st_scan_feed(t->c->pattern, &scan, text + at, n - at, &used, ends, 256)
                                    : st_scan_finish(t->c->pattern, &scan, ends);
        last = at >= n;
        at += last ? 0 : used;
        for (size_t i = 0; i < count; i++) {
            const size_t end = origin + (size_t)(ends[i] & ~ST_DROPPED);
            if (!(ends[i] & ST_DROPPED))
                ST_TRY(add_span(t, text, places, open, end));
            open = end;
        }
        origin = open;
    }
    return ST_OK;
}

static st_status collect(void *context, const uint8_t *text, const size_t *source, size_t n)
{
    st_bytes *out = context;
    ST_TRY(st_bytes_append(out, text, n));
    return st_bytes_append(out + ST_FRONT_FLOWS, source, n * sizeof *source);
}

/* text[0..n), of which the first bytes `*begun` come from the first character, through a normalizer, to parts[at] and sources[at], which
 * then has places in the given text: those of places[..]. *begun is then of what was made. */
static st_status trace(tracing *t, int at, const st_normalizer *normalizer, const uint8_t *text, const size_t *places, size_t n,
                       size_t *begun)
{
    st_flow flow;
    size_t first = 0;
    t->parts[at].size = t->sources[at].size = 0;
    st_flow_init(&flow, normalizer);
    flow.sink = collect;
    flow.context = &t->parts[at];
    flow.traced = 1;
    flow.later = !*begun;
    const st_status status = st_flow_feed_piece(&flow, text, n, *begun, 1);
    st_flow_free(&flow);
    ST_TRY(status);
    size_t *made = (size_t *)(void *)t->sources[at].data;
    while (*begun && first < t->parts[at].size && !made[first])
        first++;
    *begun = first;
    for (size_t i = 0; i < t->parts[at].size; i++)
        made[i] = places[made[i]];
    return ST_OK;
}

static const uint8_t *text_at(const tracing *t, int at)
{
    return t->parts[at].size ? t->parts[at].data : (const uint8_t *)"";
}

static const size_t *places_at(const tracing *t, int at)
{
    return (const size_t *)(const void *)t->sources[at].data;
}

/* What normalizer `i` makes of a text, and those behind it of each of its pieces. begun: as trace() takes it. */
static st_status add_made(tracing *t, int i, const st_normalizer *normalizer, const uint8_t *text, const size_t *places, size_t n,
                          size_t begun)
{
    ST_TRY(trace(t, i, normalizer, text, places, n, &begun));
    if (!st_normalizer_splits(normalizer))
        return add_text(t, text_at(t, i), places_at(t, i), t->parts[i].size);
    for (size_t at = 0, size, all = t->parts[i].size; at < all; at += size + 1) {
        const uint8_t *piece = t->parts[i].data + at, *end = memchr(piece, ST_PIECE_END, all - at);
        size = end ? (size_t)(end - piece) : all - at;
        ST_TRY(add_made(t, i + 1, normalizer->behind, piece, places_at(t, i) + at, size, st_begun_from(begun, at, size)));
    }
    return ST_OK;
}

static size_t begun_of(const uint8_t *text, size_t n, int later)
{
    return n && !later ? st_utf8_size(*text) : 0;
}

/* A part between late names. */
static st_status add_part(tracing *t, const uint8_t *text, const size_t *places, size_t n, int later)
{
    const st_normalizer *behind = t->c->normalizer ? t->c->normalizer->behind : NULL;
    return behind ? add_made(t, 1, behind, text, places, n, begun_of(text, n, later)) : add_text(t, text, places, n);
}

/* ---- names ---- */

/* Where a cutter puts what it finds: parts of one text. */
typedef struct cut_parts {
    tracing *t;
    const uint8_t *text;
    const size_t *places; /* NULL: the given text */
    size_t begun;         /* the open part; SIZE_MAX: none */
    size_t end;
    int is_late, later; /* later: of late names, whether something stands in front of the text */
} cut_parts;

static st_status add_name(tracing *t, uint32_t id, size_t place)
{
    if (!st_vocab_has(t->c->vocab, ST_MODEL_KEEPS_BYTES))
        return add_place(t, place);
    st_span name = {NULL, 0};
    for (size_t i = t->c->added_count; i-- > 0;)
        if (t->c->added[i].id == id)
            name = t->c->added[i].name;
    ST_TRY(st_bytes_append(&t->made, name.bytes, name.n));
    for (size_t i = 0; i < name.n; i++)
        ST_TRY(add_place(t, place));
    return ST_OK;
}

static st_status cut(tracing *t, const st_special *names, const uint8_t *text, const size_t *places, size_t n, int is_late, int later);

static st_status end_part(void *context)
{
    cut_parts *p = context;
    tracing *t = p->t;
    if (p->begun == SIZE_MAX)
        return ST_OK;
    const size_t start = p->begun, n = p->end - p->begun;
    p->begun = SIZE_MAX;
    if (p->is_late)
        return add_part(t, p->text + start, p->places + start, n, start > 0 || p->later);
    size_t *places = st_malloc((n + 1) * sizeof *places);
    if (!places)
        return ST_NO_MEMORY;
    for (size_t i = 0; i <= n; i++)
        places[i] = start + i;
    const st_special *late = t->coder->allowed ? t->coder->allowed->late : NULL;
    const st_normalizer *normalizer = t->c->normalizer;
    size_t begun = begun_of(p->text + start, n, start > 0);
    st_status status = ST_OK;
    if (normalizer && st_normalizer_splits(normalizer)) {
        status = add_made(t, 0, normalizer, p->text + start, places, n, begun);
    } else if (normalizer) {
        status = trace(t, 0, normalizer, p->text + start, places, n, &begun);
        status = status ? status : cut(t, late, text_at(t, 0), places_at(t, 0), t->parts[0].size, 1, start > 0);
    } else {
        status = cut(t, late, p->text + start, places, n, 1, start > 0);
    }
    st_free(places);
    return status;
}

static st_status take_text(void *context, const uint8_t *text, size_t n)
{
    cut_parts *p = context;
    p->begun = p->begun == SIZE_MAX ? (size_t)(text - p->text) : p->begun;
    p->end = (size_t)(text - p->text) + n;
    return ST_OK;
}

static st_status take_name(void *context, uint32_t id, const uint8_t *text)
{
    cut_parts *p = context;
    const size_t at = (size_t)(text - p->text);
    return add_name(p->t, id, p->places ? p->places[at] : at);
}

/* Cuts a text at names; what lies between goes on. */
static st_status cut(tracing *t, const st_special *names, const uint8_t *text, const size_t *places, size_t n, int is_late, int later)
{
    cut_parts parts = {t, text, places, SIZE_MAX, 0, is_late, later};
    const st_cutter_sink sink = {take_text, end_part, take_name, &parts};
    st_cutter cutter = {.names = names};
    if (!n)
        return ST_OK;
    st_status status = st_cutter_feed(&cutter, text, n, 1, &sink);
    if (!status)
        status = end_part(&parts);
    st_cutter_free(&cutter);
    return status;
}

/* ---- offsets ---- */

/* Where the character begins that holds the byte at a place. */
static uint64_t character_at(const tracing *t, size_t at)
{
    while (at && at < t->n && st_utf8_is_continuation(t->text[at]))
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

static int is_plain(const tracing *t, const st_ids *ids)
{
    return !t->c->normalizer && st_vocab_has(t->c->vocab, ST_MODEL_KEEPS_BYTES) &&
           !(t->coder->allowed && st_special_has_rules(t->coder->allowed)) && sum_of(t->c, ids, t->text, t->n) == t->n;
}

static void put(const tracing *t, const st_ids *ids, size_t prefix, size_t suffix, uint64_t *offsets, size_t capacity, int plain)
{
    const size_t *places = (const size_t *)(const void *)t->places.data, known = t->places.size / sizeof *places;
    const uint8_t *text = plain ? t->text : t->made.data;
    const size_t n = plain ? t->n : t->made.size;
    const int by_token = !plain && !st_vocab_has(t->c->vocab, ST_MODEL_KEEPS_BYTES);
    size_t at = 0;
    for (size_t i = 0; i < prefix && i < capacity; i++)
        offsets[i] = 0;
    for (size_t i = 0; i < ids->size; i++) {
        const size_t number = by_token ? i : at, place = plain ? at : number < known ? places[number] : t->n;
        if (prefix + i < capacity)
            offsets[prefix + i] = character_at(t, place);
        at += by_token || at > n ? 0 : stk_token_size_in(t->c, ids->data[i], text ? text + at : NULL, n - at);
    }
    for (size_t i = prefix + ids->size; i < prefix + ids->size + suffix && i < capacity; i++)
        offsets[i] = t->n;
}

static int can_tell(const st_compiled *c)
{
    return st_vocab_has(c->vocab, ST_MODEL_KEEPS_BYTES) || c->vocab->model->starts;
}

static st_status find(tracing *t, const st_ids *ids, size_t prefix, size_t suffix, uint64_t *offsets, size_t capacity)
{
    const int plain = is_plain(t, ids);
    const st_status status = plain ? ST_OK : cut(t, t->coder->allowed, t->text, NULL, t->n, 0, 0);
    if (!status)
        put(t, ids, prefix, suffix, offsets, capacity, plain);
    st_bytes_free(&t->made);
    st_bytes_free(&t->places);
    for (int i = 0; i < ST_FRONT_FLOWS; i++) {
        st_bytes_free(&t->parts[i]);
        st_bytes_free(&t->sources[i]);
    }
    st_ids_free(&t->starts);
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
    if (!can_tell(c))
        return STK_UNSUPPORTED;
    tracing t = {.coder = coder, .c = c, .text = stk_text_of(text, size), .n = size};
    const int adds = (coder->flags & STK_ADD_TEMPLATE) != 0;
    const size_t prefix = adds ? c->prefix_count : 0, suffix = adds ? c->suffix_count : 0;
    stk_buffer buffer = stk_buffer_take(coder);
    stk_encoder_begin(coder, &encoder);
    encoder.text.errors = ST_ERRORS_STRICT;
    st_status status = st_encoder_whole(&encoder, t.text, size, 0, &buffer.ids, &error);
    st_encoder_free(&encoder);
    if (!status)
        status = find(&t, &buffer.ids, prefix, suffix, offsets, capacity);
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
