#include "vocab/vocab.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/prefetch.h"
#include "base/search.h"
#include "base/sort.h"
#include "pairs/merge_reference.h"
#include "pairs/merge_short.h"

/* Bytes behind the tokens that can be read, so that a key of each is read at once. */
#define KEY_ROOM 16

static st_status allocate(st_vocab *v, const st_vocab_source *source, uint32_t dense_side)
{
    size_t n = source->count, total = 0, longs = 0;
    for (size_t i = 0; i < n; i++) {
        total += source->lengths[i];
        longs += source->lengths[i] > ST_KEY_BYTES;
    }
    if (total > ST_MAX_TOTAL_BYTES)
        return ST_TOKEN_TOO_LONG;
    v->count = (uint32_t)n;
    v->bytes = st_malloc(total + KEY_ROOM);
    v->starts = st_malloc((n + 1) * sizeof *v->starts);
    v->ids = st_malloc((n + ST_INLINE_IDS) * sizeof *v->ids); /* room to read ST_INLINE_IDS at the last one, too */
    v->left = st_malloc(n * sizeof *v->left);
    v->right = st_malloc(n * sizeof *v->right);
    if (!v->bytes || !v->starts || !v->ids || !v->left || !v->right)
        return ST_NO_MEMORY;
    ST_TRY(st_string_table_init(&v->longs, 2 * longs));
    ST_TRY(st_piece_table_init(&v->pieces, v->piece_room = n - longs + source->words));
    ST_TRY(st_pairs_init(&v->pairs, st_vocab_has(v, ST_MODEL_MERGES) ? n : 0, dense_side));
    v->own_size = source->own_size;
    if (!v->own_size)
        return ST_OK;
    v->own = st_malloc(v->own_size);
    if (v->own)
        memcpy((void *)(uintptr_t)v->own, source->own, v->own_size);
    return v->own ? ST_OK : ST_NO_MEMORY;
}

/* Tables are filled at random places, so the cache line of a token is prefetched so many tokens before its turn. */
#define TOKENS_AHEAD 16

/* Work of entering a token, in the unit of st_go_on (base/interrupt.h). */
#define TOKEN_COSTS 64

/* bytes: in v->bytes. */
static void expect_token(const st_vocab *v, const uint8_t *bytes, size_t n)
{
    if (n <= ST_KEY_BYTES)
        st_prefetch(&v->pieces.entries[2 * st_piece_line(&v->pieces, st_key_of_padded(bytes, n))]);
    else
        st_string_expect(&v->longs, st_hash_bytes(bytes, n));
}

/* Enters a token with its index in place of its id, for the time in which its parts are looked for. */
static st_status insert_token(st_vocab *v, uint32_t index)
{
    const uint8_t *bytes = st_token_bytes(v, index);
    size_t n = st_token_length(v, index);
    if (n > ST_KEY_BYTES) {
        const uint64_t hash = st_hash_bytes(bytes, n);
        uint64_t *slot = st_string_slot(&v->longs, v->bytes, v->starts, hash, bytes, n);
        if (*slot != UINT64_MAX)
            return ST_DUPLICATE_TOKEN;
        *slot = st_string_entry(hash, index);
        return ST_OK;
    }
    st_key key = st_key_of_padded(bytes, n);
    if (st_piece_find(&v->pieces, key, st_piece_line(&v->pieces, key)))
        return ST_DUPLICATE_TOKEN;
    ST_TRY(st_piece_table_add(&v->pieces, key, &index, 1));
    if (n == 1)
        v->pairs.byte_token[bytes[0]] = index;
    return ST_OK;
}

static st_status sort_ids(st_vocab *v, size_t *bad)
{
    const size_t n = v->count;
    v->sorted_ids = st_malloc(n * sizeof *v->sorted_ids);
    v->by_id = st_malloc(n * sizeof *v->by_id);
    if (!v->sorted_ids || !v->by_id)
        return ST_NO_MEMORY;
    ST_TRY(st_sort_by_key(v->by_id, v->ids, n));
    for (size_t i = 0; i < n; i++) {
        v->sorted_ids[i] = v->ids[*bad = v->by_id[i]];
        if (i && v->sorted_ids[i] == v->sorted_ids[i - 1])
            return ST_UNSORTED_RANKS;
    }
    return ST_OK;
}

