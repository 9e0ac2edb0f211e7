/* job.h - texts encoded by several threads, their ids joined in one array.
 *
 * Long texts are cut into slices (safe_cuts.h); a short text is one slice. A share is some slices in order. Each thread takes the
 * next share until there is none. The ids of a share are made in a reused buffer, and copied to their place in the result as soon
 * as it is known (job_place.c). So the result is written once, its pages are touched once, and by all threads.
 *
 * A text may have no place for a cut. Where the model joins (ST_MODEL_JOINS), it is then cut at a loose one, and what the cut has changed is mended once
 * the shares on both sides are encoded (job_seam.c). So it is where the model carries something over a cut (st_model_seams).
 *
 *     st_job job;
 *     st_job_init(&job, ...);                            the texts stay the caller's, and alive
 *     st_job_plan(&job, texts, count, threads, least);
 *     on each thread, at the same time: st_job_work(&job);
 *     when all have returned: st_job_finish(&job);
 *     job.out, job.total, st_job_add_counts; or job.failed_text
 *     st_job_free(&job);
 *
 * Thread rule: st_job_work by any number of threads; all else by one thread, alone. To end the work early, raise `abandoned`, the
 * `stop` of each thread's scope (base/interrupt.h): each leaves its share, and none is taken any more. */
#ifndef ST_THREADS_JOB_H
#define ST_THREADS_JOB_H

#include "threads/job_text.h"

typedef struct st_job_slice {
    st_job_text span;
    size_t source; /* number of its text */
    size_t ids;    /* how many it has, once encoded */
    int loose;     /* it begins at a loose cut; then it is the first slice of its share */
} st_job_slice;

typedef struct st_job_share {
    size_t first;     /* its slices are those from here up to the first of the next share */
    st_ids *ids;      /* encoded, and not yet copied; */
    size_t skipped;   /* the first of them, which are not copied */
    size_t place;     /* in the result, once `placed` is greater than the number of the share */
    size_t failed;    /* the slice that failed */
    st_status status; /* why */
    void *noted;      /* of the first slice, where something is carried to it (vocab/model.h); NULL: nothing is */
    double carried;   /* behind the last slice, once that is known */
} st_job_share;

/* Buffers kept: one for each of many threads, and those of shares that wait for one in front of them. */
#define ST_JOB_SPARES 64

typedef struct st_job {
    st_vocab *vocab; /* not owned, nor are the two sets of names */
    st_pattern pattern;
    st_engine engine;
    st_errors errors;
    const st_special *allowed, *disallowed;
    const st_normalizer *normalizer;
    int counts_only; /* ids are counted and dropped: at once, or where shares are joined, once they would have a place */
    st_job_slice *slices;
    st_job_share *shares; /* one more than share_count: where the last one ends */
    size_t slice_count, share_count;
    size_t seams;    /* slices that begin at loose cuts */
    int carries;     /* something is carried over these */
    size_t joined;   /* shares up to this number are joined with those in front of them */
    int next;    /* share to take */
    int stopped;   /* no share is taken any more */
    int abandoned; /* nor is a share finished */
    int placing; /* flag: some thread gives places */
    int placed;  /* shares that have one */
    int copied;  /* shares whose ids are in `out` */
    uint64_t uncopied; /* the shares in front of this one are copied, or being copied */
    int moved;         /* how often the result had to be moved */
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

/* Sets status and total. After a failure `failed_text` is the first text in order that fails: encode it by itself to get the error
 * with its offsets. ST_NO_MEMORY: memory was short, whatever the text. ST_INVALID_UTF8 for a text of characters: it has surrogates,
 * which a job does not replace. */
void st_job_finish(st_job *job);

/* Adds the number of ids of text i to counts[i]. */
void st_job_add_counts(const st_job *job, int64_t *counts);

void st_job_free(st_job *job);

/* Whether a text may be cut at loose cuts, the ids on both sides being joined: where the model joins, and nothing but special
 * tokens divides a text. */
int st_has_loose_cuts(const st_vocab *vocab, st_pattern pattern, st_engine engine, const st_normalizer *normalizer);

/* Whether a text without names may be cut where the model carries something over the cut: st_model_seams (vocab/model.h). */
int st_has_carried_cuts(st_vocab *vocab, st_pattern pattern, st_engine engine, const st_normalizer *normalizer);

/* ids[0..*count) are those of text[0..*n), which ends at a loose cut. Makes both smaller: to the ids that stay whatever follows, and the
 * text in front of the others, whose first one begins between two characters. 0: that is not known. Then the text was repaired near
 * its end, or tokens cut its characters everywhere. */
int st_certain_part(const st_vocab *vocab, const uint32_t *ids, size_t *count, const uint8_t *text, size_t *n);

/* ---- how job.c places ids: job_place.c, by any number of threads, but for st_job_copy_rest ---- */

/* Shares that a thread copies for each one that it has encoded. With more than one, a backlog shrinks. With no limit, a thread
 * could copy what the others encode for as long as the job lasts: it would encode nothing, and not look whether to stop. */
#define ST_JOB_COPIED_AT_ONCE 2

st_ids *st_job_take_buffer(st_job *job);
void st_job_give_buffer(st_job *job, st_ids *ids);

void st_job_fail(st_job *job, st_job_share *share, size_t slice, st_status status);

/* Gives places to the shares that are ready. If another thread is doing so, this one returns: that thread, or a later call, does. */
void st_job_place(st_job *job);

/* Makes the ids on both sides of the loose cut at which share `index` begins those of the whole text. Both shares are encoded, that in
 * front is joined with those in front of it, and no other thread uses them. */
st_status st_job_join(st_job *job, size_t index);

/* Copies up to `most` shares that have places, beginning with share `own`, if that is one. */
void st_job_copy(st_job *job, size_t own, size_t most);

/* Places and copies all shares that are left, when no other thread works. */
void st_job_copy_rest(st_job *job);

#endif
