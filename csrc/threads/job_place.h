/* job_place.h - the ids of the shares of a job (job.h) into one array, by all threads at the same time.
 *
 * A share has a place in the result as soon as all shares in front of it are encoded. To give places is a matter of sums, so one
 * thread at a time does it, for all shares that are ready. Then each thread copies its own share, whose ids are still in its
 * cache, and some that have been left: those that got their places after their threads had gone on to the next share.
 *
 * The result moves when it must grow. No share gets a place beyond its room, and it grows once all that have a place are copied.
 *
 * Thread rule: any number of threads, but for st_job_copy_rest. */
#ifndef ST_THREADS_JOB_PLACE_H
#define ST_THREADS_JOB_PLACE_H

#include "threads/job.h"

/* Shares that a thread copies for each one that it has encoded. With more than one, a backlog shrinks. With no limit, a thread
 * could copy what the others encode for as long as the job lasts: it would encode nothing, and not look whether to stop. */
#define ST_JOB_COPIED_AT_ONCE 2

st_ids *st_job_take_buffer(st_job *job);
void st_job_give_buffer(st_job *job, st_ids *ids);

void st_job_fail(st_job *job, st_job_share *share, size_t slice, st_status status);

/* Asks for the pages of the part of the result that is share `index`'s (st_job_ask). */
void st_job_touch(st_job *job, size_t index);

/* Gives places to the shares that are ready. If another thread is doing so, this one returns: that thread, or a later call, does. */
void st_job_place(st_job *job);

/* Copies up to `most` shares that have places, beginning with share `own`, if that is one. */
void st_job_copy(st_job *job, size_t own, size_t most);

/* Places and copies all shares that are left, when no other thread works. */
void st_job_copy_rest(st_job *job);

#endif
