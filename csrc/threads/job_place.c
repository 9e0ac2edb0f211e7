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
    if (job->counts_only || count <= job->out.capacity - job->out.size)
        return 1;
    if (st_count_read(&job->copied) != job->placed)
        return 0;
    st_count_add(&job->moved, 1);
    const st_status status = st_ids_reserve(&job->out, count);
    if (status)
        st_job_fail(job, &job->shares[job->placed], job->shares[job->placed].first, status);
    return !status;
}

/* Must share `index` be joined with the one in front before that gets a place? */
static int is_to_join(const st_job *job, size_t index)
{
    return index < job->share_count && index > job->joined && job->slices[job->shares[index].first].loose;
}

static int join_share(st_job *job, size_t index)
{
    const st_status status = st_job_join(job, index);
    if (status)
        st_job_fail(job, &job->shares[index], job->shares[index].first, status);
    else
        job->joined = index;
    return !status;
}

/* Gives places to the shares that are ready. Returns the share that is not encoded yet, NULL if that is not what they wait for. */
static st_job_share *place_ready(st_job *job)
{
    for (size_t index = (size_t)job->placed; index < job->share_count; index++) {
        st_job_share *share = &job->shares[index];
        if (!st_acquire((void **)&share->ids))
            return share;
        if (is_to_join(job, index + 1) && !st_acquire((void **)&share[1].ids))
            return share + 1;
        if (is_to_join(job, index + 1) && !join_share(job, index + 1))
            return NULL;
        const size_t count = share->ids->size - share->skipped;
        if (!make_room(job, count))
            return NULL;
        share->place = job->out.size;
        job->out.size += job->counts_only ? 0 : count;
        st_count_add(&job->placed, 1);
    }
    return NULL;
}

/* The thread of a share that was missing may have left while this one had the flag: it is looked at again. */
void st_job_place(st_job *job)
{
    st_job_share *missing;
    do {
        if (!st_flag_raise(&job->placing))
            return;
        missing = place_ready(job);
        st_flag_lower(&job->placing);
    } while (missing && st_acquire((void **)&missing->ids));
}

static int copy_share(st_job *job, size_t index)
{
    st_job_share *share = &job->shares[index];
    st_ids *ids = st_take((void **)&share->ids);
    if (!ids)
        return 0;
    const size_t count = ids->size - share->skipped;
    if (count && !job->counts_only)
        memcpy(job->out.data + share->place, ids->data + share->skipped, count * sizeof *ids->data);
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
