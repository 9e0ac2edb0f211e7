/* Words merged side by side, by each tier that runs here, against the reference merge: batches of every size, words of every
 * length, with cuts and without, vocabularies of every kind.
 * And lists of words as they are packed, damaged ones too.
 *
 *     fuzz_words [--seed N] [--iterations N] [--seconds N] [vocabulary.stv ...] */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuts.h"
#include "merge_words.h"
#include "reference.h"
#include "tier.h"
#include "word_list.h"

#define MOST_WORDS 700 /* more than any tier sorts at a time */

static struct {
    uint64_t batches, words, lists, damaged;
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

static st_vocab **bundled;
static int bundled_count;

static void open_bundled(const settings *s)
{
    bundled = take((size_t)s->file_count * sizeof *bundled);
    for (; bundled_count < s->file_count; bundled_count++) {
        source from = source_read(s->files[bundled_count]);
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
    const size_t longest = 4 + rng_below(r, ST_GROUP_BYTES - 3);
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[ST_GROUP_BYTES];
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

static void check_words(const st_vocab *v, const st_word *words, size_t count)
{
    static st_reference_scratch scratch;
    static st_ids wanted;
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

/* ---- packed lists ---- */

#define MOST_LISTED 40

/* A list of words that share beginnings: each array in a block of its own size. One byte of three lists in four is changed. */
static st_word_list list_new(rng *r)
{
    uint8_t shared[MOST_LISTED], rest_lengths[MOST_LISTED], levels[MOST_LISTED], rests[MOST_LISTED * ST_KEY_BYTES];
    size_t count = rng_below(r, MOST_LISTED + 1), n = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t most = n < ST_KEY_BYTES ? n : ST_KEY_BYTES - 1;
        shared[i] = (uint8_t)rng_below(r, most + 1);
        rest_lengths[i] = (uint8_t)(1 + rng_below(r, (size_t)(ST_KEY_BYTES - shared[i])));
        levels[i] = (uint8_t)rng_next(r);
        for (size_t k = 0; k < rest_lengths[i]; k++)
            rests[size++] = (uint8_t)('a' + rng_below(r, 3));
        n = (size_t)shared[i] + rest_lengths[i];
    }
    uint8_t *damaged = rng_one_in(r, 2) ? shared : rest_lengths;
    if (count && !rng_one_in(r, 4))
        damaged[rng_below(r, count)] ^= (uint8_t)(1 << rng_below(r, 8));
    const uint8_t *const from[4] = {shared, rest_lengths, levels, rests};
    const size_t sizes[4] = {count, count, count, size};
    uint8_t *to[4];
    for (int i = 0; i < 4; i++) {
        to[i] = take(sizes[i]);
        memcpy(to[i], from[i], sizes[i]);
    }
    return (st_word_list){to[0], to[1], to[2], to[3], count, size};
}

static void list_free(st_word_list *list)
{
    free((void *)(uintptr_t)list->shared);
    free((void *)(uintptr_t)list->rest_lengths);
    free((void *)(uintptr_t)list->levels);
    free((void *)(uintptr_t)list->rests);
}

/* The words by the definition, level by level; 0: the list contradicts itself. */
static int read_plainly(const st_word_list *list, unsigned shift, unsigned least, st_bytes *words, st_bytes *lengths)
{
    for (unsigned level = 3; level >= least; level--) {
        uint8_t word[512];
        size_t n = 0, at = 0;
        for (size_t i = 0; i < list->count; i++) {
            const size_t rest = list->rest_lengths[i], total = list->shared[i] + rest;
            if (list->shared[i] > n || !rest || total > ST_KEY_BYTES || at + rest > list->rest_size)
                return 0;
            memcpy(word + list->shared[i], list->rests + at, rest);
            at += rest;
            n = total;
            const uint8_t length = (uint8_t)n;
            if ((list->levels[i] >> shift & 3u) == level)
                CHECK(!st_bytes_append(words, word, n) && !st_bytes_append(lengths, &length, 1));
        }
        if (at != list->rest_size)
            return 0;
    }
    return 1;
}

static void check_list(rng *r)
{
    st_word_list list = list_new(r);
    st_bytes words = {0}, lengths = {0}, wanted = {0}, wanted_lengths = {0};
    const unsigned shift = 2 * (unsigned)rng_below(r, 3), least = 1 + (unsigned)rng_below(r, 3);
    const int is_good = read_plainly(&list, shift, least, &wanted, &wanted_lengths);
    const st_status status = st_word_list_read(&list, shift, least, &words, &lengths);
    CHECK(status == (is_good ? ST_OK : ST_BAD_WORDS));
    if (is_good) {
        CHECK(words.size == wanted.size && same_bytes(words.data, wanted.data, words.size));
        CHECK(lengths.size == wanted_lengths.size && same_bytes(lengths.data, wanted_lengths.data, lengths.size));
    } else {
        CHECK(!words.size && !lengths.size);
    }
    counts.lists++;
    counts.damaged += !is_good;
    st_bytes_free(&words);
    st_bytes_free(&lengths);
    st_bytes_free(&wanted);
    st_bytes_free(&wanted_lengths);
    list_free(&list);
}

int main(int argc, char **argv)
{
    settings s = settings_read(argc, argv);
    describe_failure = describe;
    open_bundled(&s);
    for (uint64_t done = 0; next_iteration(&s, done); done++) {
        rng r = {s.seed + done};
        const size_t kind = rng_below(&r, 2 * (size_t)bundled_count + 1);
        st_vocab *v = kind < (size_t)bundled_count ? bundled[kind] : vocab_new(&r);
        for (int i = 0; i < 10; i++)
            check_batch(&r, v);
        for (int i = 0; i < 20; i++)
            check_list(&r);
        if (kind >= (size_t)bundled_count)
            st_vocab_free(v);
    }
    printf("fuzz_words: %llu batches, %llu words, up to tier %s; %llu lists, %llu of them damaged: no difference\n",
           (unsigned long long)counts.batches, (unsigned long long)counts.words, st_tier_name(),
           (unsigned long long)counts.lists, (unsigned long long)counts.damaged);
    while (bundled_count)
        st_vocab_free(bundled[--bundled_count]);
    free(bundled);
    free(s.files);
    return 0;
}
