#include "lookup/encode_pieces.h"

#include "base/interrupt.h"
#include "base/tier.h"
#include "base/utf8.h"
#include "cut/cuts.h"
#include "lookup/first_look.h"
#include "lookup/misses.h"

/* ---- one span by itself: a rare or long one, or one outside of a batch ---- */

static st_status put_id(st_ids *out, uint32_t id)
{
    if (st_ids_reserve(out, 1))
        return ST_NO_MEMORY;
    out->data[out->size++] = id;
    return ST_OK;
}

st_status st_encode_span(st_vocab *v, st_workspace *w, st_engine engine, const uint8_t *text, size_t n, int whole,
                         st_ids *out)
{
    if (n == 0)
        return ST_OK;
    const uint32_t token = whole && st_vocab_has(v, ST_MODEL_KEEPS_TOKENS) ? st_vocab_find(v, text, n) : ST_NONE;
    if (token != ST_NONE)
        return put_id(out, v->ids[token]);
    if (engine == ST_ENGINE_FAST)
        return v->model->whole(v, w->scratch, text, n, out);
    return v->model->reference(v, w->scratch, text, n, out);
}

/* ---- a batch: spans and their first look, misses, output ---- */

/* The pieces of a batch, and how far they were turned into spans. */
typedef struct batch {
    const uint8_t *text;
    size_t size;
    const uint64_t *starts, *ends; /* starts NULL: they lie side by side */
    size_t count, piece, at; /* the next span begins at text[at], in piece number `piece` */
    int inside;              /* `at` is a cut inside the piece */
    int stretches;           /* the tier cuts stretches (cut/cuts.h) */
    int whole;               /* the pieces are whole ones */
    int cutting;             /* the last stretch had something to cut, so the next stretch is tried before short pieces */
} batch;

/* A pattern gives few pieces of ASCII that are longer than a key: rulers and long names, which have no cuts. A piece longer than
 * this comes from a text without a pattern, and cutting it gives words. */
#define LONG_ASCII 32

/* Only long pieces are worth cutting: the tables hold short ones whole. */
static int is_worth_cutting(const uint8_t *text, size_t n)
{
    return n > ST_KEY_BYTES && (n > LONG_ASCII || st_has_high_bytes(text, n));
}

/* Adds the span text[at..at + n). */
static void add_span(st_workspace *w, const batch *b, size_t at, size_t n)
{
    const uint8_t *text = b->text + at;
    st_key key = st_key_of_long(n);
    if (n <= ST_KEY_BYTES)
        key = at + 16 <= b->size ? st_key_of_padded(text, n) : st_key_of(text, n);
    st_add_span(&w->spans, &w->hot, at - w->spans.first, key);
}

/* Where pieces lie apart: moves on to the start of the next one. */
static inline void begin_piece(batch *b)
{
    if (b->starts && b->piece < b->count)
        b->at = (size_t)b->starts[b->piece];
}

/* Adds pieces up to the first one that is longer than a key. */
static void add_short_pieces(st_workspace *w, batch *b)
{
    const size_t room = w->spans.limit - w->spans.count, left = b->count - b->piece, most = room < left ? room : left;
    const size_t readable = b->size < 16 ? 0 : b->size - 15;
    const uint64_t *ends = b->ends + b->piece;
    size_t count;
    if (b->starts)
        count = st_add_apart(&w->spans, &w->hot, b->text, readable, b->starts + b->piece, ends, most);
    else
        count = st_add_pieces(&w->spans, &w->hot, b->text, readable, b->at, ends, most);
    b->piece += count;
    b->at = count ? (size_t)ends[count - 1] : b->at;
    begin_piece(b);
}

/* Cuts found by one call of st_cuts_find. */
#define CUTS_AT_ONCE 64

