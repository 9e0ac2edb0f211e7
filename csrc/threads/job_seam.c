/* Seams of a job (job.h): where a share begins at a loose cut, which a token may span.
 *
 * Such a share was encoded as if a token began at the cut, and the one in front as if the text ended there. The last tokens in front
 * that later text can change are taken back, and their bytes are matched again, followed by the bytes of the tokens behind the cut.
 * Where both begin a token at the same place, all that follows is the same, so the rest of the share is right: a token
 * of such a model (ST_MODEL_JOINS) depends on nothing in front of it. That is so within a few tokens, mostly; where it never is, all of the share is matched
 * again. So a job takes at most twice the work of one thread.
 *
 * Only ids are needed for that, not the text: their tokens have its bytes, also where the text was repaired. An id of no token is a
 * special one, and ends the text in front of it. */
#include "base/interrupt.h"
#include "base/utf8.h"
#include "threads/job.h"

/* Tokens that may follow each other without a border between characters; with more, a text is not read in parts. */
#define MOST_INSIDE 64

/* Work of a token besides its bytes, in the unit of st_go_on (base/interrupt.h). */
#define TOKEN_COSTS 8

typedef struct seam {
    const st_job *job;
    void *scratch;
    st_ids made;        /* what takes the place of the ids that were taken back, and of the first ones behind the cut */
    st_open open;       /* the text from the first token that was taken back on */
} seam;

static st_status push_token(seam *s, uint32_t index)
{
    const st_vocab *v = s->job->vocab;
    const size_t n = st_token_length(v, index);
    ST_TRY(st_open_push(&s->open, s->job->vocab, s->scratch, st_token_bytes(v, index), n, &s->made));
    return st_go_on(n + TOKEN_COSTS);
}

/* How many of ids[0..count), from the first on, are those of every text that goes on where this one ends. *behind: bytes of the
 * others. */
static size_t certain_ids(const st_vocab *v, const uint32_t *ids, size_t count, size_t *behind)
{
    uint32_t index;
    *behind = 0;
    for (; count && *behind < v->max_length && (index = st_vocab_index(v, ids[count - 1])) != ST_NONE; count--)
        *behind += st_token_length(v, index);
    return count;
}

/* Have the tokens of ids[0..count) the bytes text[0..n)? */
static int have_bytes(const st_vocab *v, const uint32_t *ids, size_t count, const uint8_t *text, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t index = st_vocab_index(v, ids[i]);
        const size_t size = index == ST_NONE ? 0 : st_token_length(v, index);
        if (index == ST_NONE || size > n - at || memcmp(text + at, st_token_bytes(v, index), size))
            return 0;
        at += size;
    }
    return at == n;
}

int st_certain_part(const st_vocab *v, const uint32_t *ids, size_t *count, const uint8_t *text, size_t *n)
{
    size_t behind, kept = certain_ids(v, ids, *count, &behind);
    const size_t least = kept > MOST_INSIDE ? kept - MOST_INSIDE : 0;
    uint32_t index;
    while (kept > least && behind < *n && st_utf8_is_continuation(text[*n - behind]) &&
           (index = st_vocab_index(v, ids[kept - 1])) != ST_NONE) {
        behind += st_token_length(v, index);
        kept--;
    }
    if (behind > *n || (behind && st_utf8_is_continuation(text[*n - behind])) ||
        !have_bytes(v, ids + kept, *count - kept, text + (*n - behind), behind))
        return 0;
    *count = kept;
    *n -= behind;
    return 1;
}

/* Matches the bytes of the ids that are not certain. *left: how many are. */
static st_status take_back(seam *s, const uint32_t *ids, size_t count, size_t *left)
{
    size_t bytes;
    *left = certain_ids(s->job->vocab, ids, count, &bytes);
    for (size_t i = *left; i < count; i++)
        ST_TRY(push_token(s, st_vocab_index(s->job->vocab, ids[i])));
    return ST_OK;
}

