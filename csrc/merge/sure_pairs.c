#include "merge/sure_pairs.h"

#include "base/alloc.h"
#include "base/atomic.h"

static void release(st_attached *attached)
{
    st_free(attached);
}

/* Puts the token into a field of the entry if it comes before what is there. */
static void enter(uint64_t *entry, unsigned field, uint64_t token)
{
    if ((*entry >> field & ST_NO_TOKEN) > token)
        *entry = (*entry & ~((uint64_t)ST_NO_TOKEN << field)) | token << field;
}

/* Takes a pair of bytes out if it merges to a token that comes later than one that it is a part of. */
static void leave_out_later(st_sure_pairs *sure, const st_vocab *v, uint32_t part, uint32_t token)
{
    const uint8_t *bytes = st_token_bytes(v, part);
    if (part > token && st_token_length(v, part) == 2)
        sure->entries[st_sure_place(bytes[0], bytes[1])] |= ST_NO_TOKEN;
}

/* The last token that is a single byte. Most tokens are made of two later ones, and hold nothing for the table. */
static uint32_t last_byte(const st_vocab *v)
{
    uint32_t last = 0;
    for (size_t byte = 0; byte < 256; byte++)
        if (v->pairs.byte_token[byte] != ST_NONE && v->pairs.byte_token[byte] > last)
            last = v->pairs.byte_token[byte];
    return last;
}

static void enter_token(st_sure_pairs *sure, const st_vocab *v, uint32_t token)
{
    const uint8_t *bytes = st_token_bytes(v, token);
    const size_t n = st_token_length(v, token);
    if (n == 2)
        enter(&sure->entries[st_sure_place(bytes[0], bytes[1])], 0, token);
    if (v->right[token] == v->pairs.byte_token[bytes[n - 1]])
        enter(&sure->entries[st_sure_place(bytes[n - 2], bytes[n - 1])], ST_SURE_LEFT, token);
    if (v->left[token] == v->pairs.byte_token[bytes[0]])
        enter(&sure->entries[st_sure_place(bytes[0], bytes[1])], ST_SURE_RIGHT, token);
}

static st_status build(st_attached *made, const st_vocab *v)
{
    st_sure_pairs *sure = (st_sure_pairs *)made; /* its first member */
    const uint32_t *left = v->left, *right = v->right, count = v->count, last = last_byte(v);
    for (size_t i = 0; i < sizeof sure->entries / sizeof *sure->entries; i++)
        sure->entries[i] = ST_SURE_NOTHING;
    for (uint32_t token = 0; token < count; token++)
        if (left[token] != ST_NONE && (left[token] <= last || right[token] <= last))
            enter_token(sure, v, token);
    for (uint32_t token = 0; token < count && !v->monotone; token++)
        if (left[token] != ST_NONE) {
            leave_out_later(sure, v, left[token], token);
            leave_out_later(sure, v, right[token], token);
        }
    return ST_OK;
}

const st_sure_pairs *st_vocab_sure_pairs_built(const st_vocab *vocab)
{
    return st_acquire((void **)&vocab->sure_pairs);
}

const st_sure_pairs *st_vocab_sure_pairs(st_vocab *vocab)
{
    static const st_attached_kind kind = {sizeof(st_sure_pairs), build, release};
    return st_attached_at(&vocab->sure_pairs, &kind, vocab);
}

/* Each token of the vocabulary takes some 5 ns when the table is built, and with it a word is merged some 10 ns faster (Zen 5). So it
 * is built late enough that it costs a few hundredths of what was merged before, and a program that merges few words never pays for
 * it. Of threads that merge at the same time, the one that comes to this number builds it. */
void st_sure_pairs_prepare(st_vocab *vocab, size_t words)
{
    if (st_vocab_sure_pairs_built(vocab))
        return;
    const uint64_t merged = st_number_add(&vocab->merged_without, words);
    if (merged >= vocab->count && merged - words < vocab->count)
        st_vocab_sure_pairs(vocab);
}
