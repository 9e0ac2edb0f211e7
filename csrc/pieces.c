#include "pieces.h"

#include "cuts.h"
#include "hash.h"
#include "prefetch.h"

/* Pieces up to this size are not cut: the tables and the cache hold them whole. */
#define CUT_FROM (ST_KEY_BYTES + 1)

static const st_piece_entry *find_entry(const st_vocab *v, st_key key, uint64_t slot)
{
    for (;; slot = (slot + 1) & v->piece_mask) {
        const st_piece_entry *entry = &v->pieces[slot];
        if (entry->key.low == key.low && entry->key.high == key.high)
            return entry;
        if (!entry->key.high)
            return NULL;
    }
}

static void to_ids(const st_vocab *v, const uint32_t *tokens, size_t count, uint32_t *ids)
{
    for (size_t i = 0; i < count; i++)
        ids[i] = v->ids[tokens[i]];
}

static st_status merge_long(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    size_t before = out->size;
    st_long_piece_begin(&w->long_piece, 1);
    st_status status = st_long_piece_push(&w->long_piece, v, w->memo, text, n, out);
    if (!status)
        status = st_long_piece_finish(&w->long_piece, v, out);
    if (status)
        out->size = before;
    return status;
}

/* Merging alone; short results are remembered. */
static st_status merge_span(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, uint64_t hash, st_ids *out)
{
    if (n > ST_SHORT_MERGE)
        return merge_long(v, w, text, n, out);
    if (st_ids_reserve(out, n))
        return ST_NO_MEMORY;
    size_t count = st_merge_short(&v->pairs, text, n, w->tokens);
    uint32_t *ids = out->data + out->size;
    to_ids(v, w->tokens, count, ids);
    out->size += count;
    if (n <= ST_CACHED_BYTES && count <= ST_CACHED_IDS) {
        st_cache_entry *entry = &w->cache[hash >> (64 - ST_CACHE_BITS)];
        entry->length = (uint8_t)n;
        entry->count = (uint8_t)count;
        entry->tag = (uint16_t)hash;
        memcpy(entry->bytes, text, n);
        memcpy(entry->ids, ids, count * sizeof *ids);
    }
    return ST_OK;
}

/* The cache, then merging. What the cache holds is always a merge result, so it serves pieces and atoms alike. */
static st_status cached_span(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, uint64_t hash, st_ids *out)
{
    if (n <= ST_CACHED_BYTES) {
        const st_cache_entry *entry = &w->cache[hash >> (64 - ST_CACHE_BITS)];
        if (entry->length == n && entry->tag == (uint16_t)hash && !memcmp(entry->bytes, text, n)) {
            if (st_ids_reserve(out, ST_CACHED_IDS))
                return ST_NO_MEMORY;
            memcpy(out->data + out->size, entry->ids, sizeof entry->ids);
            out->size += entry->count;
            return ST_OK;
        }
    }
    return merge_span(v, w, text, n, hash, out);
}

/* One atom: its table entry counts only if merging gives it, since an unreachable token occurs as a whole piece only. */
static st_status encode_atom(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    if (n > ST_KEY_BYTES)
        return cached_span(v, w, text, n, st_hash_bytes(text, n), out);
    st_key key = st_key_of(text, n);
    uint64_t hash = st_hash_key(key);
    const st_piece_entry *entry = find_entry(v, key, hash >> v->piece_shift);
    if (!entry || !entry->reachable)
        return cached_span(v, w, text, n, hash, out);
    if (st_ids_reserve(out, 1))
        return ST_NO_MEMORY;
    out->data[out->size++] = entry->id;
    return ST_OK;
}

static st_status encode_atoms(st_vocab *v, st_workspace *w, const st_cuts *cuts, const uint8_t *text, size_t n,
                              st_ids *out)
{
    for (size_t from = 0, to; from < n; from = to) {
        to = st_cuts_next(cuts, text, from, n);
        if (encode_atom(v, w, text + from, to - from, out))
            return ST_NO_MEMORY;
    }
    return ST_OK;
}

