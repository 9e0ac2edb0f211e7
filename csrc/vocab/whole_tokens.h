/* Tokens that text becomes only as a whole piece: their own bytes do not merge to them. They are in no other table, so what is
 * looked up there is what merging gives, also for a part of a piece. */
#ifndef ST_VOCAB_WHOLE_TOKENS_H
#define ST_VOCAB_WHOLE_TOKENS_H

#include "base/buffer.h"
#include "base/hash.h"

typedef struct st_whole_tokens {
    uint64_t *slots; /* hash of the bytes (high half) and index (low half), UINT64_MAX = free; NULL where there is no such token */
    uint64_t mask;
} st_whole_tokens;

/* An empty table for `count` tokens, count > 0. */
st_status st_whole_tokens_init(st_whole_tokens *whole, size_t count);
void st_whole_tokens_free(st_whole_tokens *whole);
void st_whole_tokens_add(st_whole_tokens *whole, uint64_t hash, uint32_t index);

/* The hash of a token: that which a miss of a look-up has anyway (lookup/round.h). */
static inline uint64_t st_span_hash(const uint8_t *text, size_t n)
{
    return n <= ST_KEY_BYTES ? st_hash_key(st_key_of(text, n)) : st_hash_bytes(text, n);
}

/* The index of the token text[0..n) with this hash, or ST_NONE. `bytes` and `starts` are those of the vocabulary. */
static inline uint32_t st_whole_tokens_find(const st_whole_tokens *whole, const uint8_t *bytes, const uint32_t *starts,
                                            uint64_t hash, const uint8_t *text, size_t n)
{
    for (uint64_t at = hash & whole->mask; whole->slots[at] != UINT64_MAX; at = (at + 1) & whole->mask) {
        const uint32_t index = (uint32_t)whole->slots[at];
        if (whole->slots[at] >> 32 == hash >> 32 && starts[index + 1] - starts[index] == n &&
            !memcmp(bytes + starts[index], text, n))
            return index;
    }
    return ST_NONE;
}

#endif
