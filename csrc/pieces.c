#include "pieces.h"

#include "cuts.h"
#include "hash.h"
#include "merge_run.h"
#include "merge_windows.h"
#include "prefetch.h"

/* Beyond this length a run of long tokens is better served by the automaton of long_piece.h, which takes time to build. */
#define LARGE_WINDOWS_UP_TO 4096

/* ---- one span alone: rare, long, or outside of a batch ---- */

static void to_ids(const st_vocab *v, const uint32_t *tokens, size_t count, uint32_t *ids)
{
    if (v->identity && ids == tokens)
        return;
    for (size_t i = 0; i < count; i++)
        ids[i] = v->ids[tokens[i]];
}

static st_status merge_long(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    size_t before = out->size;
    int done = 0;
    if (st_is_run(text, n))
        ST_TRY(st_merge_run(v, text[0], n, out, &done));
    if (done) {
        to_ids(v, out->data + before, out->size - before, out->data + before);
        return ST_OK;
    }
    size_t largest = n <= LARGE_WINDOWS_UP_TO ? ST_SHORT_MERGE : ST_SMALL_WINDOW;
    ST_TRY(st_merge_windows(v, w->scratch.memo, text, n, largest, out, &done));
    if (done) {
        to_ids(v, out->data + before, out->size - before, out->data + before);
        return ST_OK;
    }
    st_long_piece_begin(&w->long_piece, 1);
    ST_TRY(st_long_piece_push(&w->long_piece, v, &w->scratch, text, n, out));
    return st_long_piece_finish(&w->long_piece, v, out);
}

static st_status put_id(st_ids *out, uint32_t id)
{
    if (st_ids_reserve(out, 1))
        return ST_NO_MEMORY;
    out->data[out->size++] = id;
    return ST_OK;
}

static st_status merge_alone(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    if (n > ST_SHORT_MERGE)
        return merge_long(v, w, text, n, out);
    if (st_ids_reserve(out, n))
        return ST_NO_MEMORY;
    size_t count = st_merge_short(&v->pairs, text, n, w->tokens);
    to_ids(v, w->tokens, count, out->data + out->size);
    out->size += count;
    return ST_OK;
}

static st_status merge_reference(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    size_t first = out->size;
    st_status status = st_reference_merge(&v->pairs, text, n, &w->reference, out);
    to_ids(v, out->data + first, out->size - first, out->data + first);
    return status;
}

st_status st_encode_span(st_vocab *v, st_workspace *w, st_engine engine, const uint8_t *text, size_t n, int whole,
                         st_ids *out)
{
    if (n == 0)
        return ST_OK;
    uint32_t token = whole ? st_vocab_find(v, text, n) : ST_NONE;
    if (token != ST_NONE)
        return put_id(out, v->ids[token]);
    return engine == ST_ENGINE_FAST ? merge_alone(v, w, text, n, out) : merge_reference(v, w, text, n, out);
}

/* ---- a batch: spans, first look, second look, merges, output ---- */

/* The pieces of a batch and how far they have become spans. */
typedef struct batch {
    const uint8_t *text;
    size_t size;
    const uint64_t *ends;
    size_t count, piece, at; /* text[at..) is next, in piece number `piece` */
    int inside;              /* `at` is a cut inside the piece */
    int stretches;           /* this machine cuts several pieces at once */
} batch;

/* Patterns leave few long pieces of ASCII, rulers and long names, in which there is no cut. A longer one is a text without a
 * pattern, and falls into words. */
#define LONG_ASCII 32

/* Only long pieces are worth cutting: the tables hold the short ones whole. Where merging does not give back every token, the
 * piece table must not answer for atoms, and there are none. */
static int is_worth_cutting(const st_vocab *v, const uint8_t *text, size_t n)
{
    return n > ST_KEY_BYTES && !v->unreachable && (n > LONG_ASCII || st_has_high_bytes(text, n));
}

/* Puts span number i: where it starts, its key, and the piece table's cache line on the way. */
static inline void put_span(const st_piece_table *pieces, st_spans *s, size_t i, size_t at, st_key key)
{
    const uint64_t line = st_piece_line(pieces, key);
    s->starts[i] = (uint32_t)(at - s->first);
    s->keys[i] = key;
    s->lines[i] = (uint32_t)line;
    st_prefetch(&pieces->entries[2 * line]);
}

/* Adds the span text[at..at + n). A long one gets a key that matches nothing. */
static inline void add_span(const st_vocab *v, const batch *b, st_spans *s, size_t at, size_t n)
{
    const uint8_t *text = b->text + at;
    st_key key = {UINT64_MAX, 0};
    if (n <= ST_KEY_BYTES)
        key = at + 16 <= b->size ? st_key_of_padded(text, n) : st_key_of(text, n);
    put_span(&v->pieces, s, s->count++, at, key);
}

