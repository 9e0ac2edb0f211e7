#include "threads/job.h"

#include "base/atomic.h"
#include "base/interrupt.h"

/* The most bytes of a share. Longer shares are not faster, and the ids of one of this size stay in the second-level cache. */
#define MOST ((size_t)1 << 20)

void st_job_init(st_job *job, st_vocab *vocab, st_pattern pattern, st_engine engine, st_errors errors)
{
    memset(job, 0, sizeof *job);
    job->vocab = vocab;
    job->pattern = pattern;
    job->engine = engine;
    job->errors = errors;
}

static void free_ids(st_ids *ids)
{
    if (ids)
        st_ids_free(ids);
    st_free(ids);
}

void st_job_free(st_job *job)
{
    for (size_t i = 0; i < job->share_count; i++)
        free_ids(job->shares[i].ids);
    for (size_t i = 0; i < ST_JOB_SPARES; i++)
        free_ids(job->spares[i]);
    st_free(job->slices);
    st_free(job->shares);
    st_ids_free(&job->out);
    job->slices = NULL;
    job->shares = NULL;
    job->share_count = job->slice_count = 0;
}

/* ---- the plan ---- */

typedef struct planner {
    st_job *job;
    size_t slice_room, share_room;
    size_t left, wanted, size; /* bytes or characters: not in a share yet; wanted in a share; in the open share */
    size_t threads, least;
    st_bytes text; /* UTF-8 of the characters among which a cut is searched */
} planner;

/* Work of planning a text or a cut, in the unit of st_go_on (base/interrupt.h). */
#define PLAN_COSTS 1024

/* Shares grow smaller towards the end, so that the threads end together. */
static void choose_size(planner *p)
{
    size_t wanted = p->left / (4 * p->threads);
    p->wanted = wanted < p->least ? p->least : wanted > MOST ? MOST : wanted;
}

static st_status close_share(planner *p)
{
    st_job *job = p->job;
    if (job->share_count + 2 > p->share_room) {
        size_t room = p->share_room * 2 + 16;
        st_job_share *shares = st_realloc(job->shares, room * sizeof *shares);
        if (!shares)
            return ST_NO_MEMORY;
        memset(shares + p->share_room, 0, (room - p->share_room) * sizeof *shares);
        job->shares = shares;
        p->share_room = room;
    }
    job->shares[++job->share_count].first = job->slice_count;
    p->left -= p->size;
    p->size = 0;
    choose_size(p);
    return ST_OK;
}

static st_status add_slice(planner *p, const st_job_text *whole, size_t source, size_t start, size_t end)
{
    st_job *job = p->job;
    if (job->slice_count == p->slice_room) {
        size_t room = p->slice_room * 2 + 16;
        st_job_slice *slices = st_realloc(job->slices, room * sizeof *slices);
        if (!slices)
            return ST_NO_MEMORY;
        job->slices = slices;
        p->slice_room = room;
    }
    job->slices[job->slice_count++] = (st_job_slice){st_job_text_slice(whole, start, end - start), source, 0};
    p->size += end - start;
    return ST_OK;
}

/* The next cut behind `start` that does not leave a tiny rest; 0: none. */
static size_t next_cut(planner *p, const st_job_text *whole, size_t start)
{
    const st_job *job = p->job;
    const st_cut_rules rules = {job->allowed, job->disallowed, whole->flags & ST_FEED_TRUSTED, job->pattern, job->vocab,
                                job->normalizer};
    return st_job_text_cut(whole, start, p->wanted, &rules, &p->text);
}

static st_status plan_text(planner *p, const st_job_text *whole, size_t source)
{
    size_t start = 0, cut;
    if (p->size && p->size + whole->n > p->wanted + p->wanted / 2)
        ST_TRY(close_share(p));
    ST_TRY(st_go_on(PLAN_COSTS));
    while ((cut = next_cut(p, whole, start)) != 0) {
        ST_TRY(add_slice(p, whole, source, start, cut));
        ST_TRY(close_share(p));
        start = cut;
    }
    ST_TRY(add_slice(p, whole, source, start, whole->n));
    return p->size >= p->wanted ? close_share(p) : ST_OK;
}

static st_status plan_all(planner *p, const st_job_text *texts, size_t count)
{
    st_job *job = p->job;
    for (size_t i = 0; i < count; i++)
        p->left += texts[i].n;
    choose_size(p);
    for (size_t i = 0; i < count; i++)
        ST_TRY(plan_text(p, &texts[i], i));
    if (p->size || !job->share_count)
        ST_TRY(close_share(p));
    job->shares[job->share_count].first = job->slice_count; /* empty texts at the end */
    return ST_OK;
}

