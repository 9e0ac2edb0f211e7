/* Many texts at once, on the threads of a pool (threads/job.h shares them out). */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <unistd.h>
#define HAS_THREADS 1
#endif

#include "api/objects.h"
#include "threads/job.h"

struct stk_pool {
    size_t helpers; /* threads besides the calling one */
#ifdef HAS_THREADS
    pthread_mutex_t turn;  /* one batch at a time */
    pthread_mutex_t lock;  /* of what follows */
    pthread_cond_t begins, ends;
    st_job *job;
    size_t round;  /* batches so far */
    size_t active; /* helpers that are not done with this one */
    int is_over;
    pthread_t threads[];
#endif
};

struct stk_batch {
    st_ids ids;
    uint64_t *starts;
    size_t texts;
};

/* ---- threads ---- */

#ifdef HAS_THREADS
static void *help(void *given)
{
    stk_pool *pool = given;
    size_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == seen && !pool->is_over)
            pthread_cond_wait(&pool->begins, &pool->lock);
        if (pool->is_over)
            break;
        seen = pool->round;
        st_job *job = pool->job;
        pthread_mutex_unlock(&pool->lock);
        st_job_work(job);
        pthread_mutex_lock(&pool->lock);
        if (--pool->active == 0)
            pthread_cond_signal(&pool->ends);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void work_together(stk_pool *pool, st_job *job)
{
    pthread_mutex_lock(&pool->turn);
    pthread_mutex_lock(&pool->lock);
    pool->job = job;
    pool->active = pool->helpers;
    pool->round++;
    pthread_cond_broadcast(&pool->begins);
    pthread_mutex_unlock(&pool->lock);
    st_job_work(job);
    pthread_mutex_lock(&pool->lock);
    while (pool->active)
        pthread_cond_wait(&pool->ends, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->turn);
}

static size_t processors(void)
{
#if defined(_SC_NPROCESSORS_ONLN)
    const long found = sysconf(_SC_NPROCESSORS_ONLN);
    return found > 0 ? (size_t)found : 1;
#else
    return 1;
#endif
}

static void start(stk_pool *pool, size_t wanted)
{
    while (pool->helpers < wanted && !pthread_create(&pool->threads[pool->helpers], NULL, help, pool))
        pool->helpers++; /* nobody reads it before a batch begins, on this thread */
}
#endif

#define MOST_THREADS 1024

stk_status stk_pool_new(size_t threads, stk_pool **pool)
{
    if (!pool)
        return STK_BAD_ARGUMENT;
    *pool = NULL;
#ifdef HAS_THREADS
    threads = threads ? threads : processors();
    threads = threads < MOST_THREADS ? threads : MOST_THREADS;
    stk_pool *made = st_calloc(1, sizeof *made + (threads - 1) * sizeof(pthread_t));
    if (!made)
        return STK_NO_MEMORY;
    pthread_mutex_init(&made->turn, NULL);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->begins, NULL);
    pthread_cond_init(&made->ends, NULL);
    start(made, threads - 1);
#else
    (void)threads;
    stk_pool *made = st_calloc(1, sizeof *made);
    if (!made)
        return STK_NO_MEMORY;
#endif
    *pool = made;
    return STK_OK;
}

void stk_pool_free(stk_pool *pool)
{
    if (!pool)
        return;
#ifdef HAS_THREADS
    pthread_mutex_lock(&pool->lock);
    pool->is_over = 1;
    pthread_cond_broadcast(&pool->begins);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->helpers; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_mutex_destroy(&pool->turn);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->begins);
    pthread_cond_destroy(&pool->ends);
#endif
    st_free(pool);
}

static void work(stk_pool *pool, st_job *job)
{
#ifdef HAS_THREADS
    if (pool && pool->helpers && job->share_count > 1) {
        work_together(pool, job);
        return;
    }
#endif
    (void)pool;
    st_job_work(job);
}

/* ---- batches ---- */

#define LEAST_SHARE ((size_t)1 << 16) /* bytes; less takes no longer than a thread takes to begin */

