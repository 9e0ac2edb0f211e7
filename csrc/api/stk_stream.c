/* Texts that come in parts, and texts that grow and go back. */
#include "api/objects.h"

struct stk_stream {
    stk_coder *coder;
    st_encoder encoder;
    st_ids out;   /* made, */
    size_t taken; /* and given to the caller */
    size_t suffix; /* so many ids behind the text, the model's, are to be given behind these */
    int begun;     /* the text has: its prefix was given */
};

stk_status stk_stream_new(stk_coder *coder, stk_stream **stream)
{
    if (!stream)
        return STK_BAD_ARGUMENT;
    *stream = NULL;
    stk_stream *made = coder ? st_calloc(1, sizeof *made) : NULL;
    if (!made)
        return coder ? STK_NO_MEMORY : STK_BAD_ARGUMENT;
    made->coder = stk_coder_keep(coder);
    stk_encoder_begin(coder, &made->encoder);
    *stream = made;
    return STK_OK;
}

void stk_stream_free(stk_stream *stream)
{
    if (!stream)
        return;
    st_encoder_free(&stream->encoder);
    st_ids_free(&stream->out);
    stk_coder_free(stream->coder);
    st_free(stream);
}

/* The ids behind the text that are still to be given. */
static const uint32_t *suffix_of(const stk_stream *s)
{
    const st_compiled *c = s->coder->model->compiled;
    return c->suffix + c->suffix_count - s->suffix;
}

static size_t give(const uint32_t *from, size_t left, uint32_t *ids, size_t capacity)
{
    const size_t n = left < capacity ? left : capacity;
    if (n)
        memcpy(ids, from, n * sizeof *ids);
    return n;
}

stk_status stk_stream_take(stk_stream *s, uint32_t *ids, size_t capacity, size_t *count)
{
    if (!s || !count || (capacity && !ids))
        return STK_BAD_ARGUMENT;
    *count = give(s->out.data ? s->out.data + s->taken : NULL, s->out.size - s->taken, ids, capacity);
    s->taken += *count;
    if (s->taken < s->out.size)
        return STK_MORE;
    s->taken = s->out.size = 0;
    if (s->suffix) {
        const size_t n = give(suffix_of(s), s->suffix, ids + *count, capacity - *count);
        s->suffix -= n;
        *count += n;
    }
    return s->suffix ? STK_MORE : STK_OK;
}

/* Puts the ids in place that stand between two texts, before the next one begins. */
static st_status begin_text(stk_stream *s)
{
    for (; s->suffix; s->suffix--) {
        ST_TRY(st_ids_reserve(&s->out, 1));
        s->out.data[s->out.size++] = *suffix_of(s);
    }
    return s->begun ? ST_OK : stk_add_prefix(s->coder, &s->out);
}

static st_status feed(stk_stream *s, const char *text, size_t n, int flags, st_feed_error *error)
{
    const int adds = (s->coder->flags & STK_ADD_TEMPLATE) != 0;
    const size_t before = s->out.size + s->suffix;
    ST_TRY(begin_text(s));
    const st_status status = st_encoder_feed(&s->encoder, stk_text_of(text, n), n, flags, &s->out, error);
    if (status) {
        s->out.size = before;
        return status;
    }
    s->begun = !flags;
    s->suffix = flags && adds ? s->coder->model->compiled->suffix_count : 0;
    return ST_OK;
}

static stk_status run(stk_stream *s, const char *text, size_t n, int flags, uint32_t *ids, size_t capacity, size_t *count, stk_fault *fault)
{
    st_feed_error error;
    if (!s || !count || (n && !text) || (capacity && !ids))
        return STK_BAD_ARGUMENT;
    *count = 0;
    stk_fault_clear(fault);
    const st_status status = feed(s, text, n, flags, &error);
    return status ? stk_fault_of(status, &error, fault) : stk_stream_take(s, ids, capacity, count);
}

stk_status stk_stream_feed(stk_stream *stream, const char *text, size_t size, uint32_t *ids, size_t capacity, size_t *count,
                           stk_fault *fault)
{
    return run(stream, text, size, 0, ids, capacity, count, fault);
}

stk_status stk_stream_flush(stk_stream *stream, uint32_t *ids, size_t capacity, size_t *count, stk_fault *fault)
{
    return run(stream, NULL, 0, ST_FEED_FINAL, ids, capacity, count, fault);
}

uint64_t stk_stream_pending(const stk_stream *stream)
{
    return st_encoder_pending(&stream->encoder);
}

void stk_stream_reset(stk_stream *stream)
{
    st_encoder_reset(&stream->encoder);
    stream->out.size = stream->taken = 0;
    stream->suffix = 0;
    stream->begun = 0;
}

stk_status stk_stream_copy(const stk_stream *stream, stk_stream **copy)
{
    if (!stream || !copy)
        return STK_BAD_ARGUMENT;
    const stk_status status = stk_stream_new(stream->coder, copy);
    if (status)
        return status;
    const size_t left = stream->out.size - stream->taken;
    st_status copied = st_encoder_copy(&(*copy)->encoder, &stream->encoder);
    if (!copied)
        copied = st_ids_reserve(&(*copy)->out, left + 1);
    if (copied) {
        stk_stream_free(*copy);
        *copy = NULL;
        return STK_NO_MEMORY;
    }
    if (left)
        memcpy((*copy)->out.data, stream->out.data + stream->taken, left * sizeof(uint32_t));
    (*copy)->out.size = left;
    (*copy)->begun = stream->begun;
    (*copy)->suffix = stream->suffix;
    return STK_OK;
}

/* ---- sessions ---- */

/* A place that a session can go back to. */
typedef struct mark {
    st_encoder encoder;
    size_t stable;
    uint64_t size;
} mark;