/* Adds pieces as long as they are short, which most are: nothing here depends on what they hold. */
static void add_short_pieces(const st_vocab *v, batch *b, st_spans *s)
{
    const st_piece_table pieces = v->pieces;
    const uint8_t *text = b->text;
    const uint64_t *ends = b->ends;
    const size_t room = s->limit - s->count, left = b->count - b->piece, most = room < left ? room : left;
    const size_t readable = b->size < 16 ? 0 : b->size - 15;
    size_t at = b->at, i = s->count, piece = b->piece, last = piece + most;
    for (; piece < last; piece++, i++) {
        const size_t end = (size_t)ends[piece], n = end - at;
        if (n > ST_KEY_BYTES || at >= readable)
            break;
        put_span(&pieces, s, i, at, st_key_of_padded(text + at, n));
        at = end;
    }
    s->count = i;
    b->at = at;
    b->piece = piece;
}

/* Cuts are looked for so many at a time. */
#define CUTS_AT_ONCE 64

/* Adds as many atoms of the piece that the batch stands in as there is room for, and are found at once. */
static void add_atoms(const st_vocab *v, const st_cuts *cuts, batch *b, st_spans *s, size_t end)
{
    const size_t start = b->at, room = s->limit - s->count, most = room < CUTS_AT_ONCE ? room : CUTS_AT_ONCE;
    uint32_t borders[CUTS_AT_ONCE];
    size_t from = 0, found = st_cuts_find(cuts, b->text + start, end - start, &from, borders, most);
    for (size_t i = 0; i < found; i++) {
        add_span(v, b, s, b->at, start + borders[i] - b->at);
        b->at = start + borders[i];
    }
    if (found == most)
        return;
    add_span(v, b, s, b->at, end - b->at);
    b->at = end;
}

/* Adds the pieces of a stretch of text, the long ones in atoms: nothing here depends on what they hold. Returns whether there
 * is room for all its spans, and a stretch at all: the next piece may be longer. */
static int add_stretch(st_vocab *v, batch *b, st_spans *s)
{
    uint32_t ends[ST_CUT_STRETCH + 16];
    size_t pieces;
    const st_cuts *cuts = st_vocab_cuts(v);
    if (!cuts || s->count + ST_CUT_STRETCH > ST_SPANS || b->at + ST_CUT_STRETCH + 16 > b->size)
        return 0;
    const size_t count = st_cuts_of_pieces(cuts, b->text, b->at, b->ends + b->piece, b->count - b->piece, ends, &pieces);
    const st_piece_table table = v->pieces;
    const uint8_t *text = b->text + b->at;
    for (size_t i = 0, start = 0; i < count; start = ends[i++])
        put_span(&table, s, s->count + i, b->at + start, st_key_or_none(text + start, ends[i] - start));
    s->count += count;
    b->at += count ? ends[count - 1] : 0;
    b->piece += pieces;
    return pieces != 0;
}

/* Adds the piece that the batch stands in, or as many of its atoms as there is room for. */
static void add_piece(st_vocab *v, batch *b, st_spans *s)
{
    const size_t end = (size_t)b->ends[b->piece];
    const int is_cut = b->inside || is_worth_cutting(v, b->text + b->at, end - b->at);
    const st_cuts *cuts = NULL;
    if (is_cut && !b->inside && b->stretches && add_stretch(v, b, s))
        return;
    if (is_cut && end - b->at <= UINT32_MAX / 2)
        cuts = st_vocab_cuts(v); /* without memory for them, do without cuts */
    if (!cuts) {
        add_span(v, b, s, b->at, end - b->at);
        b->at = end;
    }
    while (b->at < end && s->count < s->limit)
        add_atoms(v, cuts, b, s, end);
    b->inside = b->at < end;
    b->piece += !b->inside;
}

/* Adds some spans, as many as can be looked up before what was sent for first leaves the cache again. One that begins
 * gigabytes behind the first waits for the next round. Returns whether there are more for this round. */
static int add_spans(st_vocab *v, batch *b, st_spans *s)
{
    s->limit = s->count + ST_LOOK_AHEAD < ST_SPANS ? s->count + ST_LOOK_AHEAD : ST_SPANS;
    while (s->count < s->limit && b->piece < b->count && b->at - s->first <= UINT32_MAX / 2) {
        if (!b->inside)
            add_short_pieces(v, b, s);
        if (s->count < s->limit && b->piece < b->count)
            add_piece(v, b, s);
    }
    s->starts[s->count] = (uint32_t)(b->at - s->first);
    return s->count >= s->limit && s->count < ST_SPANS;
}

