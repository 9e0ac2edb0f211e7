/* job.h - texts encoded by several threads, their ids joined in one array.
 *
 * Long texts are cut into slices (safe_cuts.h); a short text is one slice. A share is some slices in order. Each thread takes the
 * next share until there is none. The ids of a share are made in a reused buffer. The thread that finds them next in order appends
 * them to the result, so the result is written once, and its pages are touched once.
 *
 *     st_job job;
 *     st_job_init(&job, ...);                            the texts stay the caller's, and alive
 *     st_job_plan(&job, texts, count, threads, least);
 *     on each thread, at the same time: st_job_work(&job);
 *     when all have returned: st_job_finish(&job);
 *     job.out, job.total, st_job_add_counts; or job.failed_text
 *     st_job_free(&job);
 *
 * Thread rule: st_job_work by any number of threads, st_job_stop at any time; all else by one thread, alone. */
#ifndef ST_THREADS_JOB_H
#define ST_THREADS_JOB_H

#include "threads/job_text.h"

typedef struct st_job_slice {
    st_job_text span;
    size_t source; /* number of its text */
    size_t ids;    /* how many it has, once encoded */
} st_job_slice;

typedef struct st_job_share {
    size_t first;     /* its slices are those from here up to the first of the next share */
    st_ids *ids;      /* encoded, and not yet placed */
    size_t failed;    /* the slice that failed */
    st_status status; /* why */
} st_job_share;

#define ST_JOB_SPARES 16

typedef struct st_job {
    st_vocab *vocab; /* not owned, nor are the two sets of names */
    st_pattern pattern;
    st_engine engine;
    st_errors errors;
    const st_special *allowed, *disallowed;
    const st_normalizer *normalizer;
    int counts_only; /* ids are counted and dropped */
    st_job_slice *slices;
    st_job_share *shares; /* one more than share_count: where the last one ends */
    size_t slice_count, share_count;
    int next;    /* share to take */
    int stopped;   /* no share is taken any more */
    int abandoned; /* nor is a share finished: the `stop` of each thread's scope (base/interrupt.h) */
    int placing; /* flag: some thread appends to `out` */
    size_t placed;
    st_ids *spares[ST_JOB_SPARES];
    st_ids out;
    size_t total;       /* ids of all texts */
    size_t failed_text; /* the first text that cannot be encoded, if status says so */
    st_status status;
} st_job;

/* Sets all but names, normalizer and counts_only, which are none and 0. */
void st_job_init(st_job *job, st_vocab *vocab, st_pattern pattern, st_engine engine, st_errors errors);

/* Cuts the texts into shares for so many threads. Shares, and slices of long texts, have about
 * `least` bytes or characters or more. */
st_status st_job_plan(st_job *job, const st_job_text *texts, size_t count, size_t threads, size_t least);

/* Takes shares until there are no more. */
void st_job_work(st_job *job);

/* From now on no share is taken. Threads whose scope (base/interrupt.h) has `abandoned` as its `stop` leave their share. */
void st_job_stop(st_job *job);

/* Sets status and total. After a failure `failed_text` is the first text in order that fails: encode it by itself to get the error
 * with its offsets. ST_NO_MEMORY: memory was short, whatever the text. ST_INVALID_UTF8 for a text of characters: it has surrogates,
 * which a job does not replace. */
void st_job_finish(st_job *job);

/* Adds the number of ids of text i to counts[i]. */
void st_job_add_counts(const st_job *job, int64_t *counts);

void st_job_free(st_job *job);

#endif
