#include "threads/job.h"

#include "base/atomic.h"
#include "base/interrupt.h"

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
    for (size_t i = 0; i < job->share_count; i++) {
        free_ids(job->shares[i].ids);
        if (job->shares[i].noted)
            job->vocab->model->seams->forget(job->shares[i].noted);
    }
    for (size_t i = 0; i < ST_JOB_SPARES; i++)
        free_ids(job->spares[i]);
    st_free(job->slices);
    st_free(job->shares);
    st_ids_free(&job->out);
    job->slices = NULL;
    job->shares = NULL;
    job->share_count = job->slice_count = 0;
}

/* ---- the work ---- */

/* Whether the ids of a share are dropped as soon as they are counted. */
static int drops_at_once(const st_job *job)
{
    return job->counts_only && !job->seams;
}

/* Work of a slice besides its bytes, in the unit of st_go_on (base/interrupt.h). */
#define SLICE_COSTS 256

/* Something is carried to the slice, or behind it. */
static int is_noted(const st_job *job, size_t i)
{
    return job->carries && (job->slices[i].loose || (i + 1 < job->slice_count && job->slices[i + 1].loose));
}

/* As encode_slice, and notes what the slice carries on. To the first slice of a text nothing is carried; the others are mended later. */
static st_status encode_noted(st_job *job, st_encoder *encoder, st_bytes *buffer, st_job_share *share, st_job_slice *slice, st_ids *ids)
{
    const st_model_seams *seams = job->vocab->model->seams;
    const size_t first = ids->size;
    void *noted = encoder->workspace ? seams->note(encoder->workspace->scratch, 1) : NULL;
    if (!noted)
        return ST_NO_MEMORY;
    st_status status = st_job_text_encode(&slice->span, encoder, 0, buffer, ids, &slice->ids);
    (void)seams->note(encoder->workspace->scratch, 0);
    if (slice->loose) {
        share->noted = noted;
        return status;
    }
    share->carried = 0;
    if (!status)
        status = seams->mend(job->vocab, encoder->workspace->scratch, noted, &share->carried, ids, first);
    seams->forget(noted);
    slice->ids = ids->size - first;
    return status;
}

static int encode_share(st_job *job, st_encoder *encoder, st_bytes *buffer, st_job_share *share, st_ids *ids)
{
    for (size_t i = share->first; i < share[1].first; i++) {
        st_job_slice *slice = &job->slices[i];
        st_status status = is_noted(job, i)
                               ? encode_noted(job, encoder, buffer, share, slice, ids)
                               : st_job_text_encode(&slice->span, encoder, drops_at_once(job), buffer, ids, &slice->ids);
        if (!status)
            status = st_go_on(SLICE_COSTS);
        if (status) {
            st_job_fail(job, share, i, status);
            return 0;
        }
    }
    return 1;
}

static void work_on_share(st_job *job, st_encoder *encoder, st_bytes *buffer, size_t index)
{
    st_job_share *share = &job->shares[index];
    st_ids *ids = st_job_take_buffer(job);
    if (!ids) {
        st_job_fail(job, share, share->first, ST_NO_MEMORY);
        return;
    }
    if (!encode_share(job, encoder, buffer, share, ids) || drops_at_once(job)) {
        st_job_give_buffer(job, ids);
        return;
    }
    st_publish((void **)&share->ids, ids);
    st_job_place(job);
    st_job_copy(job, index, ST_JOB_COPIED_AT_ONCE);
}

void st_job_work(st_job *job)
{
    st_encoder encoder;
    st_bytes buffer = {NULL, 0, 0};
    st_encoder_init(&encoder, job->vocab, job->pattern);
    encoder.engine = job->engine;
    encoder.text.errors = job->errors;
    st_encoder_allow(&encoder, job->allowed, job->normalizer);
    encoder.watch.names = job->disallowed;
    encoder.workspace = st_workspace_borrow(job->vocab); /* NULL: each feed tries again, and fails */
    while (!st_count_read(&job->stopped)) {
        size_t index = (size_t)(st_count_add(&job->next, 1) - 1);
        if (index >= job->share_count)
            break;
        work_on_share(job, &encoder, &buffer, index);
    }
    if (encoder.workspace)
        st_workspace_return(job->vocab, encoder.workspace);
    st_encoder_free(&encoder);
    st_bytes_free(&buffer);
    if (!drops_at_once(job) && !st_count_read(&job->stopped)) { /* help those that still encode */
        st_job_place(job);
        st_job_copy(job, job->share_count, job->share_count);
    }
}

/* ---- the result ---- */

/* Shares are taken in order, so every share in front of one that failed was tried. */
void st_job_finish(st_job *job)
{
    if (!drops_at_once(job))
        st_job_copy_rest(job);
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
