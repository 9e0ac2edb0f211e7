/* split.cu - text to the starts of its pieces, a thread a segment: the boundary algebra of block_starts.h. Without a pattern a
 * part is one piece, and there is nothing to find.
 *
 * A thread needs the state in front of its segment. No pattern looks back, so it begins at the last place in the blocks
 * before at which a piece starts whatever stands further left (st_sync_starts), with a fresh state. Where there is no such
 * place, and where the algebra cannot decide, it goes on at the next one, and leaves the gap to rest.cu. */
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
    int known;     /* does it know what comes next? */
    unsigned gaps; /* left so far */
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

/* Comes to stand at the first place in the block at which a piece starts whatever stands further left, none of the bits
 * `done`; returns its bit, 0: there is none. */
ST_INLINE uint64_t st_sync_inside(const st_job *job, uint64_t block, uint64_t done, st_splitter *s)
{
    const st_block nothing = {0};
    const st_edge fresh = {0};
    const unsigned fill = st_fill(job, block);
    st_read_block(job, block, &nothing, &s->here);
    uint64_t sync = st_sync_starts(&s->here, ~st_leading_tail(&s->here)) & ~done;
    sync &= fill < 64 ? ((uint64_t)1 << fill) - 1 : ~(uint64_t)0;
    if (!sync)
        return 0;
    sync &= 0 - sync;
    st_keep(&s->here, 0 - sync);
    s->edge = fresh;
    return sync;
}

/* The starts between the last one in front of the byte `stop` and that are unknown. One list for all threads of a job; a job
 * with more gaps than fit is flagged. */
ST_INLINE void st_leave_gap(const st_job *job, st_splitter *s, uint64_t stop)
{
    const uint32_t at = atomicAdd(&job->counts->rest, 1u);
    s->gaps++;
    s->known = 1;
    if (at < job->rest_room)
        job->rest[at] = stop;
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

/* The starts in the block from where the splitter stands on, up to the first hard place, of which *hard becomes the bit. */
ST_FORCE_INLINE uint64_t st_known_starts(const st_job *job, uint64_t block, st_splitter *s, uint64_t *hard)
{
    const unsigned fill = st_fill(job, block);
    uint64_t starts = st_split_block(job, block, s, hard);
    if (fill < 64) { /* the filler begins here */
        starts = (starts & (((uint64_t)1 << fill) - 1)) | (uint64_t)1 << fill;
        *hard &= ((uint64_t)1 << fill) - 1;
    }
    *hard &= 0 - *hard;
    return *hard ? starts & (*hard - 1) : starts;
}

/* The starts in the block. Behind what the algebra cannot decide it goes on as soon as it can. */
ST_FORCE_INLINE uint64_t st_split_on(const st_job *job, uint64_t block, st_splitter *s, uint64_t *high)
{
    uint64_t starts = 0, done = 0;
    for (;;) {
        const uint64_t sync = s->known || s->gaps + 1 == ST_GAPS ? 0 : st_sync_inside(job, block, done, s);
        if (sync)
            st_leave_gap(job, s, 64 * block + st_first_bit(sync));
        if (!s->known)
            return starts;
        uint64_t hard = 0;
        *high |= s->here.high;
        starts |= st_known_starts(job, block, s, &hard);
        if (!hard)
            return starts;
        s->known = 0;
        done = hard | (hard - 1);
    }
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
    uint64_t high = 0;
    st_splitter s;
    s.gaps = 0;
    s.known = st_part_begins(job, first) || st_sync(job, first, &s);
    job->unsynced[segment] = !s.known;
    for (uint64_t block = first; block < last; block++) {
        uint64_t starts = 0, begins = st_part_begins(job, block);
        if (begins && !s.known && s.gaps + 1 < ST_GAPS)
            st_leave_gap(job, &s, 64 * block);
        begins &= (uint64_t)s.known; /* else rest.cu comes here from further left */
        if (begins)
            starts = st_begin_part(job, block, &s);
        if (!starts)
            starts = st_split_on(job, block, &s, &high);
        job->starts[block] = starts | begins;
    }
    job->high[segment] = high || s.gaps || !s.known;
    if (!s.known)
        st_leave_gap(job, &s, 64 * last);
}
