/* split_table.cu - text to the starts of its pieces by the table of a compiled pattern that is no row of split/rows.h.
 *
 * The thread of a segment looks for its first sync point: two neighbours between which a piece starts whatever stands further left
 * (split/dfa.h). All text from one sync point to the next, in the same segment or a later one, is a gap for scan_gaps.cu. */
#ifndef ST_CUDA_SPLIT_TABLE_CU
#define ST_CUDA_SPLIT_TABLE_CU

#include "cuda/job.h"
#include "split/dfa_steps.h"

#define ST_NO_CLASS ST_DFA_CLASSES

/* The class of the character at the byte `at` of a block that holds text up to `end`, and its size; where it is none, ST_NO_CLASS and
 * a size to go on with. The text may still turn out to be no UTF-8. */
ST_INLINE unsigned st_class_in(const st_job *job, uint64_t at, uint64_t end, unsigned *size)
{
    const uint8_t byte = job->text[at];
    *size = st_utf8_is_continuation(byte) ? 1 : st_utf8_size(byte);
    if (st_utf8_is_continuation(byte) || (at + *size > end && st_passage_ends(job, at >> 6)))
        return ST_NO_CLASS;
    const uint32_t point = st_utf8_decode(job->text + at, size);
    if (point >= 0x110000)
        return ST_NO_CLASS;
    return job->dfa->blocks[(size_t)job->dfa->index[point >> ST_DFA_SHIFT] * ST_DFA_BLOCK + (point & (ST_DFA_BLOCK - 1))];
}

/* The first sync point in the blocks first .. last - 1, or where a passage begins; 64 * last: there is none. */
ST_INLINE uint64_t st_first_sync(const st_job *job, uint64_t first, uint64_t last)
{
    unsigned before = ST_NO_CLASS, size;
    for (uint64_t at = 64 * first; at < 64 * last; at += size) {
        const uint64_t block = at >> 6, end = 64 * block + st_fill(job, block);
        if (!(at & 63) && st_passage_begins(job, block))
            return at;
        if (at >= end) { /* the filler; a passage begins behind it */
            before = ST_NO_CLASS;
            size = (unsigned)(64 * block + 64 - at);
            continue;
        }
        const unsigned here = st_class_in(job, at, end, &size);
        if (before != ST_NO_CLASS && here != ST_NO_CLASS &&
            job->dfa->sync[(size_t)before * (ST_DFA_CLASSES / 64) + here / 64] >> here % 64 & 1)
            return at;
        before = here;
    }
    return 64 * last;
}

ST_INLINE void st_split_by_table(const st_job *job, uint64_t segment, uint64_t first, uint64_t last)
{
    const uint64_t sync = st_first_sync(job, first, last);
    for (uint64_t block = first; block < last; block++)
        job->starts[block] = block == sync >> 6 ? (uint64_t)1 << (sync & 63) : 0;
    job->unsynced[segment] = sync == 64 * last;
    job->high[segment] = 1;
    if (sync && sync < 64 * last)
        job->gaps[atomicAdd(&job->counts->gaps, 1u)] = sync;
    if (last == job->blocks)
        job->gaps[atomicAdd(&job->counts->gaps, 1u)] = 64 * last;
}

#endif
