/* block_template.h - text to piece ends, 64 bytes at a time: the stage split_blocks (blocks.h) for the tier of the file that includes it
 * (base/vector.h), after what differs from tier to tier; block_rows.h and block_places.h have it for most:
 *
 *     st_rows                       what it remembers from one block to the next; all 0 where the text begins
 *     st_classify_mixed(t, text, v, rows, before, b)
 *                                   sets the masks of kinds in a block at `text` that is not all ASCII, and its tails; *t is
 *                                   a constant
 *     st_put_places(mask, base, to) writes base + the number of each set bit; may write up to 63 more than it counts
 */
#include <string.h>

#include "base/tier.h"
#include "base/prefetch.h"
#include "split/block_ascii.h"
#include "split/block_starts.h"
#include "split/blocks.h"

/* Prefetch distance in bytes. Text is read in bursts of some kilobytes, too short for the processor's own prefetching. */
#define ST_SEND_AHEAD 1024

/* st_classify_mixed is long and called in several places: a function for each alphabet, the traits that say which kinds a row tells
 * apart. A row of that alphabet stands for it. */
#define ST_EACH_ALPHABET(ROW) ROW(R50K) ROW(STARCODER) ROW(O200K) ROW(KIMI_K2) ROW(QWEN3_5) ROW(DEEPSEEK_V3)

