/* The ids of the shares of a job (job.h) into one array, by all threads at the same time.
 *
 * A share has a place in the result as soon as all shares in front of it are encoded. To give places is a matter of sums, so one
 * thread at a time does it, for all shares that are ready. Then each thread copies its own share, whose ids are still in its
 * cache, and some that have been left: those that got their places after their threads had gone on to the next share.
 *
 * The result moves when it must grow. No share gets a place beyond its room, and it grows once all that have a place are copied. */
#include "threads/job.h"

#include "base/atomic.h"

/* ---- buffers ---- */

st_ids *st_job_take_buffer(st_job *job)
{
    for (size_t i = 0; i < ST_JOB_SPARES; i++) {
        st_ids *ids = st_take((void **)&job->spares[i]);
        if (ids)
            return ids;
    }
    return st_calloc(1, sizeof(st_ids));
}

void st_job_give_buffer(st_job *job, st_ids *ids)
{
    ids->size = 0;
    for (size_t i = 0; i < ST_JOB_SPARES; i++)
        if (!st_publish((void **)&job->spares[i], ids))
            return;
    st_ids_free(ids);
    st_free(ids);
}

/* ---- places ---- */

void st_job_fail(st_job *job, st_job_share *share, size_t slice, st_status status)
{
    share->failed = slice;
    share->status = status;
    st_count_add(&job->stopped, 1);
}

/* Room in the result for the ids of the next share, which no thread writes to meanwhile. */
static int make_room(st_job *job, size_t count)
{
    if (count <= job->out.capacity - job->out.size)
        return 1;
    if (st_count_read(&job->copied) != job->placed)
        return 0;
    st_count_add(&job->moved, 1);
    const st_status status = st_ids_reserve(&job->out, count);
    if (status)
        st_job_fail(job, &job->shares[job->placed], job->shares[job->placed].first, status);
    return !status;
}

void st_job_place(st_job *job)
{
    const st_ids *ids;
    if (!st_flag_raise(&job->placing))
        return;
    while ((size_t)job->placed < job->share_count) {
        st_job_share *share = &job->shares[job->placed];
        if ((ids = st_acquire((void **)&share->ids)) == NULL || !make_room(job, ids->size))
            break;
        share->place = job->out.size;
        job->out.size += ids->size;
        st_count_add(&job->placed, 1);
    }
    st_flag_lower(&job->placing);
}

static int copy_share(st_job *job, size_t index)
{
    st_job_share *share = &job->shares[index];
    st_ids *ids = st_take((void **)&share->ids);
    if (!ids)
        return 0;
    if (ids->size)
        memcpy(job->out.data + share->place, ids->data, ids->size * sizeof *ids->data);
    st_job_give_buffer(job, ids);
    st_count_add(&job->copied, 1);
    return 1;
}

void st_job_copy(st_job *job, size_t own, size_t most)
{
    size_t placed = (size_t)st_count_read(&job->placed), at = (size_t)st_number_read(&job->uncopied);
    if (own < placed && most)
        most -= (size_t)copy_share(job, own);
    for (; most && at < placed; at++)
        most -= (size_t)copy_share(job, at);
    /* All in front of `at` are taken. Where another thread writes a smaller number, some are looked at again. */
    st_number_write(&job->uncopied, at);
}

void st_job_copy_rest(st_job *job)
{
    int before;
    do {
        before = job->placed;
        st_job_place(job);
        st_number_write(&job->uncopied, 0);
        st_job_copy(job, job->share_count, job->share_count);
    } while (job->placed != before);
}
