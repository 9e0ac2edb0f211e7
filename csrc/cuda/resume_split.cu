/* resume_split.cu - segments that split.cu gave up from some place on, a thread a segment. Splitting resumes at the next sync
 * point, a place where a piece starts whatever stands further left. The gap in front of it is left to scan_gaps.cu. This is a
 * kernel of its own, because in split.cu one lane in a hundred would keep its warp waiting, and registers are short there. */
#include "cuda/split.cu"

/* The bit of the first sync point in the block that is not among the bits `done`; 0: there is none. */
ST_INLINE uint64_t st_find_sync(const st_job *job, uint64_t block, uint64_t done)
{
    const st_traits t = st_traits_of(ST_FAMILY);
    const st_block nothing = {0};
    const unsigned fill = st_fill(job, block);
    st_block b;
    if (!done && st_passage_begins(job, block))
        return 1;
    st_read_block(job, block, &nothing, &b);
    uint64_t sync = st_sync_starts(&t, &b, ~st_leading_tail(&b)) & ~done;
    sync &= fill < 64 ? ((uint64_t)1 << fill) - 1 : ~(uint64_t)0;
    return sync & (0 - sync);
}

/* Notes a gap: the starts between the last known one in front of the byte `stop` and `stop` are unknown. */
ST_INLINE void st_leave_gap(const st_job *job, uint64_t stop)
{
    job->gaps[atomicAdd(&job->counts->gaps, 1u)] = stop;
}

/* Finds the starts of the blocks from `block` to `last`. Of the first one only the bits `done` are known, with the starts
 * `starts`. */
ST_INLINE void st_resync(const st_job *job, uint64_t block, uint64_t last, uint64_t done, uint64_t starts)
{
    unsigned gaps = 0;
    int known = 0;
    st_splitter s;
    while (block < last) {
        uint64_t hard = 0, from = known ? st_passage_begins(job, block) : 0;
        if (!known && gaps < ST_GAPS - 1 && (from = st_find_sync(job, block, done))) {
            st_leave_gap(job, 64 * block + st_first_bit(from));
            gaps++;
            known = 1;
        }
        if (known && job->marks && job->marks[block] == ST_MARK_ID) {
            starts = 1 | 1 << 5;
        } else if (known) {
            if (from)
                st_stand(job, block, from, &s);
            starts |= from | st_known_starts(job, block, &s, &hard);
            known = !hard;
        }
        done = hard | (hard - 1);
        if (hard && ~done && gaps < ST_GAPS - 1)
            continue; /* this block may have another sync point */
        job->starts[block++] = starts;
        starts = done = 0;
    }
    if (!known)
        st_leave_gap(job, 64 * last);
}

/* The number of gaps to read, once those of resume_split.cu are noted. 0 if the text is not valid UTF-8. */
ST_INLINE uint32_t st_gap_count(const st_job *job)
{
    return job->counts->flags & ST_FLAG_UTF8 ? 0 : job->counts->gaps;
}

/* The number of such segments. 0 if the text is not valid UTF-8, or without a pattern. */
ST_INLINE uint32_t st_hard_count(const st_job *job)
{
    return ST_FAMILY == ST_SPLIT_NONE || job->counts->flags & ST_FLAG_UTF8 ? 0 : job->counts->hard;
}

ST_INLINE void st_resync_segment(const st_job *job, uint32_t number)
{
    const uint64_t at = job->hard[number], block = at >> 6, segment = block / job->segment_blocks;
    const uint64_t behind = (segment + 1) * job->segment_blocks, last = behind < job->blocks ? behind : job->blocks;
    if (job->unsynced[segment])
        st_resync(job, block, last, 0, 0);
    else
        st_resync(job, block, last, ((uint64_t)2 << (at & 63)) - 1, job->starts[block]);
}
