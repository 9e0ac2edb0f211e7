#include "threads/job.h"

#include "base/interrupt.h"

/* The most bytes of a share. Longer shares are not faster, and the ids of one of this size stay in the second-level cache. */
#define MOST ((size_t)1 << 20)

typedef struct planner {
    st_job *job;
    size_t slice_capacity, share_capacity;
    size_t left, wanted, size; /* bytes or characters: not in a share yet; wanted in a share; in the open share */
    size_t threads, least;
    st_bytes text; /* UTF-8 of the characters among which a cut is searched */
    int may_join;  /* loose cuts will do */
} planner;

/* Work of planning a text or a cut, in the unit of st_go_on (base/interrupt.h). */
#define PLAN_COSTS 1024

/* Shares grow smaller towards the end, so that the threads end together. */
static void choose_size(planner *p)
{
    size_t wanted = p->left / (4 * p->threads);
    p->wanted = wanted < p->least ? p->least : wanted > MOST ? MOST : wanted;
}

static st_status close_share(planner *p)
{
    st_job *job = p->job;
    if (job->share_count + 2 > p->share_capacity) {
        size_t capacity = p->share_capacity * 2 + 16;
        st_job_share *shares = st_realloc(job->shares, capacity * sizeof *shares);
        if (!shares)
            return ST_NO_MEMORY;
        memset(shares + p->share_capacity, 0, (capacity - p->share_capacity) * sizeof *shares);
        job->shares = shares;
        p->share_capacity = capacity;
    }
    job->shares[++job->share_count].first = job->slice_count;
    p->left -= p->size;
    p->size = 0;
    choose_size(p);
    return ST_OK;
}

/* loose: it begins at a loose cut. */
static st_status add_slice(planner *p, const st_job_text *whole, size_t source, size_t start, size_t end, int loose)
{
    st_job *job = p->job;
    if (job->slice_count == p->slice_capacity) {
        size_t capacity = p->slice_capacity * 2 + 16;
        st_job_slice *slices = st_realloc(job->slices, capacity * sizeof *slices);
        if (!slices)
            return ST_NO_MEMORY;
        job->slices = slices;
        p->slice_capacity = capacity;
    }
    job->slices[job->slice_count++] = (st_job_slice){st_job_text_slice(whole, start, end - start), source, 0, loose};
    job->seams += (size_t)loose;
    p->size += end - start;
    return ST_OK;
}

/* The next cut behind `start` that does not leave a tiny rest; 0: none. *loose: whether it is loose. */
static size_t next_cut(planner *p, const st_job_text *whole, size_t start, int *loose)
{
    const st_job *job = p->job;
    const st_cut_rules rules = {job->allowed, job->disallowed, whole->flags & ST_FEED_TRUSTED, job->pattern, job->vocab,
                                job->normalizer, 0, 0};
    *loose = p->may_join && !(job->carries && whole->flags & ST_FEED_SHARED);
    return st_job_text_cut(whole, start, p->wanted, &rules, loose, &p->text);
}

static st_status plan_text(planner *p, const st_job_text *whole, size_t source)
{
    size_t start = 0, cut;
    int loose = 0, next_loose;
    if (p->size && p->size + whole->n > p->wanted + p->wanted / 2)
        ST_TRY(close_share(p));
    ST_TRY(st_go_on(PLAN_COSTS));
    while ((cut = next_cut(p, whole, start, &next_loose)) != 0) {
        ST_TRY(add_slice(p, whole, source, start, cut, loose));
        ST_TRY(close_share(p));
        start = cut;
        loose = next_loose;
    }
    ST_TRY(add_slice(p, whole, source, start, whole->n, loose));
    return p->size >= p->wanted ? close_share(p) : ST_OK;
}

static st_status plan_all(planner *p, const st_job_text *texts, size_t count)
{
    st_job *job = p->job;
    for (size_t i = 0; i < count; i++)
        p->left += texts[i].n;
    choose_size(p);
    for (size_t i = 0; i < count; i++)
        ST_TRY(plan_text(p, &texts[i], i));
    if (p->size || !job->share_count)
        ST_TRY(close_share(p));
    job->shares[job->share_count].first = job->slice_count; /* empty texts at the end */
    return ST_OK;
}

int st_has_carried_cuts(st_vocab *vocab, st_pattern pattern, st_engine engine, const st_normalizer *normalizer)
{
    return vocab->model->seams && pattern.family == ST_SPLIT_NONE && engine == ST_ENGINE_FAST && normalizer &&
           st_normalizer_marks_blanks(normalizer) && vocab->model->seams->are_there(vocab);
}

int st_has_loose_cuts(const st_vocab *vocab, st_pattern pattern, st_engine engine, const st_normalizer *normalizer)
{
    return st_vocab_has(vocab, ST_MODEL_JOINS) && pattern.family == ST_SPLIT_NONE && engine == ST_ENGINE_FAST && !normalizer;
}

st_status st_job_plan(st_job *job, const st_job_text *texts, size_t count, size_t threads, size_t least)
{
    planner p = {.job = job, .threads = threads ? threads : 1, .least = least ? least : 1};
    job->carries = !(job->allowed && job->allowed->count) && st_has_carried_cuts(job->vocab, job->pattern, job->engine, job->normalizer);
    p.may_join = job->carries || st_has_loose_cuts(job->vocab, job->pattern, job->engine, job->normalizer);
    const st_status status = plan_all(&p, texts, count);
    st_bytes_free(&p.text);
    return status ? status : st_go_on(0);
}
