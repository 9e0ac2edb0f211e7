/* Many threads on one vocabulary. They race for its lazily built parts, and share its pool of workspaces, which runs out.
 * Then the same texts, and batches of any bytes with special names, as one job (threads/job.h), cut small, that all threads work at
 * together. Ids are those of the reference engine; a text that is refused is the first of those that a thread alone
 * refuses. Meant for ThreadSanitizer too. */
#define _POSIX_C_SOURCE 200809L /* for the barrier */
#include "base/utf8.h"
#include "fuzz.h"
#include "text/str_to_utf8.h"
#include "threads/job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXTS 4
#define THREADS_MOST (ST_POOL_SIZE + 8)

static struct {
    uint64_t rounds, feeds, jobs, slices, seams, refused, backlog;
} counts;

static st_vocab *vocab;
static st_bytes texts[TEXTS], characters[TEXTS]; /* the same, four bytes a character */
static st_ids expected[TEXTS];
static pthread_barrier_t start;

typedef struct job {
    pthread_t thread;
    rng r;
    uint64_t feeds;
} job;

/* ---- the texts ---- */

/* Valid UTF-8, with pieces long enough for the automaton and the cuts, each of which the first thread there builds. */
static void make_text(rng *r, st_bytes *text)
{
    static const char *const endless[] = {"a", "\xE4\xB8\xAD", " "};
    st_bytes raw = {0};
    text->size = 0;
    for (int i = 0; i < 2; i++) {
        const char *unit = endless[rng_below(r, 3)];
        for (size_t n = 100 + rng_below(r, 400); n; n--)
            CHECK(st_bytes_append(text, unit, strlen(unit)) == ST_OK);
        text_random(r, vocab, 500, &raw);
        CHECK(st_text_repair(raw.data, raw.size, ST_ERRORS_REPLACE, text) == ST_OK);
    }
    st_bytes_free(&raw);
}

static void make_characters(const st_bytes *text, st_bytes *to)
{
    to->size = 0;
    for (size_t at = 0; at < text->size;) {
        unsigned size;
        const uint32_t character = st_utf8_decode(text->data + at, &size);
        CHECK(st_bytes_append(to, &character, sizeof character) == ST_OK);
        at += size;
    }
}

/* The reference engine uses none of the lazily built parts, so they are still to build when the threads begin. */
static void make_texts(rng *r)
{
    st_encoder e;
    st_feed_error error;
    st_encoder_init(&e, vocab, pattern_of(ST_SPLIT_CL100K));
    e.engine = ST_ENGINE_REFERENCE;
    for (int i = 0; i < TEXTS; i++) {
        make_text(r, &texts[i]);
        make_characters(&texts[i], &characters[i]);
        expected[i].size = 0;
        CHECK(st_encoder_feed(&e, texts[i].data, texts[i].size, ST_FEED_FINAL, &expected[i], &error) == ST_OK);
    }
    st_encoder_free(&e);
    CHECK(!vocab->machine && !vocab->cuts);
}

/* ---- one thread ---- */

static void encode_one(job *j, st_encoder *e, const st_bytes *text, st_ids *ids)
{
    st_feed_error error;
    const size_t most = rng_one_in(&j->r, 2) ? text->size : 100;
    for (size_t at = 0, n; at < text->size; at += n) {
        size_t left = text->size - at;
        n = 1 + rng_below(&j->r, most);
        n = n < left ? n : left;
        CHECK(st_encoder_feed(e, text->data + at, n, 0, ids, &error) == ST_OK);
        j->feeds++;
    }
    CHECK(st_encoder_feed(e, NULL, 0, ST_FEED_FINAL, ids, &error) == ST_OK);
}

static void *run_thread(void *argument)
{
    job *j = argument;
    st_encoder e;
    st_ids ids = {0};
    st_encoder_init(&e, vocab, pattern_of(ST_SPLIT_CL100K));
    pthread_barrier_wait(&start);
    for (size_t i = 0, first = rng_below(&j->r, TEXTS); i < TEXTS; i++) {
        size_t which = (first + i) % TEXTS;
        ids.size = 0;
        encode_one(j, &e, &texts[which], &ids);
        CHECK(ids.size == expected[which].size && same_bytes(ids.data, expected[which].data, 4 * ids.size));
    }
    st_ids_free(&ids);
    st_encoder_free(&e);
    return NULL;
}

/* ---- the program ---- */

static uint64_t run_threads(rng *r)
{
    static job jobs[THREADS_MOST];
    const size_t count = rng_one_in(r, 32) ? THREADS_MOST : 2 + rng_below(r, 7);
    uint64_t feeds = 0;
    CHECK(pthread_barrier_init(&start, NULL, (unsigned)count) == 0);
    for (size_t i = 0; i < count; i++) {
        jobs[i].r.state = rng_next(r);
        jobs[i].feeds = 0;
        CHECK(pthread_create(&jobs[i].thread, NULL, run_thread, &jobs[i]) == 0);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK(pthread_join(jobs[i].thread, NULL) == 0);
        feeds += jobs[i].feeds;
    }
    pthread_barrier_destroy(&start);
    return feeds;
}

