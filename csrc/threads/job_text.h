/* A text of a job (job.h): UTF-8, or the characters of a str, which become UTF-8 only where they are encoded, a stretch at a time in
 * memory that stays warm. So the threads share that work too, and there is no second copy of a long text. */
#ifndef ST_THREADS_JOB_TEXT_H
#define ST_THREADS_JOB_TEXT_H

#include "stream/encoder.h"
#include "threads/safe_cuts.h"

typedef struct st_job_text {
    const void *text;
    size_t n;       /* in units: bytes of UTF-8, or characters */
    unsigned width; /* bytes of a character (text/str_to_utf8.h); 0: UTF-8 */
    int flags;      /* ST_FEED_TRUSTED or 0; characters are trusted */
} st_job_text;

/* Units from `start` on. */
static inline st_job_text st_job_text_slice(const st_job_text *whole, size_t start, size_t n)
{
    const uint8_t *text = whole->text;
    return (st_job_text){text + start * (whole->width ? whole->width : 1), n, whole->width, whole->flags};
}

/* A place about `wanted` behind `from` where the text may be cut (safe_cuts.h), farther away where there is none nearer;
 * 0 if none leaves more than a tiny rest. `room`: memory that is kept between calls. */
size_t st_job_text_cut(const st_job_text *whole, size_t from, size_t wanted, const st_cut_rules *rules, st_bytes *room);

/* Appends the ids of the text, and adds their number to *count. Where they are only counted, `ids` is scratch.
 * ST_INVALID_UTF8 for characters: there is a surrogate among them. */
st_status st_job_text_encode(const st_job_text *s, st_encoder *encoder, int counts_only, st_bytes *room, st_ids *ids, size_t *count);

#endif