/* Copies the tokens, and works out what their ids are like. */
static st_status copy_tokens(st_vocab *v, const st_vocab_source *source, int *ascending, size_t *bad)
{
    size_t at = 0;
    *ascending = v->identity = 1;
    for (uint32_t i = 0; i < v->count; i++) {
        const uint32_t n = source->lengths[i];
        *bad = i;
        if (n == 0)
            return ST_EMPTY_TOKEN;
        if (n > ST_MAX_TOKEN_BYTES)
            return ST_TOKEN_TOO_LONG;
        *ascending &= i == 0 || source->ids[i - 1] < source->ids[i];
        if (!*ascending && !source->any_order)
            return ST_UNSORTED_RANKS;
        v->starts[i] = (uint32_t)at;
        at += n;
        v->ids[i] = source->ids[i];
        v->identity &= v->ids[i] == i;
        v->max_length = n > v->max_length ? n : v->max_length;
    }
    v->starts[v->count] = (uint32_t)at;
    if (at)
        memcpy(v->bytes, source->bytes, at);
    memset(v->bytes + at, 0, KEY_ROOM);
    return ST_OK;
}

/* Whether a stored split says that no merge makes the token: it is silent, or found as a whole piece. */
static int is_unmade(const st_vocab *v, const st_vocab_source *source, uint32_t i)
{
    return source->splits &&
           (source->splits[i] == ST_SILENT || (st_vocab_has(v, ST_MODEL_MERGES) && !source->splits[i] && st_token_length(v, i) > 1));
}

static st_status enter_tokens(st_vocab *v, const st_vocab_source *source, size_t *bad)
{
    for (uint32_t i = 0, ahead = 0; i < v->count; i++) {
        *bad = i;
        for (; ahead < v->count && ahead <= i + TOKENS_AHEAD; ahead++)
            expect_token(v, st_token_bytes(v, ahead), st_token_length(v, ahead));
        if (!is_unmade(v, source, i))
            ST_TRY(insert_token(v, i));
        ST_TRY(st_go_on(TOKEN_COSTS));
    }
    return ST_OK;
}

static st_status fill(st_vocab *v, const st_vocab_source *source, size_t *bad)
{
    int ascending;
    ST_TRY(copy_tokens(v, source, &ascending, bad));
    ST_TRY(enter_tokens(v, source, bad));
    if (!ascending)
        ST_TRY(sort_ids(v, bad));
    for (size_t byte = 0; byte < 256 && st_vocab_has(v, ST_MODEL_HAS_BYTES); byte++)
        if (v->pairs.byte_token[byte] == ST_NONE) {
            *bad = byte;
            return ST_MISSING_BYTE;
        }
    return ST_OK;
}

/* Puts the ids in the place of indices. */
static void enter_ids(st_vocab *v)
{
    const size_t entries = 2 * ((size_t)v->pieces.mask + 1);
    for (size_t i = 0; i < entries && !v->identity; i++)
        if (st_piece_count(&v->pieces.entries[i]))
            v->pieces.entries[i].ids[0] = v->ids[v->pieces.entries[i].ids[0]];
}

static uint32_t find_long(const st_vocab *v, const uint8_t *bytes, size_t n)
{
    return st_string_find(&v->longs, v->bytes, v->starts, st_hash_bytes(bytes, n), bytes, n);
}

/* The index of the inserted token with these bytes, which lie in v->bytes, or ST_NONE. */
static uint32_t find_inserted(const st_vocab *v, const uint8_t *bytes, size_t n)
{
    if (n > ST_KEY_BYTES)
        return find_long(v, bytes, n);
    const st_key key = st_key_of_padded(bytes, n);
    const st_piece_entry *entry = st_piece_find(&v->pieces, key, st_piece_line(&v->pieces, key));
    return entry ? entry->ids[0] : ST_NONE;
}

