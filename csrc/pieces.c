#include "pieces.h"

#include "cuts.h"
#include "hash.h"
#include "merge_windows.h"
#include "prefetch.h"

/* Beyond this length a run of long tokens is better served by the automaton of long_piece.h, which takes time to build. */
#define LARGE_WINDOWS_UP_TO 4096

/* ---- one span alone: rare, long, or outside of a batch ---- */

static void to_ids(const st_vocab *v, const uint32_t *tokens, size_t count, uint32_t *ids)
{
    for (size_t i = 0; i < count; i++)
        ids[i] = v->ids[tokens[i]];
}

static st_status merge_long(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    size_t before = out->size;
    int done;
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

/* ---- a batch: spans, look-ups, misses, merges, output ---- */

/* The pieces of a batch and how far they have become spans. */
typedef struct batch {
    const uint8_t *text;
    size_t size;
    const uint64_t *ends;
    size_t count, piece, at; /* text[at..) is next, in piece number `piece` */
    int inside;              /* `at` is a cut inside the piece */
} batch;

static size_t next_end(batch *b, const st_cuts **cuts, st_vocab *v)
{
    size_t end = (size_t)b->ends[b->piece];
    /* Only long pieces with other characters than ASCII are worth cutting: the tables hold the short ones whole. */
    if (!b->inside && (end - b->at <= ST_KEY_BYTES || !st_has_high_bytes(b->text + b->at, end - b->at)))
        return end;
    if (!*cuts)
        *cuts = st_vocab_cuts(v); /* without memory for them, do without cuts */
    return *cuts ? b->at + st_cuts_next(*cuts, b->text + b->at, 0, end - b->at) : end;
}

static size_t collect_spans(batch *b, st_vocab *v, st_span *spans)
{
    const st_cuts *cuts = NULL;
    size_t n = 0;
    while (n < ST_SPANS && b->piece < b->count) {
        size_t end = next_end(b, &cuts, v);
        int last = end == b->ends[b->piece];
        spans[n].start = b->at;
        spans[n].end = end;
        spans[n++].whole = (uint16_t)(last && !b->inside);
        b->at = end;
        b->inside = !last;
        b->piece += (size_t)last;
    }
    return n;
}

/* Keys and hashes, and the tables' cache lines on the way. */
static void prepare(const st_vocab *v, st_workspace *w, const batch *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        st_span *span = &w->spans[i];
        size_t length = span->end - span->start;
        const uint8_t *text = b->text + span->start;
        if (length <= ST_KEY_BYTES) {
            st_key key = span->start + 16 <= b->size ? st_key_of_padded(text, length) : st_key_of(text, length);
            w->keys[i] = key;
            span->hash = st_hash_key(key);
            st_prefetch(&v->pieces[span->hash >> v->piece_shift]);
        } else if (length <= ST_GROUP_BYTES) {
            span->hash = st_hash_bytes(text, length);
            st_prefetch(&v->long_tokens[span->hash & v->long_mask]);
        }
    }
}

static const st_piece_entry *find_entry(const st_vocab *v, st_key key, uint64_t hash)
{
    for (uint64_t slot = hash >> v->piece_shift;; slot = (slot + 1) & v->piece_mask) {
        const st_piece_entry *entry = &v->pieces[slot];
        if (entry->key.low == key.low && entry->key.high == key.high)
            return entry;
        if (!entry->key.high)
            return NULL;
    }
}

/* The whole-piece rule, for atoms too where that is the same: a token that merging gives back. A long piece asks the
 * cache first, which also remembers long tokens; only a vocabulary with unreachable tokens must not. */
static int find_token(const st_vocab *v, const st_workspace *w, const batch *b, st_span *span, size_t i)
{
    size_t length = span->end - span->start;
    if (length <= ST_KEY_BYTES) {
        const st_piece_entry *entry = find_entry(v, w->keys[i], span->hash);
        if (!entry || !(entry->reachable | span->whole))
            return 0;
        span->id = entry->id;
    } else {
        if (!span->whole || (!v->unreachable && length <= ST_CACHED_BYTES))
            return 0;
        uint32_t token = st_vocab_find(v, b->text + span->start, length);
        if (token == ST_NONE)
            return 0;
        span->id = v->ids[token];
    }
    span->count = 1;
    return 1;
}

/* Gives the spans that are tokens their ids and lists the others, whose cache lines are sent for. */
static size_t look_up(const st_vocab *v, st_workspace *w, const batch *b, size_t n)
{
    size_t misses = 0;
    for (size_t i = 0; i < n; i++) {
        st_span *span = &w->spans[i];
        if (find_token(v, w, b, span, i))
            continue;
        w->misses[misses++] = (uint16_t)i;
        st_prefetch(&w->cache[span->hash >> (64 - ST_CACHE_BITS)]);
    }
    return misses;
}