/* What is wrong with a text, with its place in the text. */
static stk_status fault_in(stk_coder *coder, const stk_text *text, size_t row, stk_fault *fault)
{
    size_t count;
    const stk_status status = stk_encode(coder, text->data, text->size, NULL, 0, &count, fault);
    if (fault && fault->size >= sizeof *fault)
        fault->row = row;
    return status == STK_OK || status == STK_MORE ? STK_BAD_ARGUMENT : status; /* it was changed meanwhile */
}

static stk_status run(stk_coder *coder, stk_pool *pool, st_job *job, const stk_text *texts, size_t count, stk_fault *fault)
{
    st_job_text *spans = st_malloc((count + 1) * sizeof *spans);
    if (!spans)
        return STK_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        spans[i] = (st_job_text){stk_text_of(texts[i].data, texts[i].size), texts[i].size, 0, 0};
    const st_status planned = st_job_plan(job, spans, count, pool ? pool->helpers + 1 : 1, LEAST_SHARE);
    st_free(spans);
    if (planned)
        return stk_status_of(planned);
    work(pool, job);
    st_job_finish(job);
    if (!job->status || job->status == ST_NO_MEMORY)
        return stk_status_of(job->status);
    return fault_in(coder, &texts[job->failed_text], job->failed_text, fault);
}

/* Moves the ids of a job to a batch, with those around each text. */
static st_status collect(const stk_coder *coder, st_job *job, stk_batch *batch)
{
    const size_t count = batch->texts;
    batch->starts = st_calloc(count + 1, sizeof *batch->starts);
    int64_t *counts = st_calloc(count + 1, sizeof *counts);
    st_status status = batch->starts && counts ? ST_OK : ST_NO_MEMORY;
    if (!status)
        st_job_add_counts(job, counts);
    size_t at = 0;
    for (size_t i = 0; i < count && !status; i++) {
        if (coder->flags & STK_ADD_TEMPLATE) {
            status = stk_add_prefix(coder, &batch->ids);
            if (!status)
                status = st_ids_reserve(&batch->ids, (size_t)counts[i]);
            if (!status && counts[i])
                memcpy(batch->ids.data + batch->ids.size, job->out.data + at, (size_t)counts[i] * sizeof(uint32_t));
            batch->ids.size += status ? 0 : (size_t)counts[i];
            if (!status)
                status = stk_add_suffix(coder, &batch->ids);
        }
        at += (size_t)counts[i];
        batch->starts[i + 1] = coder->flags & STK_ADD_TEMPLATE ? batch->ids.size : at;
    }
    st_free(counts);
    if (!status && !(coder->flags & STK_ADD_TEMPLATE)) {
        batch->ids = job->out;
        job->out = (st_ids){0};
    }
    return status;
}

stk_status stk_encode_batch(stk_coder *coder, stk_pool *pool, const stk_text *texts, size_t count, stk_batch **batch, stk_fault *fault)
{
    if (!batch)
        return STK_BAD_ARGUMENT;
    *batch = NULL;
    if (!coder || (count && !texts))
        return STK_BAD_ARGUMENT;
    for (size_t i = 0; i < count; i++)
        if (texts[i].size && !texts[i].data)
            return STK_BAD_ARGUMENT;
    stk_fault_clear(fault);
    const st_compiled *c = coder->model->compiled;
    stk_batch *made = st_calloc(1, sizeof *made);
    if (!made)
        return STK_NO_MEMORY;
    made->texts = count;
    st_job job;
    st_job_init(&job, c->vocab, c->pattern, ST_ENGINE_FAST, coder->errors);
    job.allowed = coder->allowed;
    job.disallowed = coder->refused;
    job.normalizer = c->normalizer;
    stk_status status = run(coder, pool, &job, texts, count, fault);
    if (!status)
        status = stk_status_of(collect(coder, &job, made));
    st_job_free(&job);
    if (status) {
        stk_batch_free(made);
        return status;
    }
    *batch = made;
    return STK_OK;
}

const uint32_t *stk_batch_ids(const stk_batch *batch, size_t *count)
{
    *count = batch->ids.size;
    return batch->ids.data;
}

const uint64_t *stk_batch_starts(const stk_batch *batch, size_t *texts)
{
    *texts = batch->texts;
    return batch->starts;
}

void stk_batch_free(stk_batch *batch)
{
    if (!batch)
        return;
    st_ids_free(&batch->ids);
    st_free(batch->starts);
    st_free(batch);
}
