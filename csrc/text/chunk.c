#include "text/chunk.h"

#include "base/atomic.h"
#include "base/interrupt.h"
#include "base/utf8.h"

void st_text_stage_free(st_text_stage *stage)
{
    st_bytes_free(&stage->original);
    st_bytes_free(&stage->repaired);
}

static void set_partial(st_segments *s, const uint8_t *text, size_t n)
{
    s->partial_size = (uint32_t)n;
    if (n)
        memcpy(s->partial, text, n);
}

/* Handles invalid bytes, with the held bytes of a cut character in front: refuses them, or repairs all of the text. */
static st_status repair(st_text_stage *stage, const uint8_t *text, size_t n, int final, st_segments *s,
                        st_text_error *error)
{
    stage->original.size = stage->repaired.size = 0;
    ST_TRY(st_bytes_append(&stage->original, stage->partial, stage->partial_size));
    ST_TRY(st_bytes_append(&stage->original, text, n));
    const uint8_t *data = stage->original.data;
    size_t size = stage->original.size, cut = final || !size ? 0 : st_utf8_unfinished(data, size), whole = size - cut;
    /* The check includes the cut character at the end: what follows a fault decides its name. */
    if (stage->errors == ST_ERRORS_STRICT && st_text_check(data, size, error) < whole)
        return ST_INVALID_UTF8;
    ST_TRY(st_go_on(0));
    ST_TRY(st_text_repair(data, whole, stage->errors, &stage->repaired));
    s->joined_size = 0;
    s->n = stage->repaired.size;
    s->text = s->n ? stage->repaired.data : data; /* nothing may be left, and no memory for it */
    s->is_repaired = 1;
    set_partial(s, data + whole, cut);
    return ST_OK;
}

/* Completes the character that the last chunk cut. 1: it is complete, or still cut; 0: the bytes do not continue it. */
static int join(const st_text_stage *stage, const uint8_t **text, size_t *n, st_segments *s)
{
    size_t held = stage->partial_size, size = st_utf8_size(stage->partial[0]), more = size - held;
    st_text_error error;
    memcpy(s->joined, stage->partial, held);
    if (more > *n) {
        memcpy(s->joined + held, *text, *n);
        if (st_utf8_unfinished(s->joined, held + *n) != held + *n)
            return 0;
        set_partial(s, s->joined, held + *n);
        *n = 0;
        return 1;
    }
    memcpy(s->joined + held, *text, more);
    if (st_text_check(s->joined, size, &error) != size)
        return 0;
    s->joined_size = size;
    *text += more;
    *n -= more;
    return 1;
}

/* Continues the cut character. 1: the segments are complete; 0: go on with *text; -1: repair. */
static int continue_partial(const st_text_stage *stage, const uint8_t **text, size_t *n, int trusted, int final,
                            st_segments *s)
{
    if (*n == 0) {
        set_partial(s, stage->partial, stage->partial_size);
        return final ? -1 : 1;
    }
    if (trusted) /* whole characters do not continue a cut one */
        return -1;
    if (!join(stage, text, n, s))
        return -1;
    if (!s->partial_size)
        return 0;
    return final ? -1 : 1;
}

st_status st_text_stage_take(st_text_stage *stage, const uint8_t *text, size_t n, int trusted, int final,
                             st_segments *s, st_text_error *error)
{
    static const uint8_t nothing[1];
    const uint8_t *rest = text;
    size_t left = n;
    memset(s, 0, sizeof *s);
    s->text = nothing;
    if (stage->partial_size) {
        int answer = continue_partial(stage, &rest, &left, trusted, final, s);
        if (answer)
            return answer < 0 ? repair(stage, text, n, final, s, error) : ST_OK;
    }
    if (left == 0)
        return ST_OK;
    s->text = rest;
    s->n = left;
    if (trusted)
        return ST_OK;
    size_t cut = final ? 0 : st_utf8_unfinished(rest, left);
    if (st_text_check(rest, left - cut, error) < left - cut)
        return repair(stage, text, n, final, s, error);
    s->n = left - cut;
    set_partial(s, rest + left - cut, cut);
    return left < ST_LONG_CHECK ? ST_OK : st_go_on(0);
}

void st_text_stage_commit(st_text_stage *stage, const st_segments *s, size_t n)
{
    st_number_write(&stage->offset, stage->offset + n);
    memcpy(stage->partial, s->partial, sizeof stage->partial);
    stage->partial_size = s->partial_size;
}

uint64_t st_text_stage_origin(const st_text_stage *stage, const st_segments *s, size_t at)
{
    uint64_t start = stage->offset - stage->partial_size;
    if (!s->is_repaired)
        return start + s->joined_size + at;
    /* Repairs again, up to the place: valid bytes keep their number, a fault becomes three bytes or none. */
    const uint8_t *data = stage->original.data;
    size_t from = 0, made = 0, n = stage->original.size;
    while (from < n) {
        st_text_error error;
        size_t valid = st_text_check(data + from, n - from, &error);
        if (at < made + valid || from + valid == n)
            return start + from + (at - made);
        made += valid + (stage->errors == ST_ERRORS_REPLACE ? 3 : 0);
        if (at < made)
            return start + from + valid;
        from += error.end;
    }
    return start + n;
}