/* ---- one job of all ---- */

static void *run_work(void *argument)
{
    pthread_barrier_wait(&start);
    st_job_work(argument);
    return NULL;
}

static void check_job(const st_job *together)
{
    size_t at = 0;
    int64_t counts[TEXTS] = {0};
    CHECK(together->status == ST_OK && together->share_count > 0);
    st_job_add_counts(together, counts);
    for (size_t i = 0; i < TEXTS; i++) {
        CHECK((size_t)counts[i] == expected[i].size);
        CHECK(same_bytes(together->out.data + at, expected[i].data, 4 * expected[i].size));
        at += expected[i].size;
    }
    CHECK(together->out.size == at && together->total == at);
}

static st_job_text pick_text(rng *r, size_t i)
{
    if (st_code_points_has_tier() && rng_one_in(r, 2))
        return (st_job_text){characters[i].data, characters[i].size / 4, 4, ST_FEED_TRUSTED};
    return (st_job_text){texts[i].data, texts[i].size, 0, rng_one_in(r, 2) ? ST_FEED_TRUSTED : 0};
}

static void run_job(rng *r)
{
    static pthread_t threads[THREADS_MOST];
    const size_t count = 2 + rng_below(r, 7);
    st_job_text spans[TEXTS];
    st_job together;
    st_job_init(&together, vocab, pattern_of(ST_SPLIT_CL100K), ST_ENGINE_FAST, ST_ERRORS_STRICT);
    for (size_t i = 0; i < TEXTS; i++)
        spans[i] = pick_text(r, i);
    CHECK(st_job_plan(&together, spans, TEXTS, count, 1 + rng_below(r, 100)) == ST_OK);
    CHECK(st_ids_reserve(&together.out, rng_below(r, 2000)) == ST_OK); /* too little makes it move */
    CHECK(pthread_barrier_init(&start, NULL, (unsigned)count) == 0);
    for (size_t i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, run_work, &together) == 0);
    for (size_t i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    pthread_barrier_destroy(&start);
    st_job_finish(&together);
    check_job(&together);
    st_job_free(&together);
}

/* A thread that finds a backlog, made while another one was placing, goes back to encoding after a few shares. The rest is copied
 * by those that find nothing more to encode. A thread that copied all of the backlog would encode nothing meanwhile, and not look
 * whether to stop. */
static void run_backlog(void)
{
    st_job_text spans[TEXTS];
    st_job job;
    st_job_init(&job, vocab, pattern_of(ST_SPLIT_CL100K), ST_ENGINE_FAST, ST_ERRORS_STRICT);
    for (size_t i = 0; i < TEXTS; i++)
        spans[i] = (st_job_text){texts[i].data, texts[i].size, 0, ST_FEED_TRUSTED};
    CHECK(st_job_plan(&job, spans, TEXTS, 4, 1) == ST_OK);
    const size_t shares = job.share_count;
    job.placing = 1;
    st_job_work(&job);
    CHECK(job.placed == 0 && job.copied == 0);
    job.placing = 0;
    CHECK(st_ids_reserve(&job.out, 1 << 20) == ST_OK);
    st_job_place(&job);
    CHECK((size_t)job.placed == shares && job.copied == 0);
    st_job_copy(&job, shares - 1, ST_JOB_COPIED_AT_ONCE);
    CHECK(job.copied == ST_JOB_COPIED_AT_ONCE && !job.shares[shares - 1].ids && job.shares[shares - 2].ids);
    counts.backlog += shares - (size_t)job.copied;
    st_job_finish(&job);
    check_job(&job);
    st_job_free(&job);
}

/* ---- batches of any bytes ---- */

#define BATCH_MOST 40

typedef struct batch {
    st_job_text spans[BATCH_MOST];
    size_t count, failed; /* `failed` is count where all are sound */
    st_ids ids;
    int64_t counts[BATCH_MOST];
} batch;

static void set_options(const st_job *job, st_encoder *e)
{
    st_encoder_init(e, vocab, job->pattern);
    e->engine = ST_ENGINE_REFERENCE;
    e->text.errors = job->errors;
    e->allowed = job->allowed;
    e->watch.names = job->disallowed;
}

/* Cuts the text into texts, and encodes each alone. */
static void make_batch(rng *r, const st_bytes *text, const st_job *job, batch *b)
{
    st_encoder e;
    st_feed_error error;
    set_options(job, &e);
    b->count = b->failed = b->ids.size = 0;
    for (size_t at = 0; b->count < BATCH_MOST && (at < text->size || rng_one_in(r, 2)); b->count++) {
        const size_t left = text->size - at, n = b->count == BATCH_MOST - 1 ? left : rng_size(r, left);
        const size_t before = b->ids.size;
        b->spans[b->count] = (st_job_text){text->data + at, n, 0, 0};
        const st_status status = st_encoder_feed(&e, text->data + at, n, ST_FEED_FINAL, &b->ids, &error);
        if (status)
            st_encoder_reset(&e);
        else if (b->failed == b->count)
            b->failed++;
        b->counts[b->count] = (int64_t)(b->ids.size - before);
        at += n;
    }
    st_encoder_free(&e);
}

