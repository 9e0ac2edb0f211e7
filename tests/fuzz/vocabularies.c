#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the definition of BPE ---- */

size_t merge_first_lowest(const st_vocab *v, const uint8_t *text, size_t *ends, size_t *count)
{
    uint32_t best = ST_NONE;
    size_t at = 0;
    for (size_t i = 0; i + 1 < *count; i++) {
        const size_t start = i ? ends[i - 1] : 0;
        const uint32_t joined = st_vocab_find(v, text + start, ends[i + 1] - start);
        if (joined < best) {
            best = joined;
            at = i;
        }
    }
    if (best == ST_NONE)
        return 0;
    const size_t split = ends[at];
    memmove(ends + at, ends + at + 1, (--*count - at) * sizeof *ends);
    return split;
}

/* ---- lists of tokens ---- */

void source_free(source *s)
{
    free(s->bytes);
    free(s->lengths);
    free(s->ids);
    free(s->splits);
    *s = (source){0};
}

typedef struct token {
    const uint8_t *bytes;
    uint32_t length;
} token;

/* Copies tokens into a new source with ids 0, 1, 2, ... Blocks are as large as their content, for sanitizers to see. */
static source source_of(const token *tokens, size_t count)
{
    size_t total = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        total += tokens[i].length;
    source s = {take(total), take(count * sizeof *s.lengths), take(count * sizeof *s.ids), NULL, count, 0};
    for (size_t i = 0; i < count; i++) {
        memcpy(s.bytes + at, tokens[i].bytes, tokens[i].length);
        at += tokens[i].length;
        s.lengths[i] = tokens[i].length;
        s.ids[i] = (uint32_t)i;
    }
    return s;
}

static token *tokens_of(const source *s, size_t room)
{
    token *tokens = take((s->count + room) * sizeof *tokens);
    const uint8_t *at = s->bytes;
    for (size_t i = 0; i < s->count; at += s->lengths[i++])
        tokens[i] = (token){at, s->lengths[i]};
    return tokens;
}

static uint8_t every_byte[256];

static void fill_every_byte(void)
{
    for (int i = 0; i < 256; i++)
        every_byte[i] = (uint8_t)i;
}

st_status source_build(const source *s, uint32_t dense_side, st_vocab **vocab, size_t *bad)
{
    st_vocab_source given = {.bytes = s->bytes, .lengths = s->lengths, .ids = s->ids, .splits = s->splits, .count = s->count};
    given.model = s->longest ? &st_model_longest : &st_model_bpe;
    return st_vocab_new(&given, dense_side, vocab, bad);
}

st_vocab *source_vocab(const source *s, uint32_t dense_side)
{
    st_vocab *vocab;
    size_t bad;
    st_status status = source_build(s, dense_side, &vocab, &bad);
    if (status)
        fail(__FILE__, __LINE__, st_strerror(status));
    return vocab;
}

/* ---- from a file ---- */

static uint32_t load32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint8_t *read_all(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        fail(__FILE__, __LINE__, path);
    *n = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = take(*n);
    CHECK(fread(data, 1, *n, file) == *n);
    fclose(file);
    return data;
}

source source_read(const char *path)
{
    size_t n;
    uint8_t *data = read_all(path, &n);
    CHECK(n >= 64 && !memcmp(data, "streamtk", 8) && load32(data + 8) == 1);
    const size_t count = load32(data + 16), gaps = load32(data + 20), blob = load32(data + 24);
    const uint8_t *gap = data + 64, *lengths = gap + 8 * gaps, *splits = lengths + count, *bytes = splits + count;
    CHECK(n == 64 + 8 * gaps + 2 * count + blob);
    source s = {take(blob), take(4 * count), take(4 * count), take(4 * count), count, 0};
    uint32_t id = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t g = 0; g < gaps; g++)
            if (load32(gap + 8 * g) == i)
                id += load32(gap + 8 * g + 4);
        s.ids[i] = id++;
        s.lengths[i] = lengths[i];
        s.splits[i] = splits[i];
    }
    memcpy(s.bytes, bytes, blob);
    free(data);
    return s;
}

source source_head(const source *from, size_t count)
{
    token *tokens = tokens_of(from, 256);
    uint8_t seen[256] = {0};
    fill_every_byte();
    count = count < from->count ? count : from->count;
    for (size_t i = 0; i < count; i++)
        if (tokens[i].length == 1)
            seen[tokens[i].bytes[0]] = 1;
    for (int byte = 0; byte < 256; byte++)
        if (!seen[byte])
            tokens[count++] = (token){&every_byte[byte], 1};
    source s = source_of(tokens, count);
    free(tokens);
    return s;
}

/* ---- made at random ---- */

#define GROWN_MOST 500

