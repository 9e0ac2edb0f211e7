/* A text of a job (job.h): UTF-8, or the characters of a str. Characters are converted to UTF-8 by the thread that encodes them, a
 * stretch at a time, in memory that stays in the cache. So the threads share the conversion, and a long text is not copied. */
#ifndef ST_THREADS_JOB_TEXT_H
#define ST_THREADS_JOB_TEXT_H

#include "stream/encoder.h"
#include "threads/safe_cuts.h"

typedef struct st_job_text {
    const void *text;
    size_t n;       /* in units: bytes of UTF-8, or characters */
    unsigned width; /* bytes of a character (text/str_to_utf8.h); 0: UTF-8 */
    int flags;      /* ST_FEED_TRUSTED, ST_FEED_SHARED or 0; characters are trusted */
} st_job_text;

/* The n units from `start` on. */
static inline st_job_text st_job_text_slice(const st_job_text *whole, size_t start, size_t n)
{
    const uint8_t *text = whole->text;
    return (st_job_text){text + start * (whole->width ? whole->width : 1), n, whole->width, whole->flags};
}

/* The place where the text may be cut (safe_cuts.h) about `wanted` units behind `from`, or the next one farther away; 0 if there
 * is none, or only a tiny rest would be left. *loose: whether to take a loose cut where there is no other; receives whether it is
 * one. `buffer`: memory that is kept between calls. */
size_t st_job_text_cut(const st_job_text *whole, size_t from, size_t wanted, const st_cut_rules *rules, int *loose, st_bytes *buffer);

/* Appends the ids of the text and adds their number to *count. If they are only counted, `ids` is scratch.
 * ST_INVALID_UTF8 for characters: one of them is a surrogate. */
st_status st_job_text_encode(const st_job_text *s, st_encoder *encoder, int counts_only, st_bytes *buffer, st_ids *ids,
                             size_t *count);

#endif
