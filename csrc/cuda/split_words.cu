/* split_words.cu - text to the starts of its words, where the two characters at a border decide: white space is in no word, some
 * characters are words by themselves, and the others form words together. A single blank belongs to the word behind it, so that both
 * are looked up at once; other white space is a piece that gives no ids. */
#ifndef ST_CUDA_SPLIT_WORDS_CU
#define ST_CUDA_SPLIT_WORDS_CU

#include "cuda/job.h"
#include "base/utf8.h"

typedef enum st_word_kind { ST_IN_WORD, ST_WHITE, ST_ALONE, ST_NO_KIND } st_word_kind;

/* What stands in front of a character: its kind, and whether it is a blank that begins a piece. */
typedef struct st_word_edge {
    unsigned before, lone;
} st_word_edge;

ST_FORCE_INLINE unsigned st_word_kind_of(const st_job *job, uint32_t point)
{
    return job->kinds[point >> 4] >> 2 * (point & 15) & 3;
}

/* The kind of the character at `text`, of which `left` bytes are there, and its size. The text may turn out to be no UTF-8. */
ST_INLINE unsigned st_word_kind_at(const st_job *job, const uint8_t *text, uint64_t left, unsigned *size)
{
    *size = 1;
    if (*text < 0x80)
        return st_word_kind_of(job, *text);
    if (st_utf8_is_continuation(*text) || st_utf8_size(*text) > left)
        return ST_IN_WORD;
    const uint32_t point = st_utf8_decode(text, size);
    return point < 0x110000 ? st_word_kind_of(job, point) : (unsigned)ST_IN_WORD;
}

/* Whether a piece begins with a character of this kind; moves on behind it. */
ST_FORCE_INLINE unsigned st_begins_piece(st_word_edge *e, unsigned kind, uint8_t byte)
{
    const unsigned before = e->before;
    const unsigned begins = before == ST_NO_KIND  ? 1
                            : kind == ST_WHITE    ? before != ST_WHITE
                            : before == ST_WHITE ? !e->lone
                                                  : before == ST_ALONE || kind == ST_ALONE;
    e->lone = begins && byte == ' ';
    e->before = kind;
    return begins;
}

/* The edge in front of a block that begins no passage; *at: where its first character begins. All of the block in front is text. */
ST_INLINE st_word_edge st_word_edge_at(const st_job *job, uint64_t block, uint64_t *at)
{
    st_word_edge e = {ST_NO_KIND, 0};
    const uint8_t *text = job->text + 64 * block - 12;
    const unsigned there = 12 + st_fill(job, block);
    unsigned from = 0, size;
    while (from < 4 && st_utf8_is_continuation(text[from]))
        from++;
    e.before = ST_IN_WORD; /* of what is farther away only the two characters behind it count */
    for (; from < 12; from += size)
        st_begins_piece(&e, st_word_kind_at(job, text + from, there - from, &size), text[from]);
    *at = 64 * block + from - 12;
    return e;
}

ST_INLINE void st_split_words(const st_job *job, uint64_t segment, uint64_t first, uint64_t last)
{
    st_word_edge e = {ST_NO_KIND, 0};
    uint64_t at = 64 * first;
    if (!st_passage_begins(job, first))
        e = st_word_edge_at(job, first, &at);
    job->unsynced[segment] = job->high[segment] = 0;
    for (uint64_t block = first; block < last; block++) {
        const unsigned fill = st_fill(job, block), is_id = job->marks && job->marks[block] == ST_MARK_ID;
        const uint64_t end = 64 * block + fill, open = st_passage_ends(job, block) ? end : end + 4;
        uint64_t starts = fill < 64 ? (uint64_t)1 << fill : 0;
        unsigned size;
        if (st_passage_begins(job, block)) {
            e.before = ST_NO_KIND;
            at = 64 * block;
        }
        for (; at < end && !is_id; at += size) {
            const unsigned kind = st_word_kind_at(job, job->text + at, open - at, &size);
            starts |= (uint64_t)st_begins_piece(&e, kind, job->text[at]) << (at & 63);
        }
        job->starts[block] = is_id ? 1 | 1 << 5 : starts;
    }
}

#endif
