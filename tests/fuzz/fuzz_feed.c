/* Nasty texts, cut at random, each chunk with unreadable memory right before or behind it. For every cut:
 *
 *     the ids of all feeds == one feed of all == the reference engine, special tokens found by comparing names
 *     ids given so far, decoded, are the beginning of the text; they and `pending` make up what was fed
 *     saving and loading, or copying, at any moment changes nothing
 *     when an allocation fails, encoder and output are as before, and nothing is lost in the end */
#include "subject.h"

#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes that may wait in a run without end: 275 by the finality rule (ST_HOLD_WHOLE is less), the beginning of a
 * special token and a cut character. */
#define PENDING_MOST (275 + 21 + 3)

/* How often a stream is disturbed at most; else texts of thousands of one-byte feeds would take too long. */
#define DISTURBED_MOST 6

static struct {
    uint64_t texts, bytes, feeds, copies, refused;
} counts;

/* ---- one stream ---- */

typedef struct stream {
    const subject *s;
    rng *r;
    st_encoder e;
    st_ids ids;
    size_t fed, decoded; /* bytes of s->text taken; bytes of s->valid that the ids stand for */
    size_t most;         /* bytes of a chunk */
    int calm;            /* how often it may still be disturbed */
} stream;

/* The new ids must spell what comes next in the text. */
static void check_ids(stream *t, const st_ids *more)
{
    for (size_t i = 0; i < more->size; i++) {
        size_t n;
        const uint8_t *bytes = st_decode_one(t->s->vocab, &special_names, more->data[i], &n);
        CHECK(bytes && n <= t->s->valid.size - t->decoded && !memcmp(bytes, t->s->valid.data + t->decoded, n));
        t->decoded += n;
    }
    CHECK(st_ids_reserve(&t->ids, more->size) == ST_OK);
    if (more->size)
        memcpy(t->ids.data + t->ids.size, more->data, more->size * sizeof *more->data);
    t->ids.size += more->size;
}