/* Adds atoms of the current piece: at most CUTS_AT_ONCE, and not more than there is room for. */
static void add_atoms(st_workspace *w, const st_cuts *cuts, batch *b, size_t end)
{
    const st_spans *s = &w->spans;
    const size_t start = b->at, room = s->limit - s->count, most = room < CUTS_AT_ONCE ? room : CUTS_AT_ONCE;
    uint32_t borders[CUTS_AT_ONCE];
    size_t from = 0, found = st_cuts_find(cuts, b->text + start, end - start, &from, borders, most);
    for (size_t i = 0; i < found; i++) {
        add_span(w, b, b->at, start + borders[i] - b->at);
        b->at = start + borders[i];
    }
    if (found == most)
        return;
    add_span(w, b, b->at, end - b->at);
    b->at = end;
}

/* Adds the spans that end at b->at + ends[0], b->at + ends[1], ... Those in the last 16 bytes of the text are added one by one. */
static void add_any_spans(st_workspace *w, batch *b, const uint32_t *ends, size_t count)
{
    const size_t first = b->at;
    size_t at_once = count;
    while (at_once && first + (at_once > 1 ? ends[at_once - 2] : 0) + 16 > b->size)
        at_once--;
    st_add_spans(&w->spans, &w->hot, b->text, first, ends, at_once);
    b->at += at_once ? ends[at_once - 1] : 0;
    for (size_t i = at_once; i < count; i++) {
        add_span(w, b, b->at, first + ends[i] - b->at);
        b->at = first + ends[i];
    }
}

/* Writes the ends of the pieces of the next stretch, uncut, and returns how many; 0 if they should be cut. */
static size_t whole_pieces(st_workspace *w, const batch *b, uint32_t *ends, size_t *longest_piece)
{
    size_t count = 0, start = 0;
    const uint64_t *all = b->ends + b->piece;
    for (*longest_piece = 0; count < b->count - b->piece && all[count] - b->at <= ST_CUT_STRETCH; count++) {
        const size_t end = (size_t)all[count] - b->at, n = end - start;
        ends[count] = (uint32_t)end;
        *longest_piece = n > *longest_piece ? n : *longest_piece;
        start = end;
    }
    return count && st_cut_account_leaves_whole(&w->cutting, *longest_piece, count) ? count : 0;
}

/* Adds the pieces of the next stretch, the long ones as atoms or whole, without a branch on what they hold. Returns 0 if the next
 * piece is longer than a stretch. */
static int add_stretch(st_vocab *v, st_workspace *w, batch *b)
{
    uint32_t ends[ST_CUT_STRETCH + 16];
    size_t pieces = 0, count = 0, longest_piece;
    const st_cuts *cuts = st_vocab_cuts(v);
    if (!cuts)
        return 0;
    if (w->cutting.left_whole)
        count = pieces = whole_pieces(w, b, ends, &longest_piece);
    b->cutting = count && longest_piece > ST_KEY_BYTES;
    if (!count) {
        count = st_tier()->cuts_of_pieces(cuts, b->text, b->at, b->ends + b->piece, b->count - b->piece, ends, &pieces);
        st_cut_account_enter(&w->cutting, count - pieces, ST_CUT_STRETCH_COSTS, ST_CUT_STRETCH_LEAVES_WHOLE);
        b->cutting = count > pieces;
    }
    add_any_spans(w, b, ends, count);
    b->piece += pieces;
    return pieces != 0;
}

/* Adds atoms of the current piece, which is longer than a stretch: those of the next stretch, whose last one goes on behind it.
 * Returns 0 if there is no cut in the stretch. */
static int add_window(st_workspace *w, const st_cuts *cuts, batch *b, size_t end)
{
    uint32_t ends[ST_CUT_STRETCH + 16];
    size_t pieces, n = ST_CUT_STRETCH;
    if (end - b->at <= n)
        return 0;
    while (st_utf8_is_continuation(b->text[b->at + n]))
        n--;
    const uint64_t stop = b->at + n;
    const size_t count = st_tier()->cuts_of_pieces(cuts, b->text, b->at, &stop, 1, ends, &pieces);
    add_any_spans(w, b, ends, count - 1);
    return count > 1;
}