st_status st_job_plan(st_job *job, const st_job_text *texts, size_t count, size_t threads, size_t least)
{
    planner p = {.job = job, .threads = threads ? threads : 1, .least = least ? least : 1};
    const st_status status = plan_all(&p, texts, count);
    st_bytes_free(&p.text);
    return status ? status : st_go_on(0);
}

/* ---- buffers ---- */

static st_ids *take_buffer(st_job *job)
{
    for (size_t i = 0; i < ST_JOB_SPARES; i++) {
        st_ids *ids = st_take((void **)&job->spares[i]);
        if (ids)
            return ids;
    }
    return st_calloc(1, sizeof(st_ids));
}

static void give_buffer(st_job *job, st_ids *ids)
{
    ids->size = 0;
    for (size_t i = 0; i < ST_JOB_SPARES; i++)
        if (!st_publish((void **)&job->spares[i], ids))
            return;
    free_ids(ids);
}

/* ---- the work ---- */

static void fail(st_job *job, st_job_share *share, size_t slice, st_status status)
{
    share->failed = slice;
    share->status = status;
    st_count_add(&job->stopped, 1);
}

/* Work of a slice besides its bytes, in the unit of st_go_on (base/interrupt.h). */
#define SLICE_COSTS 256

static int encode_share(st_job *job, st_encoder *encoder, st_bytes *room, st_job_share *share, st_ids *ids)
{
    for (size_t i = share->first; i < share[1].first; i++) {
        st_job_slice *slice = &job->slices[i];
        st_status status = st_job_text_encode(&slice->span, encoder, job->counts_only, room, ids, &slice->ids);
        if (!status)
            status = st_go_on(SLICE_COSTS);
        if (status) {
            fail(job, share, i, status);
            return 0;
        }
    }
    return 1;
}

/* Shares that a thread appends for each one that it has encoded. With more than one, a backlog shrinks. With no limit, a thread
 * could append what the others encode for as long as the job lasts: it would encode nothing, and not look whether to stop. */
#define PLACED_AT_ONCE 2

/* Appends up to `most` of the shares that are next in order to the result. If another thread is doing so, this one returns: the
 * other thread, or the last call, appends its share. */
static void place(st_job *job, size_t most)
{
    st_ids *ids;
    if (!st_flag_raise(&job->placing))
        return;
    for (; most && job->placed < job->share_count; most--) {
        if ((ids = st_take((void **)&job->shares[job->placed].ids)) == NULL)
            break;
        st_status status = st_ids_reserve(&job->out, ids->size);
        if (!status && ids->size)
            memcpy(job->out.data + job->out.size, ids->data, ids->size * sizeof *ids->data);
        if (!status)
            job->out.size += ids->size;
        else
            fail(job, &job->shares[job->placed], job->shares[job->placed].first, status);
        give_buffer(job, ids);
        job->placed++;
    }
    st_flag_lower(&job->placing);
}

void st_job_work(st_job *job)
{
    st_encoder encoder;
    st_bytes room = {NULL, 0, 0};
    st_encoder_init(&encoder, job->vocab, job->pattern);
    encoder.engine = job->engine;
    encoder.text.errors = job->errors;
    st_encoder_allow(&encoder, job->allowed, job->normalizer);
    encoder.watch.names = job->disallowed;
    while (!st_count_read(&job->stopped)) {
        size_t index = (size_t)(st_count_add(&job->next, 1) - 1);
        if (index >= job->share_count)
            break;
        st_job_share *share = &job->shares[index];
        st_ids *ids = take_buffer(job);
        if (!ids) {
            fail(job, share, share->first, ST_NO_MEMORY);
            break;
        }
        if (!encode_share(job, &encoder, &room, share, ids) || job->counts_only) {
            give_buffer(job, ids);
            continue;
        }
        st_publish((void **)&share->ids, ids);
        place(job, PLACED_AT_ONCE);
    }
    st_encoder_free(&encoder);
    st_bytes_free(&room);
}

void st_job_stop(st_job *job)
{
    st_count_add(&job->stopped, 1);
    st_count_add(&job->abandoned, 1);
}

/* ---- the result ---- */

/* Shares are taken in order, so every share in front of one that failed was tried. */
void st_job_finish(st_job *job)
{
    if (!job->counts_only)
        place(job, job->share_count);
    job->status = ST_OK;
    for (size_t i = 0; i < job->share_count && !job->status; i++)
        if (job->shares[i].status) {
            job->status = job->shares[i].status;
            job->failed_text = job->slices[job->shares[i].failed].source;
        }
    job->total = 0;
    for (size_t i = 0; i < job->slice_count; i++)
        job->total += job->slices[i].ids;
}

void st_job_add_counts(const st_job *job, int64_t *counts)
{
    for (size_t i = 0; i < job->slice_count; i++)
        counts[job->slices[i].source] += (int64_t)job->slices[i].ids;
}