static void set_pair(st_vocab *v, uint32_t index, uint32_t left, uint32_t right)
{
    v->left[index] = left;
    v->right[index] = right;
    st_pairs_insert(&v->pairs, left, right, index);
    /* A single byte exists from the start, whatever its rank. */
    if ((left >= index && st_token_length(v, left) > 1) || (right >= index && st_token_length(v, right) > 1))
        v->monotone = 0;
}

/* The two halves of token i by its stored split; both ST_NONE if it has none. */
static st_status stored_halves(const st_vocab *v, const uint32_t *splits, uint32_t i, uint32_t *left, uint32_t *right)
{
    const uint8_t *bytes = st_token_bytes(v, i);
    size_t n = st_token_length(v, i);
    *left = *right = ST_NONE;
    if (splits[i] == ST_SILENT)
        *right = ST_NO_TOKEN;
    if (n == 1 || splits[i] == 0 || splits[i] == ST_SILENT)
        return ST_OK;
    if (splits[i] >= n)
        return ST_BAD_SPLIT;
    *left = find_inserted(v, bytes, splits[i]);
    *right = find_inserted(v, bytes + splits[i], n - splits[i]);
    return *left == ST_NONE || *right == ST_NONE ? ST_BAD_SPLIT : ST_OK;
}

static void expect_halves(const st_vocab *v, const uint32_t *splits, uint32_t i)
{
    size_t n = st_token_length(v, i);
    if (i >= v->count || splits[i] == 0 || splits[i] >= n)
        return;
    expect_token(v, st_token_bytes(v, i), splits[i]);
    expect_token(v, st_token_bytes(v, i) + splits[i], n - splits[i]);
}

/* Pairs from stored splits: two look-ups a token, then one place in the pair table. */
static st_status link_stored(st_vocab *v, const uint32_t *splits, size_t *bad)
{
    for (uint32_t i = 0; i < v->count; i++) {
        *bad = i;
        ST_TRY(st_go_on(TOKEN_COSTS));
        if (i + TOKENS_AHEAD < v->count)
            expect_halves(v, splits, i + TOKENS_AHEAD);
        ST_TRY(stored_halves(v, splits, i, &v->left[i], &v->right[i]));
    }
    for (uint32_t i = 0; i < v->count; i++) {
        *bad = i;
        ST_TRY(st_go_on(TOKEN_COSTS));
        uint32_t ahead = i + TOKENS_AHEAD;
        if (ahead < v->count && v->left[ahead] != ST_NONE)
            st_prefetch(st_pairs_place(&v->pairs, v->left[ahead], v->right[ahead]));
        if (v->left[i] == ST_NONE)
            continue;
        if (st_pairs_find(&v->pairs, v->left[i], v->right[i]) != ST_NONE)
            return ST_BAD_SPLIT;
        set_pair(v, i, v->left[i], v->right[i]);
    }
    return ST_OK;
}

static st_status merge_token(const st_vocab *v, uint32_t index, st_reference_scratch *scratch, st_ids *parts)
{
    const uint8_t *bytes = st_token_bytes(v, index);
    size_t n = st_token_length(v, index);
    parts->size = 0;
    if (n > ST_SHORT_MERGE)
        return st_reference_merge(&v->pairs, bytes, n, scratch, parts);
    parts->size = st_merge_short(&v->pairs, bytes, n, parts->data);
    return ST_OK;
}

/* Work of merging a byte of a token, in the unit of st_go_on. */
#define MERGED_BYTE_COSTS 16

/* Finds pairs by merging each token's bytes, the shortest first. Merging a token's bytes makes only shorter tokens before its last
 * merge. So when the pairs of all shorter tokens are known, and no others, merging stops at the two parts of its last merge. All
 * tokens of one length are merged before their pairs are entered, so that none of them takes part in merging another. A token that
 * does not give two parts is unreachable. */
