/* Looks at every array of an image that may come from anybody. What holds afterwards is what the rest of the core rests on: a token's
 * bytes, its id and its halves are there, each table holds tokens of the vocabulary and ends a search, and no number points outside.
 * Whether the ids are those of any model, nobody can tell. */
#include "image/image.h"

#include <string.h>

#include "base/alloc.h"
#include "base/prefetch.h"
#include "base/utf8.h"

/* ---- tokens ---- */

static int starts_are_sound(const st_vocab *v, size_t bytes)
{
    uint32_t longest = 0;
    if (!v->count || v->starts[0] || v->starts[v->count] != bytes || bytes > ST_MAX_TOTAL_BYTES)
        return 0;
    for (uint32_t i = 0; i < v->count; i++) {
        if (v->starts[i + 1] <= v->starts[i] || v->starts[i + 1] > bytes || st_token_length(v, i) > ST_MAX_TOKEN_BYTES)
            return 0;
        longest = st_token_length(v, i) > longest ? (uint32_t)st_token_length(v, i) : longest;
    }
    return longest == v->max_length;
}

static int ids_are_sound(const st_vocab *v)
{
    const uint32_t *sorted = v->sorted_ids ? v->sorted_ids : v->ids;
    for (uint32_t i = 0; i < v->count; i++) {
        if (i && sorted[i - 1] >= sorted[i])
            return 0;
        if (v->by_id && (v->by_id[i] >= v->count || v->ids[v->by_id[i]] != sorted[i]))
            return 0;
    }
    return sorted[0] < ST_FIRST_FRAGMENT;
}

/* Whether the two halves of a token are tokens, and have its bytes. */
static int is_joined(const st_vocab *v, uint32_t i)
{
    const uint32_t left = v->left[i], right = v->right[i];
    if (left >= v->count || right >= v->count)
        return 0;
    const size_t n = st_token_length(v, left), m = st_token_length(v, right);
    return n + m == st_token_length(v, i) && !memcmp(st_token_bytes(v, i), st_token_bytes(v, left), n) &&
           !memcmp(st_token_bytes(v, i) + n, st_token_bytes(v, right), m);
}

#define AHEAD 24 /* tokens: their halves lie anywhere */

static void expect_halves(const st_vocab *v, uint32_t i)
{
    if (i < v->count && v->left[i] < v->count && v->right[i] < v->count) {
        st_prefetch(st_token_bytes(v, v->left[i]));
        st_prefetch(st_token_bytes(v, v->right[i]));
    }
}

static int is_later(const st_vocab *v, uint32_t part, uint32_t i)
{
    return part >= i && st_token_length(v, part) > 1;
}

static int halves_are_sound(const st_vocab *v)
{
    const int merges = st_vocab_has(v, ST_MODEL_MERGES);
    int monotone = 1;
    for (uint32_t i = 0; i < v->count; i++) {
        const uint32_t left = v->left[i], right = v->right[i];
        if (left == ST_NONE || !merges) {
            if ((left != ST_NONE && left != i) || (right != ST_NONE && right != ST_NO_TOKEN) || (left == i && right != ST_NONE))
                return 0;
            continue;
        }
        expect_halves(v, i + AHEAD);
        if (!is_joined(v, i))
            return 0;
        monotone &= !is_later(v, left, i) && !is_later(v, right, i);
    }
    return monotone == v->monotone && st_vocab_count_unreachable(v) == v->unreachable;
}

int st_image_tokens_are_sound(const st_vocab *v, size_t bytes)
{
    if (v->identity > 1 || v->monotone > 1 || (v->own_size && !v->model->accepts))
        return 0;
    return starts_are_sound(v, bytes) && ids_are_sound(v) && halves_are_sound(v) && (!v->model->accepts || v->model->accepts(v));
}

/* ---- tables are read from their beginning to their end, which is faster than to look for each token ---- */

/* A bit for each token that a table has. */
typedef struct seen {
    uint64_t *bits;
} seen;

/* 0: it was seen before. */
static int see(seen *s, uint32_t token)
{
    const uint64_t bit = UINT64_C(1) << token % 64;
    const int is_new = !(s->bits[token / 64] & bit);
    s->bits[token / 64] |= bit;
    return is_new;
}

static int is_seen(const seen *s, uint32_t token)
{
    return (int)(s->bits[token / 64] >> token % 64 & 1);
}

/* ---- pairs ---- */