static void work_together(rng *r, st_job *job)
{
    pthread_t threads[8];
    const size_t count = 1 + rng_below(r, 8);
    CHECK(pthread_barrier_init(&start, NULL, (unsigned)count) == 0);
    for (size_t i = 0; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, run_work, job) == 0);
    for (size_t i = 0; i < count; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    pthread_barrier_destroy(&start);
    st_job_finish(job);
}

static void check_batch(const st_job *job, const batch *b)
{
    int64_t found[BATCH_MOST] = {0};
    if (b->failed < b->count) {
        CHECK(job->status == ST_INVALID_UTF8 || job->status == ST_DISALLOWED_SPECIAL);
        CHECK(job->failed_text == b->failed);
        counts.refused++;
        return;
    }
    CHECK(job->status == ST_OK && job->total == b->ids.size);
    st_job_add_counts(job, found);
    CHECK(same_bytes(found, b->counts, b->count * sizeof *found));
    if (!job->counts_only)
        CHECK(job->out.size == b->ids.size && same_bytes(job->out.data, b->ids.data, 4 * b->ids.size));
}

static void run_batch(rng *r)
{
    static batch b;
    st_bytes text = {0};
    st_job job;
    const unsigned mask = rng_one_in(r, 2) ? (unsigned)rng_below(r, 1u << SPECIAL_COUNT) : 0;
    st_special *allowed = special_build(mask);
    st_special *disallowed = special_build(rng_one_in(r, 3) ? (unsigned)rng_below(r, 1u << SPECIAL_COUNT) & ~mask : 0);
    st_job_init(&job, vocab, pattern_random(r), ST_ENGINE_FAST, (st_errors)rng_below(r, 3));
    if (vocab->model == &st_model_longest && rng_one_in(r, 2)) /* loose cuts */
        job.pattern = pattern_of(ST_SPLIT_NONE);
    job.allowed = allowed;
    job.disallowed = disallowed;
    job.counts_only = rng_one_in(r, 3);
    text_random(r, vocab, 1 + rng_size(r, 6000), &text);
    if (vocab->model == &st_model_longest && rng_one_in(r, 2)) { /* mostly without cuts */
        st_bytes run = {0};
        text_endless(r, 1 + rng_below(r, 3000), &run);
        CHECK(st_bytes_append(&text, run.data, run.size) == ST_OK);
        st_bytes_free(&run);
    }
    if (rng_one_in(r, 2)) { /* mostly something to encode */
        st_bytes sound = {0};
        CHECK(st_bytes_reserve(&sound, 1) == ST_OK);
        CHECK(st_text_repair(text.data, text.size, ST_ERRORS_REPLACE, &sound) == ST_OK);
        st_bytes_free(&text);
        text = sound;
    }
    make_batch(r, &text, &job, &b);
    CHECK(st_job_plan(&job, b.spans, b.count, 1 + rng_below(r, 8), 1 + rng_below(r, 200)) == ST_OK);
    work_together(r, &job);
    check_batch(&job, &b);
    counts.jobs++;
    counts.slices += job.slice_count;
    counts.seams += job.joined ? job.seams : 0;
    st_job_free(&job);
    st_ids_free(&b.ids);
    b.ids = (st_ids){0};
    st_bytes_free(&text);
    special_free(allowed);
    special_free(disallowed);
}

/* ---- the harness ---- */

static source pick_source(rng *r)
{
    source s = {0};
    if (vocab_files_read() && rng_one_in(r, 2)) {
        static source file; /* read once */
        if (!file.count)
            file = source_read(vocab_files[0]);
        s = source_head(&file, 500 + rng_below(r, 3000));
    } else {
        s = source_grown(r);
    }
    if (rng_one_in(r, 2))
        source_damage(&s, r);
    s.longest = rng_one_in(r, 4);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    source s = pick_source(&r);
    vocab = source_vocab(&s, 64);
    if (rng_one_in(&r, 2)) {
        make_texts(&r);
        counts.feeds += run_threads(&r);
        run_job(&r);
        run_backlog();
    }
    for (int i = 0; i < 4; i++)
        run_batch(&r);
    st_vocab_free(vocab);
    source_free(&s);
    counts.rounds++;
    return 0;
}

void harness_close(void)
{
    for (int i = 0; i < TEXTS; i++) {
        st_bytes_free(&texts[i]);
        st_bytes_free(&characters[i]);
        st_ids_free(&expected[i]);
    }
    printf("fuzz_job: %llu vocabularies shared, %llu feeds, %llu batches in %llu slices with %llu seams, %llu of them refused, %llu shares left "
           "to the end: no difference\n",
           (unsigned long long)counts.rounds, (unsigned long long)counts.feeds, (unsigned long long)counts.jobs,
           (unsigned long long)counts.slices, (unsigned long long)counts.seams, (unsigned long long)counts.refused,
           (unsigned long long)counts.backlog);
}
