/* Words merged side by side, by each tier that runs here, against the reference merge: batches of every size, words of every
 * length, with cuts and without, with sure pairs and without, vocabularies of every kind. And such words cut by stretches, against
 * borders one by one. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/tier.h"
#include "cut/cuts.h"
#include "merge/sure_pairs.h"
#include "merge/words.h"
#include "pairs/merge_reference.h"

#define MOST_WORDS 700 /* more than any tier sorts at a time */

static struct {
    uint64_t batches, words, spans;
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

static void merge_by(const st_tier_row *tier, const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count)
{
    static uint8_t room[ST_WORDS_ROOM];
    for (size_t i = 0; i < count; i++) {
        words[i].count = 0;
        memset(words[i].tokens, 0xEE, words[i].n * sizeof *words[i].tokens);
    }
    current.tier = tier->name;
    tier->merge_words(v, cuts, words, count, room);
    check_words(v, words, count);
}

static void check_batch(rng *r, st_vocab *v)
{
    static st_word words[MOST_WORDS];
    const size_t count = rng_one_in(r, 20) ? rng_below(r, MOST_WORDS + 1) : rng_below(r, 41);
    const st_cuts *cuts = rng_one_in(r, 3) ? NULL : st_vocab_cuts(v);
    make_words(r, v, words, count);
    CHECK(rng_one_in(r, 3) || st_vocab_sure_pairs(v)); /* they stay with the vocabulary: a new one has none at first */
    current.vocab = v;
    for (const st_tier_row *const *tier = st_tiers; *tier; tier++)
        if (st_processor_has((*tier)->needs))
            merge_by(*tier, v, cuts, words, count);
    free_words(words, count);
    counts.batches++;
    counts.words += count;
}

/* ---- cutting ---- */

/* The pieces of a stretch of text, and where their spans should end. */
typedef struct pieces {
    uint8_t *text;
    uint64_t ends[MOST_WORDS];
    size_t count, taken;
    uint32_t spans[ST_CUT_STRETCH];
    size_t span_count;
} pieces;

/* The words one behind the other, of which some go on in the next one. */
static void join_words(rng *r, pieces *p, const st_word *words, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += words[i].n;
    p->text = take(size);
    p->count = size = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(p->text + size, words[i].text, words[i].n);
        size += words[i].n;
        p->ends[p->count] = size;
        p->count += !rng_one_in(r, 4) || i + 1 == count;
    }
}

/* Cuts those that a stretch takes from number `first` on, border by border. */
static void cut_one_by_one(pieces *p, const st_cuts *cuts, size_t first)
{
    const size_t at = first ? (size_t)p->ends[first - 1] : 0;
    size_t start = at;
    p->span_count = 0;
    for (p->taken = 0; first + p->taken < p->count && p->ends[first + p->taken] - at <= ST_CUT_STRETCH; p->taken++) {
        const size_t end = (size_t)p->ends[first + p->taken];
        uint32_t borders[ST_CUT_STRETCH];
        size_t from = 0, found = 0;
        if (end - start > ST_KEY_BYTES)
            found = st_cuts_find(cuts, p->text + start, end - start, &from, borders, ST_CUT_STRETCH);
        for (size_t i = 0; i < found; i++)
            p->spans[p->span_count++] = (uint32_t)(start - at + borders[i]);
        p->spans[p->span_count++] = (uint32_t)(end - at);
        start = end;
    }
    counts.spans += p->span_count;
}

static void cut_by(const st_tier_row *tier, const pieces *p, const st_cuts *cuts, size_t first)
{
    uint32_t spans[ST_CUT_STRETCH + 16];
    size_t taken;
    const size_t at = first ? (size_t)p->ends[first - 1] : 0;
    const size_t count = tier->cuts_of_pieces(cuts, p->text, at, p->ends + first, p->count - first, spans, &taken);
    CHECK(taken == p->taken && count == p->span_count && same_bytes(spans, p->spans, count * sizeof *spans));
}

static void check_stretches(rng *r, st_vocab *v)
{
    static st_word words[MOST_WORDS];
    static pieces p;
    const size_t count = 1 + rng_below(r, 40);
    const st_cuts *cuts = st_vocab_cuts(v);
    make_words(r, v, words, count);
    join_words(r, &p, words, count);
    for (size_t first = 0; first < p.count; first += 1 + rng_below(r, 5)) {
        cut_one_by_one(&p, cuts, first);
        for (const st_tier_row *const *tier = st_tiers; *tier; tier++)
            if ((*tier)->cuts_of_pieces && st_processor_has((*tier)->needs))
                cut_by(*tier, &p, cuts, first);
    }
    free(p.text);
    free_words(words, count);
}

/* ---- the table of pairs ---- */

#define PAIRS_MOST 60

/* Pairs of large tokens, as many as the smallest table takes: some buckets overflow, also the last one, behind which the first
 * follows. */
static void check_pairs(rng *r)
{
    uint32_t sides[PAIRS_MOST][2];
    const size_t count = PAIRS_MOST - 1 - rng_below(r, 10);
    st_pairs pairs;
    CHECK(st_pairs_init(&pairs, count, 16) == ST_OK);
    for (size_t i = 0; i < count; i++) {
        sides[i][0] = 16 + (uint32_t)i;
        sides[i][1] = (uint32_t)rng_below(r, 1000);
        st_pairs_insert(&pairs, sides[i][0], sides[i][1], 2000 + (uint32_t)i);
    }
    for (size_t i = 0; i < count; i++) {
        CHECK(st_pairs_find(&pairs, sides[i][0], sides[i][1]) == 2000 + i);
        CHECK(st_pairs_find(&pairs, sides[i][0], sides[i][1] + 1) == ST_NONE);
    }
    st_pairs_free(&pairs);
}

/* ---- the harness ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    open_bundled();
    const size_t kind = rng_below(&r, 2 * bundled_count + 1);
    st_vocab *v = kind < bundled_count ? bundled[kind] : vocab_new(&r);
    for (int i = 0; i < 6; i++) {
        check_batch(&r, v);
        check_stretches(&r, v);
    }
    for (int i = 0; i < 100; i++)
        check_pairs(&r);
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
    printf("fuzz_merge: %llu batches, %llu words, %llu spans, up to tier %s: no difference\n", (unsigned long long)counts.batches,
           (unsigned long long)counts.words, (unsigned long long)counts.spans, st_tier_name());
}