static size_t span_length(const st_spans *s, size_t i)
{
    return s->starts[i + 1] - s->starts[i];
}

/* Looks at the one line where each span from `from` on belongs, without a branch that depends on what is there; the spans
 * that are not found, or have more ids than an entry holds, are added to the misses. */
static size_t look_first(const st_vocab *v, st_spans *s, size_t from, size_t misses)
{
    const st_piece_entry *entries = v->pieces.entries;
    const size_t count = s->count;
    for (size_t i = from; i < count; i++) {
        const st_key key = s->keys[i];
        const st_piece_entry *entry = &entries[2 * (size_t)s->lines[i]];
        const int first = st_piece_matches(entry, key), second = st_piece_matches(entry + 1, key);
        entry += second;
        const uint32_t ids = st_piece_count(entry);
        s->ids[i] = entry->ids;
        s->counts[i] = (uint16_t)ids;
        s->misses[misses] = (uint16_t)i;
        misses += !(first | second) | (ids >= ST_MORE_IDS);
    }
    return misses;
}

/* A span of up to ST_KEY_BYTES bytes that lies further on in the piece table, or has many ids. */
static int look_further(const st_vocab *v, st_spans *s, size_t i)
{
    const st_piece_entry *entry = st_piece_find(&v->pieces, s->keys[i], s->lines[i]);
    if (!entry)
        return 0;
    const int many = st_piece_count(entry) == ST_MORE_IDS;
    s->counts[i] = (uint16_t)(many ? entry->ids[1] : st_piece_count(entry));
    s->ids[i] = many ? v->pieces.more.data + entry->ids[0] : entry->ids;
    return 1;
}

/* A long token, where the cache may not be asked first: it remembers merges, and merging does not give this one back. */
static int is_long_token(const st_vocab *v, st_spans *s, size_t i, const uint8_t *text, size_t n)
{
    if (!v->unreachable && n <= ST_CACHED_BYTES)
        return 0;
    const uint32_t token = st_vocab_find(v, text, n);
    if (token == ST_NONE)
        return 0;
    s->ids[i] = &v->ids[token];
    s->counts[i] = 1;
    return 1;
}

static st_cache_entry *cache_entry(st_workspace *w, uint64_t hash)
{
    return &w->cache[hash >> (64 - ST_CACHE_BITS)];
}

/* Sends for the lines behind those that have overflowed: one in eight has, and nobody has asked for the next. */
static void send_for_next_lines(const st_piece_table *pieces, const st_spans *s, size_t misses)
{
    for (size_t m = 0; m < misses; m++) {
        const uint64_t line = s->lines[s->misses[m]];
        st_prefetch(&pieces->entries[2 * ((line + (uint64_t)st_line_overflowed(&pieces->entries[2 * line])) & pieces->mask)]);
    }
}

/* The second look at the misses; those that the tables do not hold stay listed, and their cache lines are sent for. */
static size_t look_again(const st_vocab *v, st_workspace *w, const uint8_t *text, size_t misses)
{
    st_spans *s = &w->spans;
    size_t left = 0, room = ST_SPAN_IDS - ST_CACHED_IDS;
    send_for_next_lines(&v->pieces, s, misses);
    for (size_t m = 0; m < misses; m++) {
        const size_t i = s->misses[m], n = span_length(s, i);
        s->counts[i] = 0;
        if (n <= ST_KEY_BYTES ? look_further(v, s, i) : is_long_token(v, s, i, text + s->starts[i], n))
            continue;
        if (n > ST_GROUP_BYTES || room < ST_GROUP_BYTES)
            continue;
        room -= n > ST_CACHED_IDS ? n : ST_CACHED_IDS;
        s->hashes[left] = n <= ST_KEY_BYTES ? st_hash_key(s->keys[i]) : st_hash_bytes(text + s->starts[i], n);
        st_prefetch(cache_entry(w, s->hashes[left]));
        s->misses[left++] = (uint16_t)i;
    }
    return left;
}

/* The cache holds merge results only, so it serves pieces and atoms alike. Its ids are copied out: a merge of the same
 * batch may take the entry. Spans that it does not hold become words to merge; returns how many. */