static st_cache_entry *cache_entry(st_workspace *w, const st_span *span)
{
    return &w->cache[span->hash >> (64 - ST_CACHE_BITS)];
}

/* A single id is kept in the span itself, more stay where they are. */
static void set_result(st_span *span, size_t count, const uint32_t *ids)
{
    span->count = (uint16_t)count;
    if (count == 1)
        span->id = ids[0];
}

/* The cache holds merge results only, so it serves pieces and atoms alike. Its ids are copied out: a merge of the same
 * batch may take the entry. Spans that it does not hold become words to merge; returns how many. *used: room taken. */
static size_t ask_cache(st_workspace *w, const batch *b, size_t misses, size_t *used)
{
    size_t words = 0;
    for (size_t i = 0; i < misses; i++) {
        st_span *span = &w->spans[w->misses[i]];
        const st_cache_entry *entry = cache_entry(w, span);
        const uint8_t *text = b->text + span->start;
        size_t length = span->end - span->start;
        span->count = 0;
        if (length > ST_GROUP_BYTES)
            continue;
        span->id = (uint32_t)*used;
        if (length <= ST_CACHED_BYTES && entry->length == length && entry->tag == (uint16_t)span->hash &&
            st_same_bytes(entry->bytes, text, length)) {
            memcpy(&w->span_ids[*used], entry->ids, sizeof entry->ids);
            set_result(span, entry->count, entry->ids);
            *used += ST_CACHED_IDS;
            continue;
        }
        w->words[words] = (st_word){text, &w->span_ids[*used], (uint32_t)length, 0};
        w->misses[words++] = w->misses[i];
        *used += length > ST_CACHED_IDS ? length : ST_CACHED_IDS;
    }
    return words;
}

static void merge_words(st_vocab *v, st_workspace *w, size_t words)
{
    /* They are built once some piece is long enough to be cut; until then words begin as bytes. */
    st_merge_words(v, st_vocab_cuts_built(v), w->words, words);
    for (size_t i = 0; i < words; i++) {
        const st_word *word = &w->words[i];
        st_span *span = &w->spans[w->misses[i]];
        to_ids(v, word->tokens, word->count, word->tokens);
        set_result(span, word->count, word->tokens);
        if (word->n > ST_CACHED_BYTES || word->count > ST_CACHED_IDS)
            continue;
        st_cache_entry *entry = cache_entry(w, span);
        entry->length = (uint8_t)word->n;
        entry->count = (uint8_t)word->count;
        entry->tag = (uint16_t)span->hash;
        memcpy(entry->bytes, word->text, word->n);
        memcpy(entry->ids, word->tokens, sizeof entry->ids); /* the word has room for that many */
    }
}

/* most: no more ids than this come from the spans that were encoded in the batch. */
static st_status emit(st_vocab *v, st_workspace *w, const batch *b, size_t n, size_t most, st_ids *out)
{
    most += ST_CACHED_IDS; /* copies of fixed size reach so far beyond the end */
    if (st_ids_reserve(out, most))
        return ST_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        const st_span *span = &w->spans[i];
        if (span->count == 1) {
            out->data[out->size++] = span->id;
        } else if (span->count && span->count <= ST_CACHED_IDS) { /* most often; a fixed size is copied without a call */
            memcpy(out->data + out->size, &w->span_ids[span->id], ST_CACHED_IDS * sizeof *out->data);
            out->size += span->count;
        } else if (span->count) {
            memcpy(out->data + out->size, &w->span_ids[span->id], span->count * sizeof *out->data);
            out->size += span->count;
        } else if (st_encode_span(v, w, ST_ENGINE_FAST, b->text + span->start, span->end - span->start, 0, out) ||
                   st_ids_reserve(out, most)) {
            return ST_NO_MEMORY;
        }
    }
    return ST_OK;
}

static st_status encode_batch(st_vocab *v, st_workspace *w, batch *b, st_ids *out)
{
    while (b->piece < b->count) {
        size_t n = collect_spans(b, v, w->spans);
        prepare(v, w, b, n);
        size_t misses = look_up(v, w, b, n), used = 0;
        if (misses)
            merge_words(v, w, ask_cache(w, b, misses, &used));
        if (emit(v, w, b, n, n - misses + used, out))
            return ST_NO_MEMORY;
    }
    return ST_OK;
}

st_status st_encode_pieces(st_vocab *v, st_workspace *w, st_engine engine, const uint8_t *text, size_t size,
                           const uint64_t *ends, size_t count, st_ids *out)
{
    if (engine == ST_ENGINE_FAST) {
        batch b = {text, size, ends, count, 0, 0, 0};
        return encode_batch(v, w, &b, out);
    }
    size_t start = 0;
    for (size_t i = 0; i < count; i++) {
        if (st_encode_span(v, w, engine, text + start, (size_t)ends[i] - start, 1, out))
            return ST_NO_MEMORY;
        start = (size_t)ends[i];
    }
    return ST_OK;
}
