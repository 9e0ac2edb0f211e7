/* split.cu - text to the starts of its pieces, a thread a segment, by the boundary algebra of split/block_starts.h. Without a
 * pattern a passage is one piece.
 *
 * A thread needs the state in front of its segment. It begins with a fresh state at the last sync point in the blocks before: a
 * place where a piece starts whatever stands further left (st_sync_starts). Where there is none, and where the algebra cannot
 * decide, the rest of the segment is left to resume_split.cu. */
#include "cuda/planes.h"
#include "cuda/split_table.cu"
#include "cuda/split_words.cu"

ST_FORCE_INLINE void st_read_block(const st_job *job, uint64_t block, const st_block *before, st_block *b)
{
    st_copy copy;
    st_classify(ST_FAMILY, st_block_bytes(job, block, &copy), before, b);
}

/* The block behind the last one of a passage. */
ST_FORCE_INLINE void st_beyond(st_block *b)
{
    const st_block nothing = {0};
    *b = nothing;
    b->white = 1;
    b->newline = st_traits_of(ST_FAMILY).space == ST_SPACE_END;
    b->other = ~(uint64_t)1;
}

ST_FORCE_INLINE void st_keep(st_block *b, uint64_t mask)
{
    b->letter &= mask, b->mark &= mask, b->number &= mask, b->white &= mask, b->other &= mask;
    b->upper &= mask, b->lower &= mask, b->blank &= mask, b->newline &= mask, b->apostrophe &= mask;
    b->slash &= mask, b->high &= mask, b->tail &= mask;
    b->control &= mask, b->han &= mask, b->odd &= mask, b->kana &= mask;
}

/* Where a thread stands in the text, and its state. */
typedef struct st_splitter {
    st_edge edge;
    st_block here;
} st_splitter;

/* Returns the starts in the block where the splitter stands, and moves it to the next block of the passage. */
ST_FORCE_INLINE uint64_t st_split_block(const st_job *job, uint64_t block, st_splitter *s, uint64_t *hard)
{
    st_block next;
    st_copy copy;
    const uint8_t *bytes = st_block_bytes(job, block, &copy);
    if (st_passage_ends(job, block))
        st_beyond(&next);
    else
        st_read_block(job, block + 1, &s->here, &next);
    const uint64_t starts = st_block_starts(ST_FAMILY, &s->here, &next, bytes, &s->edge, hard);
    s->here = next;
    return starts;
}

/* Moves the splitter to the start of `block`; 0: there is no sync point near enough. */
ST_FORCE_INLINE int st_sync(const st_job *job, uint64_t block, st_splitter *s)
{
    const st_traits t = st_traits_of(ST_FAMILY);
    const st_block nothing = {0};
    const st_edge fresh = {0};
    uint64_t at = block, hard = 0;
    for (int back = 0; back < ST_SYNC_BLOCKS && at > 0; back++) {
        at--;
        st_read_block(job, at, &nothing, &s->here);
        const uint64_t begin = st_passage_begins(job, at);
        const uint64_t sync = st_sync_starts(&t, &s->here, begin ? ~(uint64_t)0 : ~st_leading_tail(&s->here)) | begin;
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

/* Moves the splitter to the bit `from` of the block, where a piece starts. */
ST_FORCE_INLINE void st_stand(const st_job *job, uint64_t block, uint64_t from, st_splitter *s)
{
    const st_block nothing = {0};
    const st_edge fresh = {0};
    s->edge = fresh;
    st_read_block(job, block, &nothing, &s->here);
    st_keep(&s->here, 0 - from);
}

/* The starts in the block from the splitter's place on, up to the first place that the algebra cannot decide; *hard receives its
 * bit. */
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

/* The starts in a block if a passage is one piece: the start of the passage, and that of its filler. */
ST_INLINE uint64_t st_whole_starts(const st_job *job, uint64_t block)
{
    const unsigned fill = st_fill(job, block);
    if (job->marks && job->marks[block] == ST_MARK_ID)
        return 1 | 1 << 5;
    return st_passage_begins(job, block) | (fill < 64 ? (uint64_t)1 << fill : 0);
}

/* Notes that the segment's starts are unknown from this byte on. The blocks next .. last - 1 are unknown as a whole. */
ST_INLINE void st_leave_hard(const st_job *job, uint64_t segment, uint64_t at, uint64_t next, uint64_t last)
{
    job->high[segment] = 1;
    job->hard[atomicAdd(&job->counts->hard, 1u)] = at;
    for (; next < last; next++)
        job->starts[next] = 0; /* stays 0 if the text is not UTF-8 */
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
    if (ST_FAMILY == ST_SPLIT_TABLE && job->kinds) {
        st_split_words(job, segment, first, last);
        return;
    }
    if (ST_FAMILY == ST_SPLIT_TABLE) {
        st_split_by_table(job, segment, first, last);
        return;
    }
    uint64_t high = 0, hard = 0;
    st_splitter s;
    const int unsynced = !st_passage_begins(job, first) && !st_sync(job, first, &s);
    job->unsynced[segment] = (uint8_t)unsynced;
    for (uint64_t block = first; block < last && !unsynced && !hard; block++) {
        const uint64_t begins = st_passage_begins(job, block);
        if (job->marks && job->marks[block] == ST_MARK_ID) {
            job->starts[block] = 1 | 1 << 5;
            continue;
        }
        if (begins)
            st_stand(job, block, 1, &s);
        high |= s.here.high;
        job->starts[block] = begins | st_known_starts(job, block, &s, &hard);
        if (hard)
            st_leave_hard(job, segment, 64 * block + st_first_bit(hard), block + 1, last);
    }
    if (unsynced)
        st_leave_hard(job, segment, 64 * first, first, last);
    else if (!hard)
        job->high[segment] = high != 0;
}