/* Adds the current piece, or as many of its atoms as there is room for. */
static void add_piece(st_vocab *v, st_workspace *w, batch *b)
{
    const st_spans *s = &w->spans;
    const size_t end = (size_t)b->ends[b->piece], before = s->count;
    int is_cut = st_vocab_has(v, ST_MODEL_HAS_CUTS) && (b->inside || is_worth_cutting(b->text + b->at, end - b->at));
    const st_cuts *cuts = NULL;
    if (is_cut && !b->inside && b->stretches && add_stretch(v, w, b))
        return;
    if (is_cut && !b->inside && !b->stretches && st_cut_account_leaves_whole(&w->cutting, end - b->at, 1))
        is_cut = 0;
    if (is_cut && end - b->at <= UINT32_MAX / 2)
        cuts = st_vocab_cuts(v); /* NULL if memory is short: then the piece stays whole */
    if (!cuts) {
        add_span(w, b, b->at, end - b->at);
        b->at = end;
    }
    while (b->at < end && s->count < s->limit)
        if (!b->stretches || !add_window(w, cuts, b, end))
            add_atoms(w, cuts, b, end);
    b->inside = b->at < end;
    if (cuts && !b->stretches)
        st_cut_account_enter(&w->cutting, s->count - before - 1, ST_CUT_PIECE_COSTS, ST_CUT_PIECE_LEAVES_WHOLE);
    b->piece += !b->inside;
    if (!b->inside)
        begin_piece(b);
}

/* Adds some spans: as many as can be looked up before the first of the prefetched lines leaves the cache again. A span that begins
 * gigabytes behind the first one waits for the next round. Returns whether there are more for this round. */
static int add_spans(st_vocab *v, st_workspace *w, batch *b)
{
    st_spans *s = &w->spans;
    s->limit = s->count + ST_LOOK_AHEAD < ST_ROUND_SPANS ? s->count + ST_LOOK_AHEAD : ST_ROUND_SPANS;
    while (s->count < s->limit && b->piece < b->count && b->at - s->first <= UINT32_MAX / 2) {
        if (b->cutting && add_stretch(v, w, b))
            continue;
        b->cutting = 0;
        if (!b->inside)
            add_short_pieces(w, b);
        if (s->count < s->limit && b->piece < b->count)
            add_piece(v, w, b);
    }
    st_first_look(s, &w->hot);
    return s->count >= s->limit && s->count < ST_ROUND_SPANS;
}

static size_t count_ids(const st_spans *s)
{
    size_t ids = s->found_count;
    for (size_t m = 0; m < s->missed; m++)
        ids += s->counts[m];
    return ids;
}

/* Copies ids in blocks of fixed size, nearly always one. */
static inline uint32_t *copy_found(uint32_t *to, const uint32_t *from, const uint32_t *end)
{
    const size_t count = (size_t)(end - from);
    size_t i = 0;
    do
        memcpy(to + i, from + i, ST_SPARE_IDS * sizeof *to);
    while ((i += ST_SPARE_IDS) < count);
    return to + count;
}

/* Copies ids[ST_INLINE_IDS..count), ST_INLINE_IDS at a time; the last two copies may overlap. */
static inline void copy_more(uint32_t *to, const uint32_t *from, size_t count)
{
    for (size_t i = ST_INLINE_IDS; i + ST_INLINE_IDS < count; i += ST_INLINE_IDS)
        memcpy(to + i, from + i, ST_INLINE_IDS * sizeof *to);
    memcpy(to + count - ST_INLINE_IDS, from + count - ST_INLINE_IDS, ST_INLINE_IDS * sizeof *to);
}

/* The first write to each new page costs a page fault. Asking for many pages at once takes half the time. */
#define PAGES_AT_ONCE ((uintptr_t)1 << 18)