static int has_high_bytes(const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] >= 0x80)
            return 1;
    return 0;
}

/* A piece too long for the piece table. */
static st_status encode_long(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, st_ids *out)
{
    uint32_t token = st_vocab_find(v, text, n);
    if (token != ST_NONE) {
        if (st_ids_reserve(out, 1))
            return ST_NO_MEMORY;
        out->data[out->size++] = v->ids[token];
        return ST_OK;
    }
    const st_cuts *cuts = has_high_bytes(text, n) ? st_vocab_cuts(v) : NULL;
    if (cuts)
        return encode_atoms(v, w, cuts, text, n, out);
    return cached_span(v, w, text, n, st_hash_bytes(text, n), out);
}

static st_status encode_reference(st_vocab *v, st_workspace *w, const uint8_t *text, size_t n, int whole, st_ids *out)
{
    uint32_t token = whole ? st_vocab_find(v, text, n) : ST_NONE;
    if (token != ST_NONE) {
        if (st_ids_reserve(out, 1))
            return ST_NO_MEMORY;
        out->data[out->size++] = v->ids[token];
        return ST_OK;
    }
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
    if (engine == ST_ENGINE_REFERENCE)
        return encode_reference(v, w, text, n, whole, out);
    if (whole) {
        uint32_t token = st_vocab_find(v, text, n);
        if (token != ST_NONE) {
            if (st_ids_reserve(out, 1))
                return ST_NO_MEMORY;
            out->data[out->size++] = v->ids[token];
            return ST_OK;
        }
    }
    return encode_atom(v, w, text, n, out);
}

/* Keys of the batch's short pieces, and their table slots on the way into the cache. */
static void prepare_keys(const st_vocab *v, st_workspace *w, const uint8_t *text, size_t size, size_t start,
                         const uint64_t *ends, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = (size_t)ends[i] - start;
        if (n <= ST_KEY_BYTES) {
            st_key key = start + 16 <= size ? st_key_of_padded(text + start, n) : st_key_of(text + start, n);
            w->keys[i] = key;
            w->slots[i] = st_hash_key(key);
            st_prefetch(&v->pieces[w->slots[i] >> v->piece_shift]);
        }
        start = (size_t)ends[i];
    }
}

static st_status encode_batch(st_vocab *v, st_workspace *w, const uint8_t *text, size_t size, size_t start,
                              const uint64_t *ends, size_t count, st_ids *out)
{
    prepare_keys(v, w, text, size, start, ends, count);
    for (size_t i = 0; i < count; i++) {
        size_t n = (size_t)ends[i] - start;
        st_status status = ST_OK;
        if (n > ST_KEY_BYTES) {
            status = encode_long(v, w, text + start, n, out);
        } else {
            uint64_t hash = w->slots[i];
            const st_piece_entry *entry = find_entry(v, w->keys[i], hash >> v->piece_shift);
            if (!entry)
                status = cached_span(v, w, text + start, n, hash, out);
            else if (out->size < out->capacity || !(status = st_ids_reserve(out, count)))
                out->data[out->size++] = entry->id;
        }
        if (status)
            return status;
        start = (size_t)ends[i];
    }
    return ST_OK;
}

st_status st_encode_pieces(st_vocab *v, st_workspace *w, st_engine engine, const uint8_t *text, size_t size,
                           size_t start, const uint64_t *ends, size_t count, st_ids *out)
{
    if (engine == ST_ENGINE_FAST)
        return encode_batch(v, w, text, size, start, ends, count, out);
    for (size_t i = 0; i < count; i++) {
        if (encode_reference(v, w, text + start, (size_t)ends[i] - start, 1, out))
            return ST_NO_MEMORY;
        start = (size_t)ends[i];
    }
    return ST_OK;
}
