#include "train/tokens.h"

void st_train_tokens_free(st_train_tokens *tokens)
{
    st_free(tokens->lengths);
    st_free(tokens->widths);
    st_free(tokens->words);
    st_free(tokens->prefixes);
    st_free(tokens->starts);
    st_free(tokens->pairs);
    st_bytes_free(&tokens->bytes);
    memset(tokens, 0, sizeof *tokens);
}

static uint64_t prefix_of(const uint8_t *bytes, size_t n)
{
    uint64_t prefix = 0;
    for (size_t i = 0; i < 8; i++)
        prefix = prefix << 8 | (i < n ? bytes[i] : 0);
    return prefix;
}

static int is_in_word(uint8_t byte)
{
    return byte != ' ' && (byte < '\t' || byte > '\r');
}

static uint32_t words_of(const uint8_t *bytes, size_t n)
{
    uint32_t words = 0;
    for (size_t i = 0; i < n; i++)
        words += is_in_word(bytes[i]) && !(i && is_in_word(bytes[i - 1]));
    return words << 2 | (uint32_t)is_in_word(bytes[0]) << 1 | (uint32_t)is_in_word(bytes[n - 1]);
}

/* Enters the token whose n bytes were written behind bytes.size. */
static void enter(st_train_tokens *tokens, size_t n, st_train_key pair, uint32_t width)
{
    const size_t token = tokens->count++;
    tokens->widths[token] = width;
    tokens->words[token] = words_of(tokens->bytes.data + tokens->bytes.size, n);
    tokens->starts[token] = tokens->bytes.size;
    tokens->lengths[token] = (uint32_t)n;
    tokens->prefixes[token] = prefix_of(tokens->bytes.data + tokens->bytes.size, n);
    tokens->pairs[token] = pair;
    tokens->bytes.size += n;
}

st_status st_train_tokens_init(st_train_tokens *tokens, const uint8_t *alphabet, size_t capacity, st_train_ties ties,
                               uint32_t max_token_bytes)
{
    memset(tokens, 0, sizeof *tokens);
    tokens->capacity = capacity < 256 ? 256 : capacity;
    tokens->ties = ties;
    tokens->max_token_bytes = max_token_bytes;
    tokens->max_words = ST_TRAIN_ANY_WORDS;
    tokens->lengths = st_malloc(tokens->capacity * sizeof *tokens->lengths);
    tokens->widths = st_malloc(tokens->capacity * sizeof *tokens->widths);
    tokens->words = st_malloc(tokens->capacity * sizeof *tokens->words);
    tokens->prefixes = st_malloc(tokens->capacity * sizeof *tokens->prefixes);
    tokens->starts = st_malloc(tokens->capacity * sizeof *tokens->starts);
    tokens->pairs = st_malloc(tokens->capacity * sizeof *tokens->pairs);
    if (!tokens->lengths || !tokens->widths || !tokens->words || !tokens->prefixes || !tokens->starts || !tokens->pairs)
        return ST_NO_MEMORY;
    ST_TRY(st_bytes_reserve(&tokens->bytes, 256));
    for (size_t i = 0; i < 256; i++) {
        tokens->bytes.data[i] = alphabet[i];
        enter(tokens, 1, 0, 1);
    }
    return ST_OK;
}

static st_status add(st_train_tokens *tokens, st_train_key pair, uint32_t width)
{
    const uint32_t left = st_train_left(pair), right = st_train_right(pair);
    const size_t n = tokens->lengths[left], m = tokens->lengths[right];
    ST_TRY(st_bytes_reserve(&tokens->bytes, n + m));
    uint8_t *to = tokens->bytes.data + tokens->bytes.size;
    memcpy(to, tokens->bytes.data + tokens->starts[left], n);
    memcpy(to + n, tokens->bytes.data + tokens->starts[right], m);
    enter(tokens, n + m, pair, width);
    return ST_OK;
}

st_status st_train_tokens_add(st_train_tokens *tokens, st_train_key pair)
{
    return add(tokens, pair, tokens->widths[st_train_left(pair)] + tokens->widths[st_train_right(pair)]);
}

st_status st_train_tokens_give(st_train_tokens *tokens, st_train_key pair)
{
    return add(tokens, pair, 1);
}

/* Compares the bytes of two tokens like memcmp; a prefix comes before a longer token. */
static int compare(const st_train_tokens *tokens, uint32_t a, uint32_t b)
{
    const size_t n = tokens->lengths[a], m = tokens->lengths[b];
    if (tokens->prefixes[a] != tokens->prefixes[b])
        return tokens->prefixes[a] < tokens->prefixes[b] ? -1 : 1;
    const int order =
        memcmp(tokens->bytes.data + tokens->starts[a], tokens->bytes.data + tokens->starts[b], n < m ? n : m);
    return order ? order : n < m ? -1 : n > m;
}

int st_train_before(const st_train_tokens *tokens, st_train_key first, st_train_key second)
{
    if (tokens->ties == ST_TIES_HUGGINGFACE)
        return first < second;
    const uint32_t left = st_train_left(first), other = st_train_left(second);
    if (left != other)
        return compare(tokens, left, other) > 0;
    return compare(tokens, st_train_right(first), st_train_right(second)) > 0;
}