/* Bytes of s->valid that come from text[0..end). */
static size_t valid_until(const subject *s, size_t end)
{
    size_t low = 0, high = s->valid.size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->origin[middle] < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void check_pending(const stream *t)
{
    const subject *s = t->s;
    const size_t held = st_utf8_unfinished(s->text.data, t->fed);
    const uint64_t pending = st_encoder_pending(&t->e);
    CHECK(t->decoded + pending == valid_until(s, t->fed - held) + held);
    if (s->endless && s->bundled && !s->dfa && t->e.engine == ST_ENGINE_FAST) /* a table by chance may hold a piece to its end */
        CHECK(pending <= PENDING_MOST);
}

static int disturb(stream *t, size_t one_in)
{
    const size_t feeds = t->s->text.size / t->most; /* spread over all of the text */
    if (!t->calm || !rng_one_in(t->r, one_in + feeds / DISTURBED_MOST))
        return 0;
    t->calm--;
    return 1;
}

static st_status feed(stream *t, size_t n, int flags)
{
    st_ids out = {0}; /* new each time: its allocation can fail, and a write beyond its end shows */
    st_feed_error error;
    const uint8_t *text = guarded(t->s->text.data + t->fed, n, rng_one_in(t->r, 2));
    st_status status;
    if (disturb(t, 12))
        status = feed_against_odds(&t->e, text, n, flags, &out, &error);
    else
        status = st_encoder_feed(&t->e, text, n, flags, &out, &error);
    guarded_scribble();
    counts.feeds++;
    subject_judge(t->s, status, &error);
    if (!status) {
        t->fed += n;
        check_ids(t, &out);
        if (!(flags & ST_FEED_FINAL))
            check_pending(t);
    }
    st_ids_free(&out);
    return status;
}

/* A chunk that is whole characters may be given as trusted, also behind a cut one, which then stays cut. */
static int chunk_flags(const stream *t, size_t n, int final)
{
    st_text_error error;
    const uint8_t *chunk = t->s->text.data + t->fed;
    int flags = final ? ST_FEED_FINAL : 0;
    if (rng_one_in(t->r, 2) && st_text_check(chunk, n, &error) == n)
        flags |= ST_FEED_TRUSTED;
    return flags;
}

/* A feed was refused: the stream must be as it was, and new after a reset. */
static void check_refused(stream *t, const st_bytes *before)
{
    st_bytes state = {0};
    state_of(&t->e, &state);
    CHECK(state.size == before->size && same_bytes(state.data, before->data, state.size));
    st_encoder_reset(&t->e);
    CHECK(st_encoder_pending(&t->e) == 0);
    st_bytes_free(&state);
    counts.refused++;
}

/* Feeds all of the text; 0 if a fault of it ended that. */
static int feed_all(stream *t)
{
    static const size_t styles[] = {1, 3, 20, 300, GUARDED_MOST};
    const size_t size = t->s->text.size;
    st_bytes before = {0};
    st_status status = ST_OK;
    int final = 0;
    t->most = styles[rng_below(t->r, 5)];
    t->calm = DISTURBED_MOST;
    while (!status && !final) {
        size_t left = size - t->fed, n = 1 + rng_below(t->r, t->most < left ? t->most : left + 1);
        n = rng_one_in(t->r, 10) ? 0 : n < left ? n : left;
        final = n == left && rng_one_in(t->r, 2);
        state_of(&t->e, &before);
        status = feed(t, n, chunk_flags(t, n, final));
        if (status || final)
            break;
        if (disturb(t, 10)) {
            replace_encoder(t->s, t->r, &t->e);
            counts.copies++;
        }
    }
    if (status)
        check_refused(t, &before);
    st_bytes_free(&before);
    return !status;
}

static void check_stream(const subject *s, rng *r, st_engine engine)
{
    stream t = {s, r, {0}, {0}, 0, 0, 1, 0};
    subject_encoder(s, engine, &t.e);
    for (int texts = 1 + rng_one_in(r, 4); texts; texts--) { /* after a text the encoder is ready for the next one */
        t.fed = t.decoded = t.ids.size = 0;
        if (!feed_all(&t))
            continue;
        CHECK(s->invalid_at == NOWHERE && s->name_at == NOWHERE);
        CHECK(st_encoder_pending(&t.e) == 0);
        CHECK(t.ids.size == s->ids.size && same_bytes(t.ids.data, s->ids.data, t.ids.size * sizeof *t.ids.data));
    }
    st_ids_free(&t.ids);
    st_encoder_free(&t.e);
}

/* ---- whole texts ---- */

static void check_one_shot(const subject *s, rng *r)
{
    st_encoder e;
    st_ids ids = {0};
    st_feed_error error;
    subject_encoder(s, ST_ENGINE_FAST, &e);
    const uint8_t *text = guarded(s->text.data, s->text.size, rng_one_in(r, 2));
    st_status status = st_encoder_feed(&e, text, s->text.size, ST_FEED_FINAL, &ids, &error);
    subject_judge(s, status, &error);
    CHECK((status == ST_OK) == (s->invalid_at == NOWHERE && s->name_at == NOWHERE));
    if (!status)
        CHECK(ids.size == s->ids.size && same_bytes(ids.data, s->ids.data, ids.size * sizeof *ids.data));
    st_ids_free(&ids);
    st_encoder_free(&e);
}

/* ---- places to cut between threads ---- */

static void encode_alone(st_encoder *e, const uint8_t *text, size_t n, st_ids *ids)
{
    st_feed_error error;
    CHECK(st_encoder_feed(e, text, n, ST_FEED_FINAL | ST_FEED_TRUSTED, ids, &error) == ST_OK);
}

/* Cut at a sync point, the two sides encode as if each were alone, however much of the text was read to find it. */
static void check_sync_point(const subject *s, rng *r)
{
    st_encoder e;
    st_ids ids = {0};
    size_t from = rng_below(r, s->valid.size + 1), end = from + rng_below(r, s->valid.size - from + 1);
    while (from < end && st_utf8_is_continuation(s->valid.data[from]))
        from++;
    while (end > from && end < s->valid.size && st_utf8_is_continuation(s->valid.data[end]))
        end--;
    const uint8_t *seen = guarded(s->valid.data + from, end - from, rng_one_in(r, 2));
    const size_t point = end > from ? from + st_last_sync_point(s->pattern, seen, end - from) : from;
    if (point == from || s->allowed_mask || !s->pattern.dfa)
        return;
    st_encoder_init(&e, s->vocab, s->pattern);
    encode_alone(&e, s->valid.data, point, &ids);
    encode_alone(&e, s->valid.data + point, s->valid.size - point, &ids);
    CHECK(ids.size == s->ids.size && same_bytes(ids.data, s->ids.data, ids.size * sizeof *ids.data));
    st_ids_free(&ids);
    st_encoder_free(&e);
}

/* ---- pieces by the definition of BPE ---- */

#define DEFINED_MOST 120

/* The ids of one piece by longest match: always the longest token that the rest begins with. */
static size_t longest_ids(const st_vocab *v, const uint8_t *text, size_t n, uint32_t *ids)
{
    size_t count = 0;
    for (size_t at = 0, length; at < n; at += length) {
        length = n - at < v->max_length ? n - at : v->max_length;
        while (st_vocab_find(v, text + at, length) == ST_NONE)
            length--;
        ids[count++] = v->ids[st_vocab_find(v, text + at, length)];
    }
    return count;
}

/* The ids of one piece as tiktoken defines them: the piece itself if it is a token; else its bytes, of which the two
 * neighbours that make the token of the lowest rank are joined, the leftmost first, until none do. */
static size_t defined_ids(const st_vocab *v, const uint8_t *text, size_t n, uint32_t *ids)
{
    size_t ends[DEFINED_MOST], count = n;
    uint32_t whole = st_vocab_find(v, text, n);
    if (whole != ST_NONE) {
        ids[0] = v->ids[whole];
        return 1;
    }
    for (size_t i = 0; i < n; i++)
        ends[i] = i + 1;
    while (merge_first_lowest(v, text, ends, &count))
        ;
    for (size_t i = 0; i < count; i++) {
        size_t start = i ? ends[i - 1] : 0;
        ids[i] = v->ids[st_vocab_find(v, text + start, ends[i] - start)];
    }
    return count;
}

/* Any bytes as one piece, in both engines. */
static void check_spans(const subject *s, rng *r)
{
    st_encoder e;
    st_ids ids = {0};
    uint32_t expected[DEFINED_MOST];
    for (int i = 0; i < 6 && s->text.size; i++) {
        size_t from = rng_below(r, s->text.size), left = s->text.size - from;
        size_t n = 1 + rng_below(r, left < DEFINED_MOST ? left : DEFINED_MOST);
        const int64_t span[2] = {0, (int64_t)n};
        const uint8_t *text = guarded(s->text.data + from, n, rng_one_in(r, 2));
        size_t count = (s->vocab->model == &st_model_longest ? longest_ids : defined_ids)(s->vocab, text, n, expected);
        subject_encoder(s, i % 2 ? ST_ENGINE_FAST : ST_ENGINE_REFERENCE, &e);
        ids.size = 0;
        CHECK(st_encoder_spans(&e, text, span, 1, &ids) == ST_OK);
        CHECK(ids.size == count && same_bytes(ids.data, expected, count * sizeof *expected));
        st_encoder_free(&e);
    }
    st_ids_free(&ids);
}

/* All of the text as one piece: the engines must agree. The definition would take too long. */
static void check_long_span(const subject *s)
{
    const int64_t span[2] = {0, (int64_t)s->text.size};
    st_encoder e;
    st_ids ids[2] = {{0}, {0}};
    for (int engine = 0; engine < 2; engine++) {
        subject_encoder(s, engine ? ST_ENGINE_REFERENCE : ST_ENGINE_FAST, &e);
        CHECK(st_encoder_spans(&e, s->text.data, span, 1, &ids[engine]) == ST_OK);
        st_encoder_free(&e);
    }
    CHECK(ids[0].size == ids[1].size && same_bytes(ids[0].data, ids[1].data, ids[0].size * sizeof *ids[0].data));
    st_ids_free(&ids[0]);
    st_ids_free(&ids[1]);
}

/* ---- the harness ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    const subject *s = subject_new(&r);
    check_one_shot(s, &r);
    check_stream(s, &r, ST_ENGINE_FAST);
    check_stream(s, &r, rng_one_in(&r, 4) ? ST_ENGINE_REFERENCE : ST_ENGINE_FAST);
    for (int i = 0; i < 4; i++)
        check_sync_point(s, &r);
    check_spans(s, &r);
    check_long_span(s);
    counts.texts++;
    counts.bytes += s->text.size;
    return 0;
}

void harness_close(void)
{
    subjects_close();
    printf("fuzz_feed: %llu texts, %llu bytes, %llu feeds, %llu refused for their text, %llu copies and saved states, %llu "
           "failed allocations: no difference\n",
           (unsigned long long)counts.texts, (unsigned long long)counts.bytes, (unsigned long long)counts.feeds,
           (unsigned long long)counts.refused, (unsigned long long)counts.copies,
           (unsigned long long)failed_allocations);
}
