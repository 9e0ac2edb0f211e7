/* Whole texts, which are fed in slices where they are shared, or only counted; and pieces that a caller has cut. */
#include "base/utf8.h"
#include "stream/encoder.h"

/* Bytes that are copied at a time: they stay in the cache until they are encoded. */
#define SHARED_SLICE ((size_t)1 << 16)

/* Bytes that counting encodes at a time, so that memory does not grow with the text. */
#define COUNT_SLICE ((size_t)1 << 20)

/* A feed of a part of a whole text: invalid bytes are told of by their places in it. */
static st_status feed_part(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error)
{
    const st_status status = st_encoder_feed(e, text, n, flags, out, error);
    if (status == ST_INVALID_UTF8) {
        error->text.end += (size_t)error->offset - error->text.start;
        error->text.start = (size_t)error->offset;
    }
    return status;
}

st_status st_encoder_whole(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error)
{
    const size_t before = out->size;
    st_status status = ST_OK;
    for (; !status && flags & ST_FEED_SHARED && n > SHARED_SLICE; text += SHARED_SLICE, n -= SHARED_SLICE)
        status = feed_part(e, text, SHARED_SLICE, flags, out, error);
    if (!status)
        status = feed_part(e, text, n, flags | ST_FEED_FINAL, out, error);
    if (status)
        out->size = before;
    return status;
}

st_status st_encoder_count(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *scratch, size_t *count,
                           st_feed_error *error)
{
    const size_t most = flags & ST_FEED_SHARED ? SHARED_SLICE : COUNT_SLICE;
    for (size_t at = 0, end;; at = end) {
        end = n - at > most ? at + most : n;
        while (end < n && st_utf8_is_continuation(text[end]))
            end++; /* trusted text comes in whole characters */
        scratch->size = 0;
        ST_TRY(feed_part(e, text + at, end - at, flags | (end == n ? ST_FEED_FINAL : 0), scratch, error));
        *count += scratch->size;
        if (end == n)
            return ST_OK;
    }
}

st_status st_encoder_spans(st_encoder *e, const uint8_t *text, const int64_t *spans, size_t count, st_ids *out)
{
    st_workspace *w = st_workspace_borrow(e->vocab);
    size_t before = out->size;
    st_status status = w ? ST_OK : ST_NO_MEMORY;
    for (size_t i = 0; i < count && !status; i++)
        status = st_encode_span(e->vocab, w, e->engine, text + spans[2 * i], (size_t)(spans[2 * i + 1] - spans[2 * i]),
                                1, out);
    if (w)
        st_workspace_return(e->vocab, w);
    if (!status && e->vocab->model->spell)
        status = e->vocab->model->spell(e->vocab, out, before);
    if (status)
        out->size = before;
    return status;
}
