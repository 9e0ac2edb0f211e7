/* Words merged side by side, by each tier that runs here, against the reference merge: batches of every size, words of every
 * length, with cuts and without, vocabularies of every kind. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/tier.h"
#include "cut/cuts.h"
#include "merge/words.h"
#include "pairs/merge_reference.h"

#define MOST_WORDS 700 /* more than any tier sorts at a time */

static struct {
    uint64_t batches, words;
} counts;

static struct {
    const char *tier;
    const st_word *word;
    const st_vocab *vocab;
} current;

static void describe(void)
{
    if (!current.word)
        return;
    fprintf(stderr, "  tier %s, %u tokens, monotone %d\n", current.tier, current.vocab->count, current.vocab->monotone);
    print_bytes("word", current.word->text, current.word->n);
}

/* ---- vocabularies ---- */

static st_vocab *bundled[FILES_MOST];
static size_t bundled_count;

static void open_bundled(void)
{
    if (describe_failure)
        return;
    describe_failure = describe;
    for (const size_t count = vocab_files_read(); bundled_count < count; bundled_count++) {
        source from = source_read(vocab_files[bundled_count]);
        bundled[bundled_count] = source_vocab(&from, 0);
        source_free(&from);
    }
}

static st_vocab *vocab_new(rng *r)
{
    static const uint32_t sides[] = {0, 1, 8, 97, 512};
    source from = source_grown(r);
    if (rng_one_in(r, 2))
        source_damage(&from, r);
    st_vocab *vocab = source_vocab(&from, sides[rng_below(r, 5)]);
    source_free(&from);
    return vocab;
}

/* ---- words ---- */

static size_t put_character(uint32_t code, uint8_t *to)
{
    if (code < 0x80) {
        to[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (uint8_t)(0xC0 | code >> 6);
        to[1] = (uint8_t)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (uint8_t)(0xE0 | code >> 12);
        to[1] = (uint8_t)(0x80 | (code >> 6 & 63));
        to[2] = (uint8_t)(0x80 | (code & 63));
        return 3;
    }
    to[0] = (uint8_t)(0xF0 | code >> 18);
    to[1] = (uint8_t)(0x80 | (code >> 12 & 63));
    to[2] = (uint8_t)(0x80 | (code >> 6 & 63));
    to[3] = (uint8_t)(0x80 | (code & 63));
    return 4;
}

/* Where characters are taken from: ASCII of all kinds, scripts of two, three and four bytes. */
static const struct {
    uint32_t first, count;
} ranges[] = {{'a', 26}, {0, 128}, {'a', 3}, {0x430, 32}, {0x80, 0x700}, {0x900, 128}, {0xE01, 58}, {0x4E00, 500},
              {0xAC00, 11000}, {0x800, 0xD000}, {0xFF00, 200}, {0x1F600, 60}};
#define RANGES (sizeof ranges / sizeof ranges[0])

/* Adds a token of the vocabulary that is whole characters; nothing if chance picks another, or there is no room. */
static size_t put_token(rng *r, const st_vocab *v, uint8_t *to, size_t room)
{
    const uint32_t index = (uint32_t)rng_below(r, v->count);
    const size_t n = st_token_length(v, index);
    st_text_error error;
    if (n > room || st_text_check(st_token_bytes(v, index), n, &error) != n)
        return 0;
    memcpy(to, st_token_bytes(v, index), n);
    return n;
}

/* A word of at most `most` bytes, which is at least 4. */
static uint32_t make_word(rng *r, const st_vocab *v, size_t most, uint8_t *to)
{
    const size_t kind = rng_below(r, 4), range = rng_below(r, RANGES), other = rng_below(r, RANGES);
    size_t n = 0;
    for (int tries = 0; n + 4 <= most && tries < 200; tries++) {
        const size_t from = kind == 1 && rng_one_in(r, 3) ? other : range;
        if (kind >= 2 && !rng_one_in(r, 4))
            n += put_token(r, v, to + n, most - n);
        else
            n += put_character(ranges[from].first + (uint32_t)rng_below(r, ranges[from].count), to + n);
    }
    return (uint32_t)n;
}

/* Each word lies in a block of its own, and so do its tokens, for sanitizers to see where they end. */
static void make_words(rng *r, const st_vocab *v, st_word *words, size_t count)
{
    const size_t longest = 4 + rng_below(r, ST_WORD_BYTES - 3);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[ST_WORD_BYTES];
        const uint32_t n = make_word(r, v, 4 + rng_below(r, longest - 3), bytes);
        uint8_t *text = take(n);
        memcpy(text, bytes, n);
        words[i] = (st_word){text, take(n * sizeof(uint32_t)), n, 0};
    }
}

static void free_words(st_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)words[i].text);
        free(words[i].tokens);
    }
}

/* ---- merging ---- */

static st_reference_scratch scratch;
static st_ids wanted;

static void check_words(const st_vocab *v, const st_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        current.word = &words[i];
        wanted.size = 0;
        CHECK(st_reference_merge(&v->pairs, words[i].text, words[i].n, &scratch, &wanted) == ST_OK);
        CHECK(words[i].count == wanted.size && same_bytes(words[i].tokens, wanted.data, wanted.size * sizeof *wanted.data));
    }
    current.word = NULL;
}

static void merge_by(const char *tier, st_merge_words_function *merge, const st_vocab *v, const st_cuts *cuts, st_word *words,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        words[i].count = 0;
        memset(words[i].tokens, 0xEE, words[i].n * sizeof *words[i].tokens);
    }
    current.tier = tier;
    merge(v, cuts, words, count);
    check_words(v, words, count);
}

static void check_batch(rng *r, st_vocab *v)
{
    static st_word words[MOST_WORDS];
    const size_t count = rng_one_in(r, 20) ? rng_below(r, MOST_WORDS + 1) : rng_below(r, 41);
    const st_cuts *cuts = rng_one_in(r, 3) ? NULL : st_vocab_cuts(v);
    make_words(r, v, words, count);
    current.vocab = v;
    merge_by("portable", st_merge_words_portable, v, cuts, words, count);
#if defined(ST_ARM)
    merge_by("neon", st_merge_words_neon, v, cuts, words, count);
#endif
#if defined(ST_X86)
    if (st_tier() >= ST_TIER_AVX2)
        merge_by("avx2", st_merge_words_avx2, v, cuts, words, count);
    if (st_tier() >= ST_TIER_AVX512)
        merge_by("avx512", st_merge_words_avx512, v, cuts, words, count);
#endif
    free_words(words, count);
    counts.batches++;
    counts.words += count;
}

/* ---- the harness ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    open_bundled();
    const size_t kind = rng_below(&r, 2 * bundled_count + 1);
    st_vocab *v = kind < bundled_count ? bundled[kind] : vocab_new(&r);
    for (int i = 0; i < 6; i++)
        check_batch(&r, v);
    if (kind >= bundled_count)
        st_vocab_free(v);
    return 0;
}

void harness_close(void)
{
    st_reference_scratch_free(&scratch);
    st_ids_free(&wanted);
    while (bundled_count)
        st_vocab_free(bundled[--bundled_count]);
    printf("fuzz_merge: %llu batches, %llu words, up to tier %s: no difference\n", (unsigned long long)counts.batches,
           (unsigned long long)counts.words, st_tier_name());
}