/* What tokens are grown from: letters, white space, digits, bits of characters of two to four bytes. */
static const char *const UNITS[] = {
    "a", "b", "e", "t", " ", " ", "\n", "1", "=", "'", "A", "<|",
    "\xC3\xA9", "\xE4\xB8\xAD", "\xE6\x96\x87", "\xF0\x9F\x98\x80", "\xCC\x81", "\xE4", "\xFF",
};
#define UNIT_COUNT (sizeof UNITS / sizeof *UNITS)

static int is_there(const token *tokens, size_t count, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (tokens[i].length == n && !memcmp(tokens[i].bytes, bytes, n))
            return 1;
    return 0;
}

/* A single byte of a unit, or one of the tokens grown so far; a late one more often, so that they become long. */
static token any_part(rng *r, const char *const *units, size_t unit_count, const token *tokens, size_t count)
{
    if (count == 256 || rng_one_in(r, 3)) {
        const char *unit = units[rng_below(r, unit_count)];
        return (token){(const uint8_t *)unit + rng_below(r, strlen(unit)), 1};
    }
    size_t grown = count - 256, recent = grown < 10 ? grown : 10;
    return tokens[count - 1 - rng_below(r, rng_one_in(r, 2) ? recent : grown)];
}

source source_grown(rng *r)
{
    static const size_t limits[] = {6, 20, 40, 100, 300};
    const size_t longest = limits[rng_below(r, 5)], unit_count = 1 + rng_below(r, 5);
    /* many long tokens out of order are slow to encode with: two of them are compatible only if merging says so */
    const size_t tries = rng_below(r, longest > 40 ? 100 : GROWN_MOST);
    const char *units[5];
    token tokens[256 + GROWN_MOST];
    size_t count = 0, used = 0;
    uint8_t *pool = take(GROWN_MOST * longest);
    fill_every_byte();
    for (size_t i = 0; i < unit_count; i++)
        units[i] = UNITS[rng_below(r, UNIT_COUNT)];
    while (count < 256) {
        tokens[count] = (token){&every_byte[count], 1};
        count++;
    }
    for (size_t i = 0; i < tries; i++) {
        token left = any_part(r, units, unit_count, tokens, count);
        token right = any_part(r, units, unit_count, tokens, count);
        uint8_t *joined = pool + used;
        uint32_t n = left.length + right.length;
        if (n > longest)
            continue;
        memcpy(joined, left.bytes, left.length);
        memcpy(joined + left.length, right.bytes, right.length);
        if (is_there(tokens, count, joined, n))
            continue;
        tokens[count++] = (token){joined, n};
        used += n;
    }
    source s = source_of(tokens, count);
    free(pool);
    return s;
}

/* ---- damage ---- */

static size_t drop_some(rng *r, token *tokens, size_t count)
{
    size_t kept = 0, one_in = 2 + rng_below(r, 40);
    for (size_t i = 0; i < count; i++)
        if (tokens[i].length == 1 || !rng_one_in(r, one_in))
            tokens[kept++] = tokens[i];
    return kept;
}

static void swap_some(rng *r, token *tokens, size_t count)
{
    for (size_t n = rng_size(r, 2 * count); n; n--) {
        size_t i = rng_below(r, count), j = rng_below(r, count);
        token moved = tokens[i];
        tokens[i] = tokens[j];
        tokens[j] = moved;
    }
}

/* Tokens joined from two others without any that lies between: mostly nothing merges to them. */
static size_t add_some(rng *r, token *tokens, size_t count, size_t room, uint8_t *pool, size_t pool_size)
{
    for (size_t used = 0; room; room--) {
        token a = tokens[rng_below(r, count)], b = tokens[rng_below(r, count)];
        uint32_t n = a.length + b.length;
        if (n > pool_size - used)
            break;
        memcpy(pool + used, a.bytes, a.length);
        memcpy(pool + used + a.length, b.bytes, b.length);
        if (is_there(tokens, count, pool + used, n))
            continue;
        tokens[count++] = (token){pool + used, n};
        used += n;
    }
    return count;
}

void source_damage(source *s, rng *r)
{
    enum { ROOM = 64, POOL = 4096 };
    uint8_t pool[POOL];
    token *tokens = tokens_of(s, ROOM);
    size_t count = s->count;
    if (rng_one_in(r, 2))
        count = drop_some(r, tokens, count);
    if (rng_one_in(r, 2))
        count = add_some(r, tokens, count, rng_below(r, ROOM), pool, POOL);
    if (rng_one_in(r, 2))
        swap_some(r, tokens, count);
    source damaged = source_of(tokens, count);
    uint32_t skipped = 0, gaps = (uint32_t)rng_one_in(r, 2);
    for (size_t i = 0; i < count; i++) {
        skipped += gaps && rng_one_in(r, 50) ? (uint32_t)rng_size(r, 1000) : 0;
        damaged.ids[i] = (uint32_t)i + skipped;
    }
    free(tokens);
    source_free(s);
    *s = damaged;
}
