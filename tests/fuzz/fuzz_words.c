/* Frequent words. Packed lists of them, whole and damaged, against a reader that goes byte by byte. Lists of any bytes,
 * entered in a vocabulary: no id of any text changes. */
#include "fuzz.h"
#include "image/frequent_words.h"
#include "vocab/packed_words.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
    uint64_t lists, damaged, entered, texts, failed_allocations;
} counts;

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
    const unsigned shift = 2 * (unsigned)rng_below(r, 3), least = (unsigned)rng_below(r, 4); /* words of level 0 are never read */
    const int is_good = read_plainly(&list, shift, least ? least : 1, &wanted, &wanted_lengths);
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

/* ---- words in a vocabulary ---- */

#define MOST_ENTERED 300

/* Tokens, parts of text that the patterns make, and bytes of the input as they are. */
static void make_entered(rng *r, const st_vocab *v, st_bytes *words, uint8_t *lengths, size_t count)
{
    st_bytes text = {0};
    for (size_t i = 0; i < count; i++) {
        text_random(r, v, 64, &text);
        const size_t n = rng_below(r, rng_one_in(r, 8) ? 40 : ST_KEY_BYTES + 1);
        size_t from = rng_below(r, text.size - n);
        if (i && rng_one_in(r, 8)) { /* one that was there before */
            lengths[i] = lengths[0];
            CHECK(st_bytes_reserve(words, lengths[0]) == ST_OK);
            CHECK(st_bytes_append(words, words->data, lengths[0]) == ST_OK);
            continue;
        }
        lengths[i] = (uint8_t)n;
        CHECK(st_bytes_append(words, text.data + from, n) == ST_OK);
    }
    st_bytes_free(&text);
}

static st_status vocab_with_words(const source *s, const st_bytes *words, const uint8_t *lengths, size_t count, st_vocab **v)
{
    const st_vocab_source from = {.bytes = s->bytes, .lengths = s->lengths, .ids = s->ids, .splits = s->splits, .count = s->count, .words = count, .model = s->longest ? &st_model_longest : &st_model_bpe};
    size_t bad;
    st_status status = st_vocab_new(&from, 64, v, &bad);
    if (!status)
        status = st_vocab_add_words(*v, words->data, lengths, count);
    if (status)
        st_vocab_free(*v);
    return status;
}

/* A text of the words themselves, and of what lies near them. */
static void check_text(rng *r, st_vocab *v, const st_bytes *words)
{
    st_bytes text = {0};
    st_ids ids[2] = {{0}, {0}};
    st_feed_error error;
    const st_pattern pattern = pattern_random(r);
    text_random(r, v, 200, &text);
    CHECK(st_bytes_append(&text, words->data, words->size) == ST_OK);
    for (int engine = 0; engine < 2; engine++) {
        st_encoder e;
        st_encoder_init(&e, v, pattern);
        e.engine = engine ? ST_ENGINE_REFERENCE : ST_ENGINE_FAST;
        e.text.errors = ST_ERRORS_REPLACE;
        CHECK(st_encoder_feed(&e, text.data, text.size, ST_FEED_FINAL, &ids[engine], &error) == ST_OK);
        st_encoder_free(&e);
    }
    CHECK(ids[0].size == ids[1].size && same_bytes(ids[0].data, ids[1].data, ids[0].size * sizeof *ids[0].data));
    st_bytes_free(&text);
    st_ids_free(&ids[0]);
    st_ids_free(&ids[1]);
    counts.texts++;
}

/* Each word has an entry, or is a token, and the entry has the ids that encoding it without tables gives. */
static void check_entries(st_vocab *v, const st_bytes *words, const uint8_t *lengths, size_t count)
{
    const uint8_t *word = words->data;
    for (size_t i = 0; i < count; word += lengths[i++]) {
        const size_t n = lengths[i];
        st_text_error bad;
        if (!n || n > ST_KEY_BYTES || st_text_check(word, n, &bad) != n)
            continue;
        const st_key key = st_key_of(word, n);
        const st_piece_entry *entry = st_piece_find(&v->pieces, key, st_piece_line(&v->pieces, key));
        CHECK(entry || st_vocab_find(v, word, n) != ST_NONE);
        if (!entry)
            continue;
        st_encoder e;
        st_ids ids = {0};
        st_feed_error error;
        st_encoder_init(&e, v, pattern_of(ST_SPLIT_NONE));
        e.engine = ST_ENGINE_REFERENCE;
        CHECK(st_encoder_feed(&e, word, n, ST_FEED_FINAL, &ids, &error) == ST_OK);
        const int is_more = st_piece_count(entry) == ST_MORE_IDS;
        const uint32_t *found = is_more ? v->pieces.more.data + entry->ids[0] : entry->ids;
        CHECK(ids.size == (is_more ? entry->ids[1] : st_piece_count(entry)));
        CHECK(same_bytes(found, ids.data, ids.size * sizeof *found));
        st_encoder_free(&e);
        st_ids_free(&ids);
    }
}

static void check_entered(rng *r)
{
    const size_t count = rng_below(r, MOST_ENTERED);
    uint8_t *lengths = take(count);
    st_bytes words = {0};
    st_vocab *v = NULL;
    source s = source_grown(r);
    if (rng_one_in(r, 2))
        source_damage(&s, r);
    s.longest = rng_one_in(r, 4);
    st_vocab *plain = source_vocab(&s, 64);
    make_entered(r, plain, &words, lengths, count);
    st_vocab_free(plain);
    const int64_t live = st_alloc_read().live;
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = rng_one_in(r, 4) ? 0 : -1; status; succeeding = next_failure(succeeding)) {
        CHECK(status == ST_NO_MEMORY);
        st_alloc_fail_after(succeeding);
        status = vocab_with_words(&s, &words, lengths, count, &v);
        st_alloc_fail_after(-1);
        CHECK(!status || st_alloc_read().live == live);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    check_text(r, v, &words);
    check_entries(v, &words, lengths, count);
    counts.entered += count;
    st_vocab_free(v);
    source_free(&s);
    st_bytes_free(&words);
    free(lengths);
}

/* ---- the harness ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    for (int i = 0; i < 8; i++)
        check_list(&r);
    check_entered(&r);
    return 0;
}

void harness_close(void)
{
    printf("fuzz_words: %llu lists, %llu of them damaged, %llu words entered, %llu texts, %llu failed allocations: no "
           "difference\n",
           (unsigned long long)counts.lists, (unsigned long long)counts.damaged, (unsigned long long)counts.entered,
           (unsigned long long)counts.texts, (unsigned long long)counts.failed_allocations);
}