static size_t ask_cache(st_workspace *w, const uint8_t *text, size_t misses)
{
    st_spans *s = &w->spans;
    size_t words = 0, used = 0;
    for (size_t m = 0; m < misses; m++) {
        const size_t i = s->misses[m], n = span_length(s, i);
        const uint64_t hash = s->hashes[m];
        const st_cache_entry *entry = cache_entry(w, hash);
        const uint8_t *bytes = text + s->starts[i];
        s->ids[i] = &s->space[used];
        if (n <= ST_CACHED_BYTES && entry->length == n && entry->tag == (uint16_t)hash &&
            st_same_bytes(entry->bytes, bytes, n)) {
            memcpy(&s->space[used], entry->ids, sizeof entry->ids);
            s->counts[i] = entry->count;
            used += ST_CACHED_IDS;
            continue;
        }
        w->words[words] = (st_word){bytes, &s->space[used], (uint32_t)n, 0};
        s->hashes[words] = hash;
        s->misses[words++] = (uint16_t)i;
        used += n > ST_CACHED_IDS ? n : ST_CACHED_IDS;
    }
    return words;
}

static void remember(st_workspace *w, const st_word *word, uint64_t hash)
{
    if (word->n > ST_CACHED_BYTES || word->count > ST_CACHED_IDS)
        return;
    st_cache_entry *entry = cache_entry(w, hash);
    entry->length = (uint8_t)word->n;
    entry->count = (uint8_t)word->count;
    entry->tag = (uint16_t)hash;
    memcpy(entry->bytes, word->text, word->n);
    memcpy(entry->ids, word->tokens, sizeof entry->ids); /* the word has room for that many */
}

static void merge_words(st_vocab *v, st_workspace *w, size_t words)
{
    /* They are built once some piece is long enough to be cut; until then words begin as bytes. */
    st_merge_words(v, st_vocab_cuts_built(v), w->words, words);
    for (size_t i = 0; i < words; i++) {
        const st_word *word = &w->words[i];
        to_ids(v, word->tokens, word->count, word->tokens);
        w->spans.counts[w->spans.misses[i]] = (uint16_t)word->count;
        remember(w, word, w->spans.hashes[i]);
    }
}

static size_t count_ids(const st_spans *s)
{
    size_t ids = 0;
    for (size_t i = 0; i < s->count; i++)
        ids += s->counts[i];
    return ids;
}

static st_status emit(st_vocab *v, st_workspace *w, const uint8_t *text, st_ids *out)
{
    const st_spans *s = &w->spans;
    const size_t most = count_ids(s) + ST_INLINE_IDS; /* copies of fixed size reach so far beyond the end */
    if (st_ids_reserve(out, most))
        return ST_NO_MEMORY;
    uint32_t *to = out->data + out->size;
    for (size_t i = 0; i < s->count; i++) {
        const size_t count = s->counts[i];
        memcpy(to, s->ids[i], ST_INLINE_IDS * sizeof *to);
        if (count - 1 >= ST_INLINE_IDS) { /* none or many: seldom */
            out->size = (size_t)(to - out->data);
            if (count)
                memcpy(to, s->ids[i], count * sizeof *to);
            else if (st_encode_span(v, w, ST_ENGINE_FAST, text + s->starts[i], span_length(s, i), 0, out) ||
                     st_ids_reserve(out, most))
                return ST_NO_MEMORY;
            to = out->data + out->size;
        }
        to += count;
    }
    out->size = (size_t)(to - out->data);
    return ST_OK;
}

static st_status encode_round(st_vocab *v, st_workspace *w, batch *b, st_ids *out)
{
    st_spans *s = &w->spans;
    size_t misses = 0, from;
    int more;
    s->first = b->at;
    s->count = 0;
    do {
        from = s->count;
        more = add_spans(v, b, s);
        misses = look_first(v, s, from, misses);
    } while (more);
    const uint8_t *text = b->text + s->first;
    const size_t left = misses ? look_again(v, w, text, misses) : 0;
    if (left)
        merge_words(v, w, ask_cache(w, text, left));
    return emit(v, w, text, out);
}

st_status st_encode_pieces(st_vocab *v, st_workspace *w, st_engine engine, const uint8_t *text, size_t size,
                           const uint64_t *ends, size_t count, st_ids *out)
{
    if (engine == ST_ENGINE_FAST) {
        batch b = {text, size, ends, count, 0, 0, 0, st_cuts_has_stretches()};
        while (b.piece < count)
            ST_TRY(encode_round(v, w, &b, out));
        return ST_OK;
    }
    size_t start = 0;
    for (size_t i = 0; i < count; i++) {
        if (st_encode_span(v, w, engine, text + start, (size_t)ends[i] - start, 1, out))
            return ST_NO_MEMORY;
        start = (size_t)ends[i];
    }
    return ST_OK;
}
