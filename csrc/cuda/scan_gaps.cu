/* scan_gaps.cu - the gaps that resume_split.cu left. A thread reads a gap with the table of the pattern (split/dfa_steps.h), from the
 * last start in front of it on.
 *
 * A gap may extend over segments without a known start; one thread reads all of it, once. A byte takes it half a microsecond, so
 * gaps are kept short: each ends at the next sync point. A megabyte has seldom more than a few dozen gaps. */
#include "cuda/job.h"
#include "split/dfa_steps.h"

#define ST_REST_ENDS (ST_SCAN_MIN_CAPACITY + 3)
#define ST_REST_BLOCKS 4 /* blocks that the machine reads at a time */

typedef struct st_rest {
    uint64_t at, open; /* where the machine stands; where the open piece started */
    uint64_t stop;     /* starts from here on are known */
    st_scan scan;
} st_rest;

/* Two threads may write the same starts: a thread that finds no start in its own segment begins further back, in a gap that
 * another thread is reading. Both find the same starts. */
ST_INLINE void st_put_start(const st_job *job, uint64_t at, uint64_t stop)
{
    if (at < stop && at < 64 * job->blocks)
        atomicOr((uint32_t *)job->starts + (at >> 5), 1u << (at & 31));
}

/* The last known start in front of the byte `at`; an earlier one would do as well. There is one, because a passage begins with a
 * start. ST_TOO_FAR: it is farther away than the longest gap. */
#define ST_TOO_FAR UINT64_MAX
ST_INLINE uint64_t st_start_before(const st_job *job, uint64_t at)
{
    const volatile uint64_t *starts = job->starts;
    uint64_t block = (at - 1) >> 6, word = starts[block];
    word &= at & 63 ? ((uint64_t)1 << (at & 63)) - 1 : ~(uint64_t)0;
    while (!word && at - 64 * block <= ST_LONGEST_GAP)
        word = starts[--block];
    return word ? 64 * block + st_last_bit(word) : ST_TOO_FAR;
}

/* As st_scan_feed (split/scan.h). */
ST_INLINE size_t st_rest_split(const st_job *job, st_scan *scan, const uint8_t *text, size_t n, size_t *used, uint64_t *ends)
{
    st_dfa_run run;
    run.text = text;
    run.n = n;
    st_dfa_resume(&run, job->dfa, scan, ends, ST_REST_ENDS);
    st_dfa_run_plain(&run, n, 0);
    st_dfa_suspend(&run, scan);
    *used = run.at;
    return (size_t)(run.to - ends);
}

/* Feeds the text up to `end`, whole characters, to the machine. */
ST_INLINE void st_rest_feed(const st_job *job, st_rest *r, uint64_t end)
{
    uint64_t ends[ST_REST_ENDS];
    while (r->at < end && r->open < r->stop) {
        size_t used;
        const size_t count = st_rest_split(job, &r->scan, job->text + r->at, (size_t)(end - r->at), &used, ends);
        for (size_t i = 0; i < count; i++)
            st_put_start(job, r->open + ends[i], r->stop);
        r->open += count ? ends[count - 1] : 0;
        r->at += used;
    }
}

/* Ends the passage where the machine stands. The next passage begins with the next block. */
ST_INLINE void st_rest_end_passage(const st_job *job, st_rest *r)
{
    const st_scan fresh = {0};
    uint64_t ends[ST_SCAN_MIN_CAPACITY];
    const size_t count = r->scan.length ? st_dfa_last_ends(job->dfa, &r->scan, ends) : 0;
    for (size_t i = 0; i < count; i++)
        st_put_start(job, r->open + ends[i], r->stop);
    if (r->at & 63)
        st_put_start(job, r->at, r->stop); /* of the filler */
    r->at = r->open = (r->at + 63) & ~(uint64_t)63;
    r->scan = fresh;
}

/* Passes a block that is an id. The machine stands where the block begins, or at the start of its filler, which another thread may
 * have written just now. */
ST_INLINE void st_rest_pass_id(const st_job *job, st_rest *r)
{
    const uint64_t begin = r->at & ~(uint64_t)63;
    st_put_start(job, begin, r->stop);
    st_put_start(job, begin + 5, r->stop);
    r->at = r->open = begin + 64;
}

ST_INLINE void st_rest_run(const st_job *job, st_rest *r)
{
    while (r->open < r->stop && r->open + st_dfa_sure_bytes(job->dfa, &r->scan) < r->stop) {
        uint64_t block = r->at >> 6;
        if (block >= job->blocks)
            return;
        if (job->marks && job->marks[block] == ST_MARK_ID) {
            st_rest_pass_id(job, r);
            continue;
        }
        if (r->at == r->open && !(r->at & 63) && st_passage_begins(job, block))
            st_put_start(job, r->at, r->stop);
        for (int i = 1; i < ST_REST_BLOCKS && !st_passage_ends(job, block); i++)
            block++;
        uint64_t end = 64 * block + st_fill(job, block);
        if (st_passage_ends(job, block)) {
            st_rest_feed(job, r, end);
            if (r->open < r->stop)
                st_rest_end_passage(job, r);
            continue;
        }
        while (st_utf8_is_continuation(job->text[end]))
            end--;
        st_rest_feed(job, r, end);
    }
}

ST_INLINE void st_fill_gap(const st_job *job, uint32_t number)
{
    const uint64_t stop = job->gaps[number], segment_bytes = 64 * job->segment_blocks, next = stop / segment_bytes;
    const st_scan fresh = {0};
    if (stop % segment_bytes == 0 && next < st_segments(job) && job->unsynced[next])
        return; /* the gap goes on in that segment, whose thread reads it */
    const uint64_t from = st_start_before(job, stop);
    if (from == ST_TOO_FAR) {
        atomicOr(&job->counts->flags, ST_FLAG_GAP);
        return;
    }
    st_rest r = {from, from, stop, fresh};
    st_rest_run(job, &r);
}
