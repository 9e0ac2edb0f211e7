/* Many threads on one vocabulary: its lazily built parts are raced for, its pool of workspaces is shared, and runs out.
 * Then the same texts as one job (job.h), cut small, that all threads work at together.
 * Meant for ThreadSanitizer; ids are checked against the reference engine's.
 *
 *     threads [--seed N] [--iterations N] [--seconds N] [FILE.stv]
 *
 * An iteration is a new vocabulary and its threads; with a file, its first tokens, else one made from chance. */
#define _POSIX_C_SOURCE 200809L /* for the barrier */
#include "code_points.h"
#include "fuzz.h"
#include "job.h"
#include "utf8.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXTS 4
#define THREADS_MOST (ST_POOL_SIZE + 8)

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
    st_encoder_init(&e, vocab, ST_SPLIT_CL100K);
    e.engine = ST_ENGINE_REFERENCE;
    for (int i = 0; i < TEXTS; i++) {
        make_text(r, &texts[i]);
        make_characters(&texts[i], &characters[i]);
        expected[i].size = 0;
        CHECK(st_encoder_feed(&e, texts[i].data, texts[i].size, ST_FEED_FINAL, &expected[i], &error) == ST_OK);
    }
    st_encoder_free(&e);
    CHECK(!vocab->automaton && !vocab->cuts);
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
    st_encoder_init(&e, vocab, ST_SPLIT_CL100K);
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
    const size_t count = rng_one_in(r, 8) ? THREADS_MOST : 2 + rng_below(r, 7);
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
    st_job_init(&together, vocab, ST_SPLIT_CL100K, ST_ENGINE_FAST, ST_ERRORS_STRICT);
    for (size_t i = 0; i < TEXTS; i++)
        spans[i] = pick_text(r, i);
    CHECK(st_job_plan(&together, spans, TEXTS, count, 1 + rng_below(r, 100)) == ST_OK);
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

static source pick_source(rng *r, const source *file)
{
    source s = file->count && rng_one_in(r, 2) ? source_head(file, 500 + rng_below(r, 3000)) : source_grown(r);
    if (rng_one_in(r, 2))
        source_damage(&s, r);
    return s;
}

int main(int argc, char **argv)
{
    settings run = settings_read(argc, argv);
    source file = run.file_count ? source_read(run.files[0]) : (source){0};
    uint64_t rounds = 0, feeds = 0;
    for (; next_iteration(&run, rounds); rounds++) {
        rng r = {run.seed + rounds};
        source s = pick_source(&r, &file);
        vocab = source_vocab(&s, 64);
        make_texts(&r);
        feeds += run_threads(&r);
        run_job(&r);
        st_vocab_free(vocab);
        source_free(&s);
    }
    for (int i = 0; i < TEXTS; i++) {
        st_bytes_free(&texts[i]);
        st_bytes_free(&characters[i]);
        st_ids_free(&expected[i]);
    }
    source_free(&file);
    free(run.files);
    CHECK(st_alloc_read().live == 0);
    printf("threads: %llu vocabularies shared, %llu feeds: no difference\n", (unsigned long long)rounds,
           (unsigned long long)feeds);
    return 0;
}