/* Goes on with the bytes of ids[0..count), until a token begins where one of these does. *gone: how many of them are replaced. */
static st_status go_on_behind(seam *s, const uint32_t *ids, size_t count, size_t *gone)
{
    const st_vocab *v = s->job->vocab;
    uint64_t start = s->open.end; /* of token number *gone */
    *gone = 0;
    for (size_t i = 0;; i++) {
        const uint64_t open = s->open.root; /* where the pending bytes begin */
        for (; start < open; ++*gone)
            start += st_token_length(v, st_vocab_index(v, ids[*gone]));
        if (start == open)
            return ST_OK;
        const uint32_t index = i < count ? st_vocab_index(v, ids[i]) : ST_NONE;
        if (index == ST_NONE) { /* the text ends here */
            *gone = i;
            return st_open_finish(&s->open, s->job->vocab, s->scratch, &s->made);
        }
        ST_TRY(push_token(s, index));
    }
}

/* Puts `made` in the place of the first `gone` ids of a share. */
static st_status replace_first(st_job_share *share, const st_ids *made, size_t gone)
{
    st_ids *ids = share->ids;
    if (made->size > gone) {
        const size_t more = made->size - gone;
        ST_TRY(st_ids_reserve(ids, more));
        memmove(ids->data + made->size, ids->data + gone, (ids->size - gone) * sizeof *ids->data);
        ids->size += more;
        gone = made->size;
    }
    share->skipped = gone - made->size;
    if (made->size)
        memcpy(ids->data + share->skipped, made->data, made->size * sizeof *ids->data);
    return ST_OK;
}

static st_status join(seam *s, st_job_slice *before, st_job_share *left, st_job_slice *behind, st_job_share *right)
{
    size_t kept, gone;
    const uint32_t *last = left->ids->data + left->ids->size - before->ids;
    ST_TRY(take_back(s, last, before->ids, &kept));
    ST_TRY(go_on_behind(s, right->ids->data, behind->ids, &gone));
    ST_TRY(replace_first(right, &s->made, gone));
    left->ids->size -= before->ids - kept;
    before->ids = kept;
    behind->ids += s->made.size;
    behind->ids -= gone;
    return ST_OK;
}

/* What is carried behind the share in front goes to the first slice of this one. */
static st_status mend(st_job *job, st_job_share *share, st_job_slice *slice, void *scratch)
{
    const st_model_seams *seams = job->vocab->model->seams;
    double carried = share[-1].carried;
    const size_t before = share->ids->size, count = slice->ids;
    st_ids behind = {0}; /* those of other slices */
    if (!share->noted) /* mending has failed before */
        return ST_BAD_STATE;
    ST_TRY(st_ids_reserve(&behind, before - count));
    memcpy(behind.data, share->ids->data + count, (before - count) * sizeof *behind.data);
    share->ids->size = count;
    st_status status = seams->mend(job->vocab, scratch, share->noted, &carried, share->ids, 0);
    slice->ids = share->ids->size;
    if (!status)
        status = st_ids_reserve(share->ids, before - count);
    if (!status) {
        memcpy(share->ids->data + share->ids->size, behind.data, (before - count) * sizeof *behind.data);
        share->ids->size += before - count;
    }
    st_ids_free(&behind);
    seams->forget(share->noted);
    share->noted = NULL;
    if (share[1].first == share->first + 1)
        share->carried = carried;
    return status;
}

st_status st_job_join(st_job *job, size_t index)
{
    st_job_share *right = &job->shares[index];
    st_job_slice *behind = &job->slices[right->first];
    st_workspace *workspace = st_workspace_borrow(job->vocab);
    if (!workspace)
        return ST_NO_MEMORY;
    if (job->carries) {
        const st_status status = mend(job, right, behind, workspace->scratch);
        st_workspace_return(job->vocab, workspace);
        return status;
    }
    seam s = {.job = job, .scratch = workspace->scratch};
    st_open_begin(&s.open, 1);
    const st_status status = join(&s, behind - 1, right - 1, behind, right);
    st_workspace_return(job->vocab, workspace);
    st_open_free(&s.open);
    st_ids_free(&s.made);
    return status;
}
