#include "stream/trace.h"

#include "lookup/encode_pieces.h"
#include "normal/step.h"
#include "special/cutter.h"
#include "vocab/decode.h"

static st_status add_place(st_tracing *t, size_t place)
{
    return st_bytes_append(&t->places, &place, sizeof place);
}

/* ---- what a part becomes ---- */

/* Where the tokens of a piece begin, by the model, or by their sizes where it does not say. */
static st_status starts_of(st_vocab *v, const uint8_t *text, size_t n, st_ids *out)
{
    if (v->model->starts)
        return v->model->starts(v, text, n, out);
    st_workspace *workspace = st_workspace_borrow(v);
    st_status status = workspace ? st_encode_span(v, workspace, ST_ENGINE_REFERENCE, text, n, 1, out) : ST_NO_MEMORY;
    if (workspace)
        st_workspace_return(v, workspace);
    if (!status)
        status = st_vocab_spell(v, out, 0);
    for (size_t i = 0, at = 0, size; !status && i < out->size; i++, at += size) {
        size = st_token_length(v, st_vocab_index(v, out->data[i]));
        out->data[i] = (uint32_t)at;
    }
    return status;
}

static st_status add_span(st_tracing *t, const uint8_t *text, const size_t *places, size_t start, size_t end)
{
    st_vocab *v = t->vocab;
    if (st_vocab_has(v, ST_MODEL_KEEPS_BYTES)) {
        ST_TRY(st_bytes_append(&t->made, text + start, end - start));
        return st_bytes_append(&t->places, places + start, (end - start) * sizeof *places);
    }
    t->starts.size = 0;
    ST_TRY(starts_of(v, text + start, end - start, &t->starts));
    for (size_t i = 0; i < t->starts.size; i++)
        ST_TRY(add_place(t, places[start + t->starts.data[i]]));
    return ST_OK;
}

static st_status add_found(st_tracing *t, const uint8_t *text, const size_t *places, size_t n)
{
    st_bytes spans = {0};
    st_status status = t->pieces(t->context, text, n, &spans);
    const int64_t *at = (const int64_t *)(const void *)spans.data;
    for (size_t i = 0; !status && i + 1 < spans.size / sizeof *at; i += 2)
        status = add_span(t, text, places, (size_t)at[i], (size_t)at[i + 1]);
    st_bytes_free(&spans);
    return status;
}

/* The pieces that are kept of text whose bytes come from places[..] of the given one. */
static st_status add_text(st_tracing *t, const uint8_t *text, const size_t *places, size_t n)
{
    uint64_t ends[256];
    st_scan scan;
    size_t at = 0, used, origin = 0, open = 0;
    if (t->pieces)
        return add_found(t, text, places, n);
    if (!st_pattern_drops(t->pattern) && st_vocab_has(t->vocab, ST_MODEL_KEEPS_BYTES))
        return add_span(t, text, places, 0, n);
    st_scan_init(&scan);
    for (int last = n == 0; !last || at < n;) {
        const size_t count = at < n ? st_scan_feed(t->pattern, &scan, text + at, n - at, &used, ends, 256)
                                    : st_scan_finish(t->pattern, &scan, ends);
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
static st_status trace(st_tracing *t, int at, const st_normalizer *normalizer, const uint8_t *text, const size_t *places, size_t n,
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

static const uint8_t *text_at(const st_tracing *t, int at)
{
    return t->parts[at].size ? t->parts[at].data : (const uint8_t *)"";
}

static const size_t *places_at(const st_tracing *t, int at)
{
    return (const size_t *)(const void *)t->sources[at].data;
}

/* What normalizer `i` makes of a text, and those behind it of each of its pieces. begun: as trace() takes it. */
static st_status add_made(st_tracing *t, int i, const st_normalizer *normalizer, const uint8_t *text, const size_t *places, size_t n,
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
static st_status add_part(st_tracing *t, const uint8_t *text, const size_t *places, size_t n, int later)
{
    const st_normalizer *behind = t->normalizer ? t->normalizer->behind : NULL;
    return behind ? add_made(t, 1, behind, text, places, n, begun_of(text, n, later)) : add_text(t, text, places, n);
}

/* ---- names ---- */

/* Where a cutter puts what it finds: parts of one text. */
typedef struct cut_parts {
    st_tracing *t;
    const uint8_t *text;
    const size_t *places; /* NULL: the given text */
    size_t begun;         /* the open part; SIZE_MAX: none */
    size_t end;
    int is_late, later; /* later: of late names, whether something stands in front of the text */
} cut_parts;

static st_status add_name(st_tracing *t, uint32_t id, size_t place)
{
    if (!st_vocab_has(t->vocab, ST_MODEL_KEEPS_BYTES))
        return add_place(t, place);
    const st_span name = t->name_of(t->context, id);
    ST_TRY(st_bytes_append(&t->made, name.bytes, name.n));
    for (size_t i = 0; i < name.n; i++)
        ST_TRY(add_place(t, place));
    return ST_OK;
}

static st_status cut(st_tracing *t, const st_special *names, const uint8_t *text, const size_t *places, size_t n, int is_late, int later);

static st_status end_part(void *context)
{
    cut_parts *p = context;
    st_tracing *t = p->t;
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
    const st_special *late = t->names ? t->names->late : NULL;
    const st_normalizer *normalizer = t->normalizer;
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
static st_status cut(st_tracing *t, const st_special *names, const uint8_t *text, const size_t *places, size_t n, int is_late, int later)
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

st_status st_trace(st_tracing *t, const uint8_t *text, size_t n)
{
    return cut(t, t->names, text, NULL, n, 0, 0);
}

void st_tracing_free(st_tracing *t)
{
    st_bytes_free(&t->made);
    st_bytes_free(&t->places);
    for (int i = 0; i < ST_FRONT_FLOWS; i++) {
        st_bytes_free(&t->parts[i]);
        st_bytes_free(&t->sources[i]);
    }
    st_ids_free(&t->starts);
}