static st_status link_merged(st_vocab *v, const uint32_t *order, st_reference_scratch *scratch, st_ids *parts)
{
    for (uint32_t first = 0, end; first < v->count; first = end) {
        size_t n = st_token_length(v, order[first]);
        for (end = first; end < v->count && st_token_length(v, order[end]) == n; end++) {
            uint32_t index = order[end];
            v->left[index] = v->right[index] = ST_NONE;
            ST_TRY(st_go_on(TOKEN_COSTS + n * MERGED_BYTE_COSTS));
            if (n > 1)
                ST_TRY(merge_token(v, index, scratch, parts));
            if (n > 1 && parts->size == 2) {
                v->left[index] = parts->data[0];
                v->right[index] = parts->data[1];
            }
        }
        for (uint32_t i = first; i < end; i++)
            if (v->left[order[i]] != ST_NONE)
                set_pair(v, order[i], v->left[order[i]], v->right[order[i]]);
    }
    return ST_OK;
}

static st_status link_by_merging(st_vocab *v, const uint32_t *lengths)
{
    uint32_t *order = st_malloc(v->count * sizeof *order);
    st_reference_scratch scratch = {0};
    st_ids parts = {0};
    if (!order)
        return ST_NO_MEMORY;
    st_status status = st_sort_by_key(order, lengths, v->count);
    if (!status)
        status = st_ids_reserve(&parts, ST_SHORT_MERGE);
    if (!status)
        status = link_merged(v, order, &scratch, &parts);
    st_ids_free(&parts);
    st_reference_scratch_free(&scratch);
    st_free(order);
    return status;
}

/* Marks the tokens as unreachable that the model makes something else of. */
static st_status find_unkept(st_vocab *v, void *scratch, const int8_t *kept, st_ids *ids)
{
    for (uint32_t i = 0; i < v->count; i++) {
        const size_t n = st_token_length(v, i);
        if (!kept[i])
            v->left[i] = ST_NONE;
        if (st_token_is_silent(v, i) || kept[i] >= 0)
            continue;
        ids->size = 0;
        ST_TRY(v->model->whole(v, scratch, st_token_bytes(v, i), n, ids));
        if (ids->size != 1 || ids->data[0] != v->ids[i])
            v->left[i] = ST_NONE;
        ST_TRY(st_go_on(TOKEN_COSTS + n * MERGED_BYTE_COSTS));
    }
    return ST_OK;
}

static st_status try_tokens(st_vocab *v)
{
    void *scratch = st_calloc(1, v->model->scratch + 1);
    int8_t *kept = st_malloc(v->count + 1);
    st_ids ids = {0};
    st_status status = scratch && kept ? ST_OK : ST_NO_MEMORY;
    if (!status) {
        memset(kept, -1, v->count);
        status = v->model->keeps ? v->model->keeps(v, kept) : ST_OK;
    }
    if (!status)
        status = find_unkept(v, scratch, kept, &ids);
    st_free(kept);
    if (scratch && v->model->release)
        v->model->release(scratch);
    st_free(scratch);
    st_ids_free(&ids);
    return status;
}

/* Nothing merges: each token stands for itself, unless it is silent. */
static void link_none(st_vocab *v, const st_vocab_source *source)
{
    for (uint32_t i = 0; i < v->count; i++) {
        const int silent = source->splits && source->splits[i] == ST_SILENT;
        v->left[i] = silent ? ST_NONE : i;
        v->right[i] = silent ? ST_NO_TOKEN : ST_NONE;
    }
}

static st_status link_tokens(st_vocab *v, const st_vocab_source *source, size_t *bad)
{
    if (v->model->accepts && !v->model->accepts(v))
        return ST_BAD_SPLIT;
    if (!st_vocab_has(v, ST_MODEL_MERGES)) {
        link_none(v, source);
        return st_vocab_has(v, ST_MODEL_KEEPS_TOKENS) ? ST_OK : try_tokens(v);
    }
    return source->splits ? link_stored(v, source->splits, bad) : link_by_merging(v, source->lengths);
}

/* Whether a token is what a model with a rule of its own for symbols (models/symbols.h) makes characters of, and no piece. */
static int is_part_of_symbols(const st_vocab *v, uint32_t index)
{
    return v->own_size && st_vocab_has(v, ST_MODEL_MERGES) && v->ids[index] >= ST_FIRST_FRAGMENT;
}