/* Asks for the next pages when writing reaches them. Not for short arrays: their memory is reused. */
static void ask_for_pages(const st_ids *out, size_t more)
{
    const uintptr_t at = (uintptr_t)(out->data + out->size), end = at + more * sizeof *out->data;
    const uintptr_t from = end & ~(PAGES_AT_ONCE - 1), limit = (uintptr_t)(out->data + out->capacity);
    if (at < from && out->capacity * sizeof *out->data >= PAGES_AT_ONCE)
        st_alloc_populate((void *)from, limit - from < PAGES_AT_ONCE ? limit - from : PAGES_AT_ONCE);
}

/* Encodes a span that no table and no cache holds, and enters it into the wide cache. */
static st_status encode_alone(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    const size_t before = out->size;
    ST_TRY(st_encode_span(v, w, ST_ENGINE_FAST, text, n, 0, out));
    if (n <= ST_WIDE_BYTES)
        st_wide_put(&w->wide, st_hash_bytes(text, n), text, n, out->data + before, out->size - before);
    return ST_OK;
}

/* Appends the ids that were found, with those of the misses in their places. */
static st_status emit(st_vocab *v, st_workspace *w, const uint8_t *text, st_ids *out)
{
    const st_spans *s = &w->spans;
    const size_t most = count_ids(s) + ST_SPARE_IDS; /* copies of fixed size write beyond the end */
    if (st_ids_reserve(out, most))
        return ST_NO_MEMORY;
    ask_for_pages(out, most);
    uint32_t *to = out->data + out->size;
    const uint32_t *from = s->found;
    for (size_t m = 0; m < s->missed; from = s->places[m++]) {
        const size_t count = s->counts[m];
        to = copy_found(to, from, s->places[m]);
        memcpy(to, s->ids[m], ST_INLINE_IDS * sizeof *to);
        if (count > ST_INLINE_IDS)
            copy_more(to, s->ids[m], count);
        if (!count) { /* seldom */
            out->size = (size_t)(to - out->data);
            ST_TRY(encode_alone(v, w, text + s->starts[m], st_miss_length(s, m), out));
            ST_TRY(st_ids_reserve(out, most));
            to = out->data + out->size;
        }
        to += count;
    }
    to = copy_found(to, from, s->found + s->found_count);
    out->size = (size_t)(to - out->data);
    return ST_OK;
}

static st_status encode_round(st_vocab *v, st_workspace *w, batch *b, st_ids *out)
{
    st_spans *s = &w->spans;
    const uint8_t *text = b->text + b->at;
    int more;
    st_begin_spans(s, b->at);
    do {
        const size_t missed = s->missed;
        more = add_spans(v, w, b);
        if (s->missed) /* a short text often has none */
            st_send_for_misses(v, w, missed);
    } while (more);
    if (s->missed)
        st_answer_misses(v, w, text, (st_whole_pieces){b->starts, b->ends, b->whole ? b->count : 0});
    return emit(v, w, text, out);
}

st_status st_encode_pieces(st_vocab *v, st_workspace *w, st_engine engine, const uint8_t *text, size_t size,
                           const uint64_t *starts, const uint64_t *ends, size_t count, int whole, st_ids *out)
{
    if (engine == ST_ENGINE_FAST) {
        batch b = {text, size, starts, ends, count, 0, 0, 0, !starts && st_tier()->cuts_of_pieces, whole, 0};
        begin_piece(&b);
        while (b.piece < count) {
            const size_t from = b.at;
            ST_TRY(encode_round(v, w, &b, out));
            if (b.piece < count)
                ST_TRY(st_go_on(b.at - from));
        }
        return ST_OK;
    }
    for (size_t i = 0, start = 0; i < count; start = (size_t)ends[i++]) {
        start = starts ? (size_t)starts[i] : start;
        ST_TRY(st_encode_span(v, w, engine, text + start, (size_t)ends[i] - start, whole, out));
    }
    return ST_OK;
}
