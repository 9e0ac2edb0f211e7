/* tokens.h - the tokens that training has made, and the rule that chooses among pairs seen equally often.
 * Thread rule: one thread at a time. */
#ifndef ST_TRAIN_TOKENS_H
#define ST_TRAIN_TOKENS_H

#include "base/buffer.h"

/* What decides between two pairs with the same count:
 *
 *     ST_TIES_LEXICOGRAPHIC  the greater one by its bytes: first those of the left token, then those of the right one
 *     ST_TIES_HUGGINGFACE    the smaller one by its tokens' numbers: first the left one's, then the right one's */
typedef enum st_train_ties { ST_TIES_LEXICOGRAPHIC, ST_TIES_HUGGINGFACE } st_train_ties;

/* Two tokens as one number, the left one on top. */
typedef uint64_t st_train_key;

static inline st_train_key st_train_key_of(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}

static inline uint32_t st_train_left(st_train_key key)
{
    return (uint32_t)(key >> 32);
}

static inline uint32_t st_train_right(st_train_key key)
{
    return (uint32_t)key;
}

typedef struct st_train_tokens {
    uint32_t *lengths;   /* in bytes */
    uint32_t *widths;    /* places of the text that it takes: its bytes, or the given tokens that it consists of */
    uint32_t *words;     /* four times its words, see ST_TRAIN_ANY_WORDS, and two bits: whether it begins, and ends, in one */
    uint64_t *prefixes;  /* the first eight bytes as a big-endian number, zeros behind the last */
    size_t *starts;      /* in `bytes` */
    st_train_key *pairs; /* the two tokens that each was merged from; undefined for the first 256 */
    size_t count, capacity;
    st_bytes bytes;
    st_train_ties ties;
    uint32_t max_token_bytes; /* bytes that a token may have */
    uint32_t max_words;       /* words that a token may have */
} st_train_tokens;

/* A word is a run of bytes that are no ASCII white space. max_words: any number. */
#define ST_TRAIN_ANY_WORDS UINT32_MAX

/* The 256 bytes in the order of `alphabet`, and memory for `capacity` tokens in all. max_token_bytes: see st_train_may_merge. */
st_status st_train_tokens_init(st_train_tokens *tokens, const uint8_t *alphabet, size_t capacity, st_train_ties ties,
                               uint32_t max_token_bytes);
void st_train_tokens_free(st_train_tokens *tokens);

/* Adds the token that a pair makes; there must be room for it. */
st_status st_train_tokens_add(st_train_tokens *tokens, st_train_key pair);

/* Adds one that the text is laid out in: it takes one place. */
st_status st_train_tokens_give(st_train_tokens *tokens, st_train_key pair);

/* The words of two tokens side by side. */
static inline uint32_t st_train_words(const st_train_tokens *tokens, uint32_t left, uint32_t right)
{
    const uint32_t a = tokens->words[left], b = tokens->words[right];
    return (a >> 2) + (b >> 2) - (a & b >> 1 & 1);
}

/* Is the token of these two short enough, and of few enough words? Hugging Face's trainer refuses tokens as long as its limit, but only for pairs that a
 * merge has brought together, so never for two bytes. */
static inline int st_train_may_merge(const st_train_tokens *tokens, uint32_t left, uint32_t right)
{
    const uint64_t n = (uint64_t)tokens->lengths[left] + tokens->lengths[right];
    if (tokens->max_words != ST_TRAIN_ANY_WORDS && st_train_words(tokens, left, right) > tokens->max_words)
        return 0;
    return tokens->ties == ST_TIES_HUGGINGFACE ? n == 2 || n < tokens->max_token_bytes : n <= tokens->max_token_bytes;
}

/* Of two different pairs with the same count: does the first go before the second? */
int st_train_before(const st_train_tokens *tokens, st_train_key first, st_train_key second);

#endif
