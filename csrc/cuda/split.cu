/* split.cu - text to the starts of its pieces, a thread a segment: the boundary algebra of block_starts.h. Without a pattern a
 * part is one piece, and there is nothing to find.
 *
 * A thread needs the state in front of its segment. No pattern looks back, so it begins at the last place in the block
 * before at which a piece starts whatever stands further left (st_sync_starts), with a fresh state. Where there is no such
 * place, and where the algebra cannot decide, the segment goes to rest.cu. */
#include "planes.h"

ST_FORCE_INLINE void st_read_block(const st_job *job, uint64_t block, const st_block *before, st_block *b)
{
    st_copy copy;
    st_classify(ST_FAMILY, st_block_bytes(job, block, &copy), before, b);
}

/* The block behind the last one of a part. */
ST_FORCE_INLINE void st_beyond(st_block *b)
{
    const st_block nothing = {0};
    *b = nothing;
    b->white = 1;
    b->newline = ST_FAMILY == ST_SPLIT_CL100K;
    b->other = ~(uint64_t)1;
}

ST_FORCE_INLINE void st_keep(st_block *b, uint64_t mask)
{
    b->letter &= mask, b->mark &= mask, b->number &= mask, b->white &= mask, b->other &= mask;
    b->upper &= mask, b->lower &= mask, b->blank &= mask, b->newline &= mask, b->apostrophe &= mask;
    b->slash &= mask, b->high &= mask, b->tail &= mask;
}

/* Where a thread stands. */
typedef struct st_splitter {
    st_edge edge;
    st_block here;
} st_splitter;

/* The starts in the block where the splitter stands, which moves on to the next block of the part. */
ST_FORCE_INLINE uint64_t st_split_block(const st_job *job, uint64_t block, st_splitter *s, uint64_t *hard)
{
    st_block next;
    st_copy copy;
    const uint8_t *bytes = st_block_bytes(job, block, &copy);
    if (st_part_ends(job, block))
        st_beyond(&next);
    else
        st_read_block(job, block + 1, &s->here, &next);
    const uint64_t starts = st_block_starts(ST_FAMILY, &s->here, &next, bytes, &s->edge, hard);
    s->here = next;
    return starts;
}

/* Comes to stand in front of `block`; 0: it cannot. */
ST_FORCE_INLINE int st_sync(const st_job *job, uint64_t block, st_splitter *s)
{
    const st_block nothing = {0};
    const st_edge fresh = {0};
    uint64_t at = block, hard = 0;
    for (int back = 0; back < ST_SYNC_BLOCKS && at > 0; back++) {
        at--;
        st_read_block(job, at, &nothing, &s->here);
        const uint64_t begin = st_part_begins(job, at);
        const uint64_t sync = st_sync_starts(&s->here, begin ? ~(uint64_t)0 : ~st_leading_tail(&s->here)) | begin;
        if (!sync)
            continue;
        st_keep(&s->here, ~(uint64_t)0 << st_last_bit(sync));
        s->edge = fresh;
        for (; at < block && !hard; at++)
            st_split_block(job, at, s, &hard);
        return !hard;
    }
    return 0;
}

/* One list for all threads of a job; a job with more of them than fit is flagged. */
ST_INLINE void st_leave_rest(const st_job *job, uint64_t segment, st_segment_state state)
{
    const uint32_t at = atomicAdd(&job->counts->rest, 1u);
    job->segments[segment] = (uint8_t)state;
    if (at < job->rest_room)
        job->rest[at] = (uint32_t)segment;
    else
        atomicOr(&job->counts->flags, ST_FLAG_LISTS);
}

/* A part begins in this block: begins it, or gives the starts of a block that is an id. */
ST_FORCE_INLINE uint64_t st_begin_part(const st_job *job, uint64_t block, st_splitter *s)
{
    const st_block nothing = {0};
    const st_edge fresh = {0};
    if (job->marks && job->marks[block] == ST_MARK_ID)
        return 1 | 1 << 5;
    s->edge = fresh;
    st_read_block(job, block, &nothing, &s->here);
    return 0;
}

/* The starts in a block where a part is one piece: where it begins, and where its filler does. */
ST_INLINE uint64_t st_whole_starts(const st_job *job, uint64_t block)
{
    const unsigned fill = st_fill(job, block);
    if (job->marks && job->marks[block] == ST_MARK_ID)
        return 1 | 1 << 5;
    return st_part_begins(job, block) | (fill < 64 ? (uint64_t)1 << fill : 0);
}

ST_INLINE void st_split_segment(const st_job *job, uint64_t segment)
{
    const uint64_t first = segment * job->segment_blocks, left = job->blocks - first;
    const uint64_t last = first + (left < job->segment_blocks ? left : job->segment_blocks);
    if (ST_FAMILY == ST_SPLIT_NONE) {
        for (uint64_t block = first; block < last; block++)
            job->starts[block] = st_whole_starts(job, block);
        return;
    }
    st_segment_state state = ST_RESOLVED;
    uint64_t high = 0;
    st_splitter s;
    if (!st_part_begins(job, first) && !st_sync(job, first, &s))
        state = ST_UNSYNCED;
    for (uint64_t block = first; block < last; block++) {
        const unsigned begins = st_part_begins(job, block);
        uint64_t hard = 0, starts = 0;
        if (state == ST_RESOLVED) {
            starts = begins ? st_begin_part(job, block, &s) : 0;
            if (!starts) {
                const unsigned fill = st_fill(job, block);
                high |= s.here.high;
                starts = st_split_block(job, block, &s, &hard);
                if (fill < 64) { /* the filler begins here */
                    starts = (starts & (((uint64_t)1 << fill) - 1)) | (uint64_t)1 << fill;
                    hard &= ((uint64_t)1 << fill) - 1;
                }
                if (hard) {
                    starts &= (hard & (0 - hard)) - 1;
                    state = ST_HARD;
                }
                starts |= begins;
            }
        }
        job->starts[block] = starts;
    }
    job->high[segment] = high || state != ST_RESOLVED;
    if (state == ST_RESOLVED)
        job->segments[segment] = ST_RESOLVED;
    else
        st_leave_rest(job, segment, state);
}
