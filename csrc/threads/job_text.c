#include "threads/job_text.h"

#include "base/interrupt.h"
#include "base/utf8.h"
#include "text/str_exact.h"

/* Characters converted at a time: 32 to 128 KB of UTF-8, which stay in the second-level cache while they are encoded. */
#define STRETCH ((size_t)1 << 15)

/* Characters searched for a cut: first a few, because they are converted for it. Nearly every line of a text has one. */
#define FIRST_CUT_REACH ((size_t)1 << 8)
#define CUT_REACH ((size_t)1 << 12)

/* The UTF-8 of a few characters, in `buffer`. */
static st_status convert(const st_job_text *s, st_bytes *buffer)
{
    buffer->size = 0;
    ST_TRY(st_bytes_reserve(buffer, ST_CODE_POINTS_ROOM(s->n)));
    size_t size = st_code_points(s->text, s->n, s->width, buffer->data);
    if (size == ST_NOT_CONVERTED) { /* a surrogate, or a tier without this stage */
        size = st_code_points_size(s->text, s->n, s->width);
        if (size == ST_NOT_CONVERTED)
            return ST_INVALID_UTF8;
        st_code_points_put(s->text, s->n, s->width, buffer->data);
    }
    buffer->size = size;
    return ST_OK;
}

static size_t count_characters(const uint8_t *text, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += !st_utf8_is_continuation(text[i]);
    return count;
}

/* Where the UTF-8 of so many characters ends. */
static size_t end_of_characters(const uint8_t *text, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        at += st_utf8_size(text[at]);
    return at;
}

/* The last cut in the `reach` characters up to `until`. They are converted with st_cut_margin characters on both sides, which have
 * at least as many bytes. */
static size_t cut_in_characters(const st_job_text *whole, size_t reach, size_t until, const st_cut_rules *rules, st_bytes *buffer)
{
    const size_t margin = st_cut_margin(rules), from = until - reach, before = from < margin ? from : margin;
    const size_t behind = whole->n - until < margin ? whole->n - until : margin, first = from - before;
    const st_job_text slice = st_job_text_slice(whole, first, before + reach + behind);
    if (margin > 2 * CUT_REACH || convert(&slice, buffer)) /* names so long leave no place for a cut */
        return 0;
    const size_t found = st_last_cut(buffer->data, buffer->size, end_of_characters(buffer->data, before),
                                     end_of_characters(buffer->data, before + reach), rules);
    return found ? first + count_characters(buffer->data, found) : 0;
}

/* The first border between characters at or behind `at`. Where bytes are shared, about there. */
static size_t border_behind(const st_job_text *whole, size_t at)
{
    const uint8_t *text = whole->text;
    while (!whole->width && at < whole->n && st_utf8_is_continuation(text[at]))
        at++;
    return at;
}

static size_t last_cut(const st_job_text *whole, size_t from, size_t until, const st_cut_rules *rules, st_bytes *buffer)
{
    if (whole->flags & ST_FEED_SHARED)
        return st_last_cut_of_copy(whole->text, whole->n, from, until, rules, buffer);
    if (!whole->width)
        return st_last_cut(whole->text, whole->n, from, until, rules);
    const size_t most = until - from < CUT_REACH ? until - from : CUT_REACH;
    const size_t found = most > FIRST_CUT_REACH ? cut_in_characters(whole, FIRST_CUT_REACH, until, rules, buffer) : 0;
    return found ? found : cut_in_characters(whole, most, until, rules, buffer);
}

/* Whether the units from `start` up to `end` are surely a piece that is longer than the model holds. */
static int is_long(const st_job_text *whole, size_t start, size_t end, const st_cut_rules *rules, st_bytes *buffer)
{
    const size_t n = end - start < ST_CARRIED_TEXT ? end - start : ST_CARRIED_TEXT;
    const st_job_text part = st_job_text_slice(whole, start, n);
    if (!whole->width)
        return st_is_long_text(rules, part.text, n);
    return !convert(&part, buffer) && st_is_long_text(rules, buffer->data, buffer->size);
}

static size_t loose_cut(const st_job_text *whole, size_t from, size_t until, const st_cut_rules *rules, st_bytes *buffer)
{
    st_cut_rules loose = *rules;
    loose.carried = rules->vocab->model->seams != NULL;
    loose.loose = !loose.carried;
    return last_cut(whole, from, until, &loose, buffer);
}

size_t st_job_text_cut(const st_job_text *whole, size_t start, size_t wanted, const st_cut_rules *rules, int *loose, st_bytes *buffer)
{
    const int may_be_loose = *loose, carries = may_be_loose && rules->vocab->model->seams;
    const size_t first = start;
    while (whole->n - start > wanted + wanted / 2) {
        const size_t from = start + wanted / 2, until = start + wanted;
        size_t found = last_cut(whole, from, until, rules, buffer);
        *loose = !found && may_be_loose;
        if (*loose)
            found = loose_cut(whole, from, until, rules, buffer);
        if (found && carries && !(is_long(whole, first, found, rules, buffer) && is_long(whole, found, whole->n, rules, buffer)))
            found = 0;
        if (found)
            return found;
        if (st_go_on(wanted / 8))
            return 0;
        start = border_behind(whole, until);
    }
    return 0;
}

static st_status feed(const uint8_t *text, size_t n, int flags, st_encoder *encoder, int counts_only, st_ids *ids, size_t *count)
{
    st_feed_error error; /* not used: the caller encodes the text by itself to get the error */
    const size_t before = ids->size;
    ST_TRY(st_encoder_feed(encoder, text, n, flags, ids, &error));
    *count += ids->size - before;
    if (counts_only)
        ids->size = before;
    return ST_OK;
}

st_status st_job_text_encode(const st_job_text *s, st_encoder *encoder, int counts_only, st_bytes *buffer, st_ids *ids, size_t *count)
{
    st_feed_error error;
    const size_t before = ids->size;
    if (!s->width && counts_only)
        return st_encoder_count(encoder, s->text, s->n, s->flags, ids, count, &error);
    if (!s->width) {
        ST_TRY(st_encoder_whole(encoder, s->text, s->n, s->flags, ids, &error));
        *count += ids->size - before;
        return ST_OK;
    }
    size_t at = 0, end;
    do {
        end = s->n - at < STRETCH ? s->n : at + STRETCH;
        const st_job_text stretch = st_job_text_slice(s, at, end - at);
        ST_TRY(convert(&stretch, buffer));
        const int flags = ST_FEED_TRUSTED | (end == s->n ? ST_FEED_FINAL : 0);
        ST_TRY(feed(buffer->data, buffer->size, flags, encoder, counts_only, ids, count));
        at = end;
    } while (at < s->n);
    return ST_OK;
}