#define ST_CLASSIFY_ALPHABET(name)                                                                                               \
    static void st_classify_##name(const uint8_t *text, st_vector v, st_rows *rows, const st_block *before, st_block *b)         \
    {                                                                                                                            \
        const st_traits t = st_traits_of(ST_SPLIT_##name);                                                                       \
        st_classify_mixed(&t, text, v, rows, before, b);                                                                         \
    }

ST_EACH_ALPHABET(ST_CLASSIFY_ALPHABET)

/* Whether two rows tell the same kinds apart. */
ST_FORCE_INLINE int st_same_alphabet(const st_traits *a, const st_traits *b)
{
    return (a->word == ST_WORD_CASE) == (b->word == ST_WORD_CASE) && st_has_marks(a) == st_has_marks(b) &&
           (a->other == ST_OTHER_VISIBLE) == (b->other == ST_OTHER_VISIBLE) && a->han == b->han && a->apart == b->apart;
}

#define ST_TRY_ALPHABET(name)                                                                                                    \
    {                                                                                                                            \
        const st_traits other = st_traits_of(ST_SPLIT_##name);                                                                   \
        if (st_same_alphabet(t, &other)) {                                                                                       \
            st_classify_##name(text, v, rows, before, b);                                                                        \
            return;                                                                                                              \
        }                                                                                                                        \
    }

ST_FORCE_INLINE void st_classify_by_alphabet(const st_traits *t, const uint8_t *text, st_vector v, st_rows *rows,
                                             const st_block *before, st_block *b)
{
    ST_EACH_ALPHABET(ST_TRY_ALPHABET)
    st_classify_mixed(t, text, v, rows, before, b);
}

/* Sets the masks of the block at `text`. `before` is the block in front of it. */
ST_FORCE_INLINE void st_classify(st_split_family family, const uint8_t *text, st_rows *rows, const st_block *before,
                                 st_block *b)
{
    const st_traits t = st_traits_of(family);
    const st_vector v = st_vector_load(text);
    b->blank = st_vector_is(v, ST_BLANK);
    b->newline = st_vector_is(v, '\n') | st_vector_is(v, '\r');
    b->apostrophe = st_vector_is(v, ST_APOSTROPHE);
    b->slash = st_vector_is(v, ST_SLASH);
    b->high = st_vector_high(v);
    b->tail = 0;
    if (st_has_marks(&t))
        b->mark = 0;
    if (t.han)
        b->han = b->odd = 0;
    if (t.apart == ST_APART_KANA)
        b->kana = 0;
    if (b->high)
        st_classify_by_alphabet(&t, text, v, rows, before, b);
    else
        st_classify_ascii(&t, v, b);
    b->other = ~(b->letter | (st_has_marks(&t) ? b->mark : 0) | b->number | b->white |
                 (t.other == ST_OTHER_VISIBLE ? b->control : 0));
}

/* A call of the stage: its arguments, and where it stands. `here` is the block at text + at, or the last one, and `next` the
 * one behind it. The two pointers are swapped from block to block. Copying the masks would read them as vectors right after they
 * were written one by one, which stalls. */
typedef struct st_block_run {
    const uint8_t *text;
    size_t n, at, hard; /* hard: see st_split_progress */
    uint64_t base;
    uint64_t *to;
    st_edge edge;
    st_rows rows;
    st_block *here, *next;
} st_block_run;

/* Writes the ends in the block `here` that lie in front of the offset `limit`, and moves on to the next block. `bytes`: the bytes
 * of the block. */
ST_FORCE_INLINE void st_take_block(st_split_family family, st_block_run *run, const uint8_t *bytes, size_t limit)
{
    st_block *const here = run->here;
    uint64_t hard = 0, starts = st_block_starts(family, here, run->next, bytes, &run->edge, &hard);
    if (hard) {
        starts &= (hard & (0 - hard)) - 1;
        run->hard = run->at + st_first_bit(hard) + 1;
    }
    if (limit < run->at + ST_BLOCK_BYTES)
        starts &= limit > run->at ? ((uint64_t)1 << (limit - run->at)) - 1 : 0;
    run->to += st_put_places(run->at ? starts : starts & ~(uint64_t)1, run->base + run->at, run->to);
    run->here = run->next;
    run->next = here;
    run->at += ST_BLOCK_BYTES;
}

/* How far starts are certain if blanks stand for the unknown text behind the end. They are not certain from an apostrophe at the
 * very end on, because a contraction may follow; with the case rule not from a run of upper-case letters at the end on; not from a
 * control at the end on that may lead a word. White space at the end becomes a run without an end, of which only the first start is
 * certain. */
static size_t st_certain(st_split_family family, const uint8_t *text, size_t n)
{
    const st_traits t = st_traits_of(family);
    size_t certain = n;
    unsigned last;
    if (t.other == ST_OTHER_VISIBLE && n > 0 && st_kind_at(text + n - st_utf8_size_before(text, n), &last) == ST_KIND_OTHER)
        certain = n - last;
    while (t.word == ST_WORD_CASE && certain > 0 && n - certain < 2 * ST_BLOCK_BYTES) {
        const size_t size = st_utf8_size_before(text, certain);
        unsigned whole;
        if (st_kind_at(text + certain - size, &whole) != ST_KIND_UPPER)
            break;
        certain -= size;
    }
    for (size_t back = 1; t.contraction != ST_CONTRACTION_NONE && back <= 3 && back <= n; back++)
        if (text[n - back] == ST_APOSTROPHE && n - back < certain)
            certain = n - back;
    return certain;
}

/* Takes the last block and a half, from a copy with blanks behind it. */
ST_FORCE_INLINE void st_take_tail(st_split_family family, st_block_run *run)
{
    uint8_t bytes[3 * ST_BLOCK_BYTES];
    const size_t left = run->n - run->at, limit = st_certain(family, run->text, run->n);
    memset(bytes, ST_BLANK, sizeof bytes);
    memcpy(bytes, run->text + run->at, left);
    if (left < ST_BLOCK_BYTES) /* the text is shorter than a block */
        st_classify(family, bytes, &run->rows, run->next, run->here);
    for (size_t at = 0; at < left && !run->hard; at += ST_BLOCK_BYTES) {
        st_classify(family, bytes + at + ST_BLOCK_BYTES, &run->rows, run->here, run->next);
        st_take_block(family, run, bytes + at, limit);
    }
}

ST_FORCE_INLINE st_split_progress st_split_all(st_split_family family, const uint8_t *text, size_t n, uint64_t base,
                                               uint64_t *ends, size_t capacity)
{
    const uint64_t *const full = ends + capacity - ST_BLOCK_BYTES; /* beyond it a block's ends might not fit */
    st_block blocks[2] = {{0}, {0}}; /* in front of the text there is nothing */
    st_block_run run = {.text = text, .n = n, .base = base, .to = ends, .here = &blocks[0], .next = &blocks[1]};
    if (n >= ST_BLOCK_BYTES)
        st_classify(family, text, &run.rows, run.next, run.here);
    while (run.at + 2 * ST_BLOCK_BYTES <= n && run.to <= full && !run.hard) {
        st_prefetch(text + run.at + ST_SEND_AHEAD); /* may lie behind the text */
        st_classify(family, text + run.at + ST_BLOCK_BYTES, &run.rows, run.here, run.next);
        st_take_block(family, &run, text + run.at, SIZE_MAX);
    }
    if (!run.hard && run.to + ST_BLOCK_BYTES <= full)
        st_take_tail(family, &run);
    const size_t count = (size_t)(run.to - ends);
    return (st_split_progress){count, count ? (size_t)(run.to[-1] - base) : 0, run.hard > n ? 0 : run.hard};
}

/* The rows: a function each. In a table, because a compiler that put all of them into one function would optimize less. */
#define ST_SPLIT_ROW(name, ...)                                                                                                  \
    static st_split_progress st_split_##name(const uint8_t *text, size_t n, uint64_t base, uint64_t *ends, size_t capacity)      \
    {                                                                                                                            \
        return st_split_all(ST_SPLIT_##name, text, n, base, ends, capacity);                                                     \
    }

ST_EACH_ROW(ST_SPLIT_ROW)

#define ST_ROW_ENTRY(name, ...) [ST_SPLIT_##name] = st_split_##name,

static st_split_progress (*const st_split_row[ST_SPLIT_FAMILIES])(const uint8_t *text, size_t n, uint64_t base, uint64_t *ends,
                                                                  size_t capacity) = {ST_EACH_ROW(ST_ROW_ENTRY)};

static st_split_progress ST_OF_TIER(st_split_blocks)(unsigned family, const uint8_t *text, size_t n, uint64_t base,
                                                     uint64_t *ends, size_t capacity)
{
    return st_split_row[family](text, n, base, ends, capacity);
}