static int is_pair(const st_vocab *v, uint64_t left, uint64_t right, uint32_t merged)
{
    return merged < v->count && left < v->count && v->left[merged] == left && v->right[merged] == right;
}

static int bytes_are_sound(const st_vocab *v)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        const uint32_t token = v->pairs.byte_token[byte];
        if (token == ST_NONE ? st_vocab_has(v, ST_MODEL_HAS_BYTES)
                             : token >= v->count || st_token_length(v, token) != 1 || *st_token_bytes(v, token) != byte)
            return 0;
    }
    return 1;
}

static int dense_is_sound(const st_vocab *v)
{
    const uint64_t side = v->pairs.dense_side;
    for (uint64_t i = 0; i < side * side; i++)
        if (v->pairs.dense[i] && !is_pair(v, i / side, i % side, v->pairs.dense[i] - 1))
            return 0;
    return 1;
}

/* Whether a search that begins at bucket `from` comes to bucket `to`. */
static int leads_to_bucket(const st_pairs *pairs, uint64_t from, uint64_t to)
{
    for (; from != to; from = (from + 1) & pairs->mask)
        if (!(pairs->slots[ST_BUCKET * from] & ST_OVERFLOWED))
            return 0;
    return 1;
}

static int buckets_are_sound(const st_vocab *v, seen *s)
{
    const st_pairs *pairs = &v->pairs;
    int ends = 0; /* whether a search ends at some bucket */
    for (uint64_t i = 0; i <= pairs->mask; i++)
        ends |= !(pairs->slots[ST_BUCKET * i] & ST_OVERFLOWED);
    for (uint64_t i = 0; ends && i < ST_BUCKET * (pairs->mask + 1); i++) {
        const uint64_t slot = pairs->slots[i] & ~ST_OVERFLOWED;
        if (slot == ST_EMPTY_SLOT)
            continue;
        const uint64_t left = slot >> (2 * ST_INDEX_BITS + 1), right = slot >> (ST_INDEX_BITS + 1) & ST_MAX_TOKENS;
        const uint32_t merged = (uint32_t)(slot & ST_SLOT_MERGED) - 1;
        const uint64_t *home = st_pair_bucket(pairs, st_pair_key((uint32_t)left, (uint32_t)right));
        if (!is_pair(v, left, right, merged) || !see(s, merged) ||
            !leads_to_bucket(pairs, (uint64_t)(home - pairs->slots) / ST_BUCKET, i / ST_BUCKET))
            return 0;
    }
    return ends;
}

static int pairs_are_there(const st_vocab *v, const seen *s)
{
    const uint32_t side = v->pairs.dense_side;
    for (uint32_t i = 0; st_vocab_has(v, ST_MODEL_MERGES) && i < v->count; i++) {
        const uint32_t left = v->left[i], right = v->right[i];
        if (left != ST_NONE && (!is_seen(s, i) || (left < side && right < side && v->pairs.dense[(size_t)left * side + right] != i + 1)))
            return 0;
    }
    return 1;
}

/* ---- pieces ---- */

static size_t key_size(st_key key)
{
    return key.high >> 56 & 15;
}

/* Whether a token has the bytes of a key. */
static int has_key(const st_vocab *v, uint32_t token, st_key key)
{
    uint8_t bytes[16];
    memcpy(bytes, &key.low, 8);
    memcpy(bytes + 8, &key.high, 8);
    return st_token_length(v, token) == key_size(key) && !memcmp(bytes, st_token_bytes(v, token), key_size(key));
}

/* Whether the ids of an entry are those of tokens, which, where tokens have the bytes of their piece, are as long as it. */
static int has_tokens(const st_vocab *v, st_key key, const uint32_t *ids, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t token = st_vocab_index(v, ids[i]);
        if (token == ST_NONE)
            return 0;
        at += st_token_length(v, token);
    }
    return key_size(key) && (at == key_size(key) || !st_vocab_has(v, ST_MODEL_KEEPS_BYTES));
}

/* Whether a search for the key of an entry comes to its line. */
static int leads_to_line(const st_piece_table *table, st_key key, uint64_t line)
{
    key.high = key.high << 4 >> 4; /* without what an entry has besides */
    for (uint64_t from = st_piece_line(table, key); from != line; from = (from + 1) & table->mask)
        if (!st_line_overflowed(&table->entries[2 * from]))
            return 0;
    return 1;
}

