/* Runs one stage of encoding again and again over a text, for programs that count its instructions or time (work.py).
 *
 *     stages STAGE TEXT VOCABULARY ROUNDS
 *
 * STAGE: check (UTF-8), str1, str2, str4 (a str of so many bytes a character to UTF-8; code points that do not fit become 'e'),
 * split (o200k), merge (each different piece of up to 60 bytes once, by merging alone; VOCABULARY: an .stv file). Prints the tier,
 * the bytes of a round, a sum that depends on the result alone, and the nanoseconds of the quickest round. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/hash.h"
#include "base/tier.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "merge/words.h"
#include "split/scan.h"
#include "text/str_to_utf8.h"
#include "text/utf8_check.h"

typedef struct work {
    uint8_t *text, *points, *room;
    size_t n, count, point_count;
    uint64_t *ends;
    st_word *words;
    uint32_t *tokens;
    st_vocab *vocab;
    unsigned width;
} work;

static uint8_t *read_text(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    CHECK(file && !fseek(file, 0, SEEK_END));
    *n = (size_t)ftell(file);
    rewind(file);
    uint8_t *text = take(*n + 64);
    CHECK(fread(text, 1, *n, file) == *n);
    fclose(file);
    return text;
}

/* ---- rounds: each returns a sum of what it found ---- */

static uint64_t check(work *w)
{
    st_text_error error;
    return st_text_check(w->text, w->n, &error);
}

static uint64_t str(work *w)
{
    uint64_t sum = 0;
    for (size_t at = 0; at < w->point_count; at += 2048) { /* as much as a short call converts at once */
        const size_t n = w->point_count - at < 2048 ? w->point_count - at : 2048;
        sum += st_code_points(w->points + at * w->width, n, w->width, w->room);
    }
    return sum;
}

static size_t split_all(work *w)
{
    const st_pattern pattern = pattern_of(ST_SPLIT_O200K);
    st_scan scan;
    size_t count = 0, open = 0;
    st_scan_init(&scan);
    for (size_t at = 0, used; at < w->n; at += used) {
        const size_t more = st_scan_feed(pattern, &scan, w->text + at, w->n - at, &used, w->ends + count, 4096);
        for (size_t i = count; i < count + more; i++)
            w->ends[i] += open;
        count += more;
        open = count ? w->ends[count - 1] : 0;
    }
    return count;
}

static uint64_t split(work *w)
{
    return split_all(w);
}

static uint64_t merge(work *w)
{
    static uint8_t room[ST_WORDS_ROOM];
    uint64_t sum = 0;
    for (size_t at = 0; at < w->count; at += 64)
        st_merge_words(w->vocab, st_vocab_cuts(w->vocab), w->words + at, w->count - at < 64 ? w->count - at : 64, room);
    for (size_t i = 0; i < w->count; i++)
        sum += w->words[i].count;
    return sum;
}

/* ---- the input of the stages ---- */

static void make_points(work *w)
{
    w->points = take(4 * w->n + 64);
    w->room = take(ST_CODE_POINTS_ROOM(2048));
    for (size_t at = 0; at < w->n; w->point_count++) {
        unsigned size;
        uint32_t c = st_utf8_decode(w->text + at, &size);
        at += size;
        c = w->width < 4 && c >> 8 * w->width ? 'e' : c;
        const uint8_t bytes[4] = {(uint8_t)c, (uint8_t)(c >> 8), (uint8_t)(c >> 16), (uint8_t)(c >> 24)};
        memcpy(w->points + w->point_count * w->width, bytes, w->width);
    }
}

#define SEEN_BITS 20

static void make_words(work *w)
{
    uint64_t *seen = calloc((size_t)1 << SEEN_BITS, sizeof *seen);
    const size_t pieces = split_all(w);
    w->words = take((pieces + 1) * sizeof *w->words);
    w->tokens = take((w->n + 1) * sizeof *w->tokens);
    CHECK(seen);
    for (size_t i = 0, at = 0; i < pieces; at = w->ends[i++]) {
        const size_t n = w->ends[i] - at;
        const uint64_t hash = st_hash_bytes(w->text + at, n);
        uint64_t *place = &seen[hash >> (64 - SEEN_BITS)];
        if (n < 2 || n > ST_WORD_BYTES || *place == hash)
            continue;
        *place = hash;
        w->words[w->count++] = (st_word){w->text + at, w->tokens + at, (uint32_t)n, 0};
    }
    free(seen);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        uint64_t (*round)(work *w);
        unsigned width;
    } stages[] = {{"check", check, 0}, {"str1", str, 1}, {"str2", str, 2}, {"str4", str, 4}, {"split", split, 0}, {"merge", merge, 0}};
    size_t stage = 0, bytes = 0;
    CHECK(count == 5);
    while (strcmp(stages[stage].name, arguments[1]))
        CHECK(++stage < sizeof stages / sizeof stages[0]);
    work w = {.width = stages[stage].width};
    w.text = read_text(arguments[2], &w.n);
    w.ends = take((w.n + 8192) * sizeof *w.ends);
    bytes = w.n;
    if (w.width)
        make_points(&w);
    if (stages[stage].round == merge) {
        source from = source_read(arguments[3]);
        w.vocab = source_vocab(&from, 0);
        make_words(&w);
        CHECK(st_vocab_cuts(w.vocab));
        for (size_t i = bytes = 0; i < w.count; i++)
            bytes += w.words[i].n;
    }
    uint64_t sum = 0, best = UINT64_MAX;
    for (int rounds = atoi(arguments[4]); rounds-- > 0;) {
        const uint64_t start = now();
        sum = stages[stage].round(&w);
        const uint64_t took = now() - start;
        best = took < best ? took : best;
    }
    if (w.width)
        bytes = (size_t)sum;
    printf("%s %zu %llu %llu\n", st_tier_name(), bytes, (unsigned long long)sum, (unsigned long long)best);
    return 0;
}
