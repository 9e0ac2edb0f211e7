/* Looks at every array of an image that may come from anybody. What holds afterwards is what the rest of the core rests on: a token's
 * bytes, its id and its halves are there, each table holds tokens of the vocabulary and ends a search, and no number points outside.
 * Whether the ids are those of any model, nobody can tell. */
#include "image/image.h"

#include <string.h>

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

/* ---- pairs ---- */

static int is_pair(const st_vocab *v, uint64_t left, uint64_t right, uint32_t merged)
{
    return merged < v->count && v->left[merged] == left && v->right[merged] == right && left < v->count;
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

static int buckets_are_sound(const st_vocab *v)
{
    const uint64_t *slots = v->pairs.slots;
    int ends = 0; /* whether a search ends at some bucket */
    for (uint64_t i = 0; i < ST_BUCKET * (v->pairs.mask + 1); i++) {
        const uint64_t slot = slots[i] & ~ST_OVERFLOWED;
        ends |= i % ST_BUCKET == 0 && !(slots[i] & ST_OVERFLOWED);
        if (slot == ST_EMPTY_SLOT)
            continue;
        if (!is_pair(v, slot >> (2 * ST_INDEX_BITS + 1), slot >> (ST_INDEX_BITS + 1) & ST_MAX_TOKENS, (uint32_t)(slot & ST_SLOT_MERGED) - 1))
            return 0;
    }
    return ends;
}

static int pairs_are_found(const st_vocab *v)
{
    for (uint32_t i = 0; st_vocab_has(v, ST_MODEL_MERGES) && i < v->count; i++)
        if (v->left[i] != ST_NONE && st_pairs_find(&v->pairs, v->left[i], v->right[i]) != i)
            return 0;
    return 1;
}

/* ---- pieces ---- */

/* Whether the ids of an entry are those of tokens, and, where tokens have the bytes of their piece, of the tokens of this one. */
static int has_tokens(const st_vocab *v, st_key key, const uint32_t *ids, size_t count)
{
    const int keeps = st_vocab_has(v, ST_MODEL_KEEPS_BYTES);
    uint8_t bytes[16];
    const size_t n = key.high >> 56 & 15;
    size_t at = 0;
    memcpy(bytes, &key.low, 8);
    memcpy(bytes + 8, &key.high, 8);
    for (size_t i = 0; i < count; i++) {
        const uint32_t token = st_vocab_index(v, ids[i]);
        const size_t size = token == ST_NONE ? 0 : st_token_length(v, token);
        if (token == ST_NONE || (keeps && (at + size > n || memcmp(bytes + at, st_token_bytes(v, token), size))))
            return 0;
        at += size;
    }
    return n && (at == n || !keeps);
}

static int pieces_are_sound(const st_vocab *v)
{
    const st_piece_table *table = &v->pieces;
    int ends = 0;
    for (uint64_t i = 0; i < 2 * (table->mask + 1); i++) {
        const st_piece_entry *entry = &table->entries[i];
        const uint32_t count = st_piece_count(entry);
        ends |= i % 2 == 0 && !st_line_overflowed(entry);
        if (!count) {
            if (entry->key.low || entry->key.high << 1)
                return 0;
        } else if (count < ST_MORE_IDS) {
            if (!has_tokens(v, entry->key, entry->ids, count))
                return 0;
        } else {
            const uint32_t at = entry->ids[0], more = entry->ids[1];
            if (count > ST_MORE_IDS || at > table->more.size || more > table->more.size - at || more <= ST_INLINE_IDS ||
                !has_tokens(v, entry->key, table->more.data + at, more))
                return 0;
        }
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

static int tokens_are_found(const st_vocab *v)
{
    for (uint32_t i = 0; i < v->count; i++) {
        if (st_token_is_silent(v, i) || st_token_is_apart(v, i) || v->ids[i] >= ST_FIRST_FRAGMENT)
            continue;
        if (st_vocab_find_reachable(v, st_token_bytes(v, i), st_token_length(v, i)) != i)
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

int st_image_tables_are_sound(const st_vocab *v, const st_cut_tables *cuts)
{
    return bytes_are_sound(v) && dense_is_sound(v) && buckets_are_sound(v) && pairs_are_found(v) && pieces_are_sound(v) &&
           longs_are_sound(v) && tokens_are_found(v) && cuts_are_sound(v, cuts);
}