/* An entry of a piece that is one token. */
static int is_token_entry(const st_vocab *v, const st_piece_entry *entry, uint64_t line, seen *s)
{
    const uint32_t token = st_vocab_index(v, entry->ids[0]);
    if (token == ST_NONE || !leads_to_line(&v->pieces, entry->key, line))
        return 0;
    if (!has_key(v, token, entry->key))
        return !st_vocab_has(v, ST_MODEL_KEEPS_BYTES);
    return see(s, token);
}

static int entry_is_sound(const st_vocab *v, const st_piece_entry *entry, uint64_t line, seen *s)
{
    const uint32_t count = st_piece_count(entry), at = entry->ids[0], more = entry->ids[1];
    if (!count)
        return !entry->key.low && !(entry->key.high << 1);
    if (count == 1)
        return key_size(entry->key) && is_token_entry(v, entry, line, s);
    if (count < ST_MORE_IDS)
        return has_tokens(v, entry->key, entry->ids, count);
    return count == ST_MORE_IDS && at <= v->pieces.more.size && more <= v->pieces.more.size - at && more > ST_INLINE_IDS &&
           has_tokens(v, entry->key, v->pieces.more.data + at, more);
}

static void expect_token(const st_vocab *v, const st_piece_entry *entry)
{
    const uint32_t token = v->identity && st_piece_count(entry) == 1 ? entry->ids[0] : ST_NONE;
    if (token < v->count)
        st_prefetch(st_token_bytes(v, token));
}

static int pieces_are_sound(const st_vocab *v, seen *s)
{
    const st_piece_table *table = &v->pieces;
    const uint64_t count = 2 * (table->mask + 1);
    int ends = 0;
    for (uint64_t i = 0; i < count; i += 2)
        ends |= !st_line_overflowed(&table->entries[i]);
    for (uint64_t i = 0; ends && i < count; i++) {
        expect_token(v, &table->entries[i + AHEAD < count ? i + AHEAD : i]);
        if (!entry_is_sound(v, &table->entries[i], i / 2, s))
            return 0;
    }
    return ends;
}

static int longs_are_sound(const st_vocab *v)
{
    int ends = 0;
    for (uint64_t i = 0; i <= v->longs.mask; i++) {
        ends |= v->longs.slots[i] == UINT64_MAX;
        if (v->longs.slots[i] != UINT64_MAX && (uint32_t)v->longs.slots[i] >= v->count)
            return 0;
    }
    return ends && !(v->longs.mask & (v->longs.mask + 1));
}

static int tokens_are_there(const st_vocab *v, const seen *s)
{
    for (uint32_t i = 0; i < v->count; i++) {
        if (st_token_is_silent(v, i) || st_token_is_apart(v, i) || v->ids[i] >= ST_FIRST_FRAGMENT)
            continue;
        const size_t n = st_token_length(v, i);
        if (n <= ST_KEY_BYTES ? !is_seen(s, i) : st_vocab_find_reachable(v, st_token_bytes(v, i), n) != i)
            return 0;
    }
    return 1;
}

/* ---- cuts ---- */

static int cuts_are_sound(const st_vocab *v, const st_cut_tables *cuts)
{
    if (cuts->pair_shift < 32 - ST_CUT_BITS || cuts->pair_shift > 31 || cuts->partial_shift < 32 - ST_CUT_BITS ||
        cuts->partial_shift > 31)
        return 0;
    for (uint32_t point = 0; point < 1u << 16; point++) {
        const uint32_t token = cuts->characters[point];
        uint8_t bytes[4];
        if (token == ST_NONE)
            continue;
        const size_t n = st_utf8_write(bytes, point);
        if (token >= v->count || st_token_length(v, token) != n || memcmp(st_token_bytes(v, token), bytes, n) ||
            !st_token_reachable(v, token))
            return 0;
    }
    return 1;
}

st_status st_image_check_tables(const st_vocab *v, const st_cut_tables *cuts)
{
    const size_t words = v->count / 64 + 1;
    uint64_t *bits = st_calloc(2 * words, sizeof *bits);
    if (!bits)
        return ST_NO_MEMORY;
    seen pairs = {bits}, pieces = {bits + words};
    const int sound = bytes_are_sound(v) && dense_is_sound(v) && buckets_are_sound(v, &pairs) && pairs_are_there(v, &pairs) &&
                      pieces_are_sound(v, &pieces) && longs_are_sound(v) && tokens_are_there(v, &pieces) && cuts_are_sound(v, cuts);
    st_free(bits);
    return sound ? ST_OK : ST_BAD_IMAGE;
}
