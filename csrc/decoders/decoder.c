#include "decoders/decoder.h"

void st_decoder_reset(st_decoder *decoder, const st_special *stops)
{
    *decoder = (st_decoder){stops, 0, ST_NO_STOP, {0}, 0};
}

st_status st_decoder_reserve(st_decoder_scratch *scratch, size_t n)
{
    scratch->bytes.size = scratch->stage.original.size = scratch->stage.repaired.size = 0;
    ST_TRY(st_bytes_reserve(&scratch->bytes, n));
    ST_TRY(st_bytes_reserve(&scratch->stage.original, n));
    return st_bytes_reserve(&scratch->stage.repaired, n);
}

void st_decoder_scratch_free(st_decoder_scratch *scratch)
{
    st_text_stage_free(&scratch->stage);
    st_bytes_free(&scratch->bytes);
}

const uint8_t *st_decoder_held(const st_decoder *d, size_t *n)
{
    *n = 0;
    return d->node ? st_special_bytes(d->stops, d->node, n) : NULL;
}

/* Appends the text in front of `end`, which counts from the start of the bytes that the decoder holds. */
static st_status release(const st_decoder *d, const uint8_t *text, size_t end, st_bytes *out)
{
    size_t held;
    const uint8_t *begun = st_decoder_held(d, &held);
    const size_t first = end < held ? end : held;
    ST_TRY(st_bytes_append(out, begun, first));
    return st_bytes_append(out, text, end - first);
}

/* Appends text up to a stop string, or to what may begin one. */
static st_status pass_on(st_decoder *d, const uint8_t *text, size_t n, st_bytes *out)
{
    if (!d->stops)
        return st_bytes_append(out, text, n);
    if (!n || d->stop != ST_NO_STOP)
        return ST_OK;
    size_t held;
    st_decoder_held(d, &held);
    st_special_search search = st_special_search_behind(d->stops, d->node);
    st_special_match match = {.start = held + n, .id = ST_NO_SPECIAL};
    const st_special_result result = st_special_find(d->stops, &search, text, SIZE_MAX, n, 0, &match);
    ST_TRY(release(d, text, match.start, out));
    const int found = result == ST_SPECIAL_FOUND || (result == ST_SPECIAL_HELD && match.id != ST_NO_SPECIAL);
    d->stop = found ? match.id : ST_NO_STOP;
    d->node = result == ST_SPECIAL_HELD && !found ? search.node : 0;
    return ST_OK;
}

st_status st_decoder_pass(const uint8_t *text, size_t n, int final, st_decoder *d, st_bytes *out)
{
    const size_t before = out->size;
    st_decoder after = *d;
    st_status status = pass_on(&after, text, n, out);
    if (!status && final && after.node) {
        size_t held;
        st_decoder_held(&after, &held);
        status = release(&after, NULL, held, out);
        after.node = 0;
    }
    if (status)
        out->size = before;
    else
        *d = after;
    return status;
}

/* The bytes of ids; of one id where they lie in the vocabulary. */
static st_status bytes_of(const st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, st_bytes *buffer,
                          const uint8_t **bytes, size_t *n)
{
    *n = buffer->size = 0;
    for (size_t i = 0; i < count; i++) {
        *bytes = st_decode_one(vocab, names, ids[i], n);
        if (!*bytes)
            return ST_UNKNOWN_TOKEN;
        if (count > 1)
            ST_TRY(st_bytes_append(buffer, *bytes, *n));
    }
    if (count > 1)
        *bytes = buffer->data, *n = buffer->size;
    return ST_OK;
}

st_status st_decoder_feed(const st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, int final,
                          st_decoder_scratch *scratch, st_decoder *d, st_bytes *out)
{
    const size_t before = out->size;
    const uint8_t *bytes = NULL;
    size_t n;
    st_text_stage *stage = &scratch->stage;
    st_segments s;
    st_text_error error;
    ST_TRY(bytes_of(vocab, names, ids, count, &scratch->bytes, &bytes, &n));
    if (d->stop != ST_NO_STOP)
        return ST_OK;
    memcpy(stage->partial, d->partial, sizeof d->partial);
    stage->partial_size = d->partial_size;
    ST_TRY(st_text_stage_take(stage, bytes, n, 0, final, &s, &error));
    st_decoder after = *d;
    st_status status = st_decoder_pass(s.joined, s.joined_size, final && !s.n, &after, out);
    if (!status && s.n)
        status = st_decoder_pass(s.text, s.n, final, &after, out);
    if (status) {
        out->size = before;
        return status;
    }
    memcpy(after.partial, s.partial, sizeof after.partial);
    after.partial_size = (uint8_t)s.partial_size;
    *d = after;
    return ST_OK;
}