struct stk_session {
    stk_coder *coder;
    mark now;       /* the encoder behind all of the text; of the ids, the first `stable` are its own */
    st_encoder end; /* for what comes if the text ends here */
    st_ids ids, made;
    mark **marks;
    size_t mark_count, mark_capacity;
};

static void mark_free(mark *m)
{
    if (m)
        st_encoder_free(&m->encoder);
    st_free(m);
}

stk_status stk_session_new(stk_coder *coder, stk_session **session)
{
    size_t keep;
    if (!session)
        return STK_BAD_ARGUMENT;
    *session = NULL;
    stk_session *made = coder ? st_calloc(1, sizeof *made) : NULL;
    if (!made)
        return coder ? STK_NO_MEMORY : STK_BAD_ARGUMENT;
    made->coder = stk_coder_keep(coder);
    stk_encoder_begin(coder, &made->now.encoder);
    stk_encoder_begin(coder, &made->end);
    st_status status = stk_add_prefix(coder, &made->ids);
    made->now.stable = made->ids.size;
    const stk_status result = status ? stk_status_of(status) : stk_session_append(made, NULL, 0, &keep, NULL);
    if (result) {
        stk_session_free(made);
        return result;
    }
    *session = made;
    return STK_OK;
}

void stk_session_free(stk_session *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->mark_count; i++)
        mark_free(s->marks[i]);
    st_free(s->marks);
    st_encoder_free(&s->now.encoder);
    st_encoder_free(&s->end);
    st_ids_free(&s->ids);
    st_ids_free(&s->made);
    stk_coder_free(s->coder);
    st_free(s);
}

/* Puts what was made behind the first ids; returns how many stayed as they were. */
static size_t put(stk_session *s, size_t first)
{
    const size_t old = s->ids.size - first, n = s->made.size;
    size_t same = 0;
    while (same < old && same < n && s->ids.data[first + same] == s->made.data[same])
        same++;
    if (n)
        memcpy(s->ids.data + first, s->made.data, n * sizeof(uint32_t));
    s->ids.size = first + n;
    return first + same;
}

/* Makes `from` the encoder behind the text, and puts the old one in its place; the first `first` ids stay, and s->made, so far the ids up
 * to `stable`, are those that follow. After an error all is as it was. */
static stk_status renew(stk_session *s, size_t *keep, stk_fault *fault, st_encoder *from, size_t stable, uint64_t size, size_t first)
{
    st_feed_error error;
    st_status status = st_encoder_copy(&s->end, from);
    if (!status)
        status = st_encoder_feed(&s->end, stk_text_of(NULL, 0), 0, ST_FEED_FINAL, &s->made, &error);
    if (!status)
        status = stk_add_suffix(s->coder, &s->made);
    if (!status)
        status = st_ids_reserve(&s->ids, s->made.size);
    if (status)
        return stk_fault_of(status, &error, fault);
    *keep = put(s, first);
    const st_encoder old = s->now.encoder;
    s->now = (mark){*from, stable, size};
    *from = old;
    return STK_OK;
}

stk_status stk_session_append(stk_session *s, const char *text, size_t size, size_t *keep, stk_fault *fault)
{
    st_feed_error error;
    st_encoder next;
    if (!s || !keep || (size && !text))
        return STK_BAD_ARGUMENT;
    stk_fault_clear(fault);
    s->made.size = 0;
    stk_encoder_begin(s->coder, &next);
    st_status status = st_encoder_copy(&next, &s->now.encoder);
    if (!status)
        status = st_encoder_feed(&next, stk_text_of(text, size), size, 0, &s->made, &error);
    const size_t first = s->now.stable;
    const stk_status result = status ? stk_fault_of(status, &error, fault)
                                     : renew(s, keep, fault, &next, first + s->made.size, s->now.size + size, first);
    st_encoder_free(&next);
    return result;
}

const uint32_t *stk_session_ids(const stk_session *session, size_t *count)
{
    *count = session->ids.size;
    return session->ids.data;
}

uint64_t stk_session_size(const stk_session *session)
{
    return session->now.size;
}

stk_status stk_session_mark(stk_session *s, size_t *number)
{
    if (!s || !number)
        return STK_BAD_ARGUMENT;
    if (s->mark_count == s->mark_capacity) {
        const size_t capacity = 2 * s->mark_capacity + 8;
        mark **marks = st_realloc(s->marks, capacity * sizeof *marks);
        if (!marks)
            return STK_NO_MEMORY;
        s->marks = marks;
        s->mark_capacity = capacity;
    }
    mark *made = st_calloc(1, sizeof *made);
    if (!made)
        return STK_NO_MEMORY;
    stk_encoder_begin(s->coder, &made->encoder);
    made->stable = s->now.stable;
    made->size = s->now.size;
    if (st_encoder_copy(&made->encoder, &s->now.encoder)) {
        mark_free(made);
        return STK_NO_MEMORY;
    }
    *number = s->mark_count;
    s->marks[s->mark_count++] = made;
    return STK_OK;
}

stk_status stk_session_rollback(stk_session *s, size_t number)
{
    st_encoder back;
    size_t keep;
    if (!s || number >= s->mark_count)
        return STK_BAD_ARGUMENT;
    const mark *to = s->marks[number];
    s->made.size = 0;
    stk_encoder_begin(s->coder, &back);
    const st_status status = st_encoder_copy(&back, &to->encoder);
    const stk_status result = status ? stk_status_of(status) : renew(s, &keep, NULL, &back, to->stable, to->size, to->stable);
    while (!result && s->mark_count > number + 1)
        mark_free(s->marks[--s->mark_count]);
    st_encoder_free(&back);
    return result;
}