/* Fills the tables again, without tokens that the model does not make of a piece with their bytes. */
static st_status take_out_unreachable(st_vocab *v)
{
    st_piece_table_free(&v->pieces);
    ST_TRY(st_piece_table_init(&v->pieces, v->piece_room));
    memset(v->longs.slots, 0xff, (v->longs.mask + 1) * sizeof *v->longs.slots);
    for (uint32_t i = 0; i < v->count; i++) {
        if (!st_token_is_apart(v, i) && st_token_reachable(v, i) && !is_part_of_symbols(v, i))
            ST_TRY(insert_token(v, i));
        ST_TRY(st_go_on(TOKEN_COSTS));
    }
    return ST_OK;
}

st_status st_vocab_new(const st_vocab_source *source, uint32_t dense_side, st_vocab **vocab, size_t *bad)
{
    *vocab = NULL;
    *bad = 0;
    if (source->count > ST_MAX_TOKENS)
        return ST_TOO_MANY_TOKENS;
    st_vocab *v = st_calloc(1, sizeof *v);
    if (!v)
        return ST_NO_MEMORY;
    v->monotone = 1;
    v->model = source->model;
    st_status status = allocate(v, source, dense_side);
    if (!status)
        status = fill(v, source, bad);
    if (!status)
        status = link_tokens(v, source, bad);
    if (!status) {
        v->unreachable = st_vocab_count_unreachable(v);
        const int has_rule = v->own_size && st_vocab_has(v, ST_MODEL_MERGES);
        if (has_rule || (v->unreachable && (!source->splits || !st_vocab_has(v, ST_MODEL_MERGES))))
            status = take_out_unreachable(v);
    }
    if (!status) {
        enter_ids(v);
        status = st_vocab_complete(v, bad);
    }
    if (status) {
        st_vocab_free(v);
        return status;
    }
    *vocab = v;
    return ST_OK;
}

static void release(st_attached *attached)
{
    if (attached)
        attached->release(attached);
}

static void free_arrays(st_vocab *v)
{
    st_pairs_free(&v->pairs);
    st_piece_table_free(&v->pieces);
    st_free(v->bytes);
    st_free(v->starts);
    st_free(v->ids);
    st_free(v->sorted_ids);
    st_free(v->by_id);
    st_free(v->left);
    st_free(v->right);
    st_string_table_free(&v->longs);
    st_free((void *)(uintptr_t)v->own);
}

void st_vocab_free(st_vocab *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < ST_POOL_SIZE; i++)
        release(v->pool[i]);
    release(v->machine);
    release(v->cuts);
    release(v->sure_pairs);
    release(v->slots);
    st_string_table_free(&v->whole);
    st_free(v->unsound);
    if (!v->image)
        free_arrays(v);
    else if (v->identity)
        st_free(v->ids);
    st_free(v->own_image);
    st_free(v);
}

uint32_t st_vocab_find_reachable(const st_vocab *v, const uint8_t *bytes, size_t n)
{
    if (n == 0 || n > v->max_length)
        return ST_NONE;
    if (n > ST_KEY_BYTES)
        return find_long(v, bytes, n);
    st_key key = st_key_of(bytes, n);
    const st_piece_entry *entry = st_piece_find(&v->pieces, key, st_piece_line(&v->pieces, key));
    return entry && st_piece_count(entry) == 1 ? st_vocab_index(v, entry->ids[0]) : ST_NONE; /* one id: a token */
}

uint32_t st_vocab_find(const st_vocab *v, const uint8_t *bytes, size_t n)
{
    const uint32_t found = st_vocab_find_reachable(v, bytes, n);
    if (found != ST_NONE || !v->whole.slots || n == 0 || n > v->max_length)
        return found;
    return st_string_find(&v->whole, v->bytes, v->starts, st_hash_span(bytes, n), bytes, n);
}

uint32_t st_vocab_index(const st_vocab *v, uint32_t id)
{
    if (v->identity)
        return id < v->count ? id : ST_NONE;
    const size_t at = st_find_sorted(v->sorted_ids ? v->sorted_ids : v->ids, v->count, id);
    if (at == v->count)
        return ST_NONE;
    return v->by_id ? v->by_id[at] : (uint32_t)at;
}
