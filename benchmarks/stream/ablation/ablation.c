/* The steps from a naive streaming encoder to the shipped one, each timed on the same texts in 4 KB chunks.
 *
 *     ablation VOCABULARY CHUNK DENSE_SIDE IDS TEXT...
 *
 * Prints a line for each text and row: row, text, nanoseconds, bytes allocated, allocations, ids. Then every row
 * encodes the text again, untimed: these ids are compared with the other rows', their checksum with the timed pass's,
 * and they go to IDS.<number of the text>, for run.py to compare with tiktoken's.
 *
 * All rows stream exactly: the open piece waits for the next chunk, in the same shell (struct stream). What they differ
 * in is how a piece becomes ids, and who owns the memory.
 *
 * POSIX, for its clock of processor time. pairs/merge_reference.c is included, not linked, for the sizes of its private structs. */
#define _POSIX_C_SOURCE 199309L
#include "pairs/merge_reference.c"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/utf8.h"
#include "models/models.h"
#include "split/dfa.h"
#include "stream/encoder.h"

enum row { NAIVE, FAST_LOOKUP, SCRATCH_REUSE, OUTPUT_REUSE, ZERO_COPY, SHIPPED, ROWS };

static const char *const row_names[ROWS] = {"naive", "lookup", "scratch", "output", "zerocopy", "shipped"};

#define SCRATCH_A_BYTE (sizeof(symbol) + 3 * sizeof(candidate))

typedef struct stream {
    enum row row;
    st_vocab *vocab;
    st_scan scan;
    st_bytes open;                /* the open piece, and a cut character behind it */
    size_t scanned;               /* bytes of `open` that the scanner has read */
    st_reference_scratch scratch; /* SCRATCH_REUSE and later */
    st_ids out;                   /* OUTPUT_REUSE and later */
    st_encoder encoder;           /* SHIPPED */
} stream;

/* The result of one pass: ids to compare, or a checksum of them, which takes hardly any time. */
typedef struct pass_result {
    uint32_t *ids; /* NULL: checksum only */
    size_t count;
    uint64_t sum, sum_of_sums;
} pass_result;

static st_pattern pattern;

static void die(const char *what)
{
    fprintf(stderr, "ablation: %s\n", what);
    exit(1);
}

static void check(st_status status)
{
    if (status)
        die(st_strerror(status));
}

/* ---- one piece, four ways ---- */

/* As a naive function does it: new zeroed scratch, and a new array of ids as the result. */
static st_ids merge_anew(const st_pairs *pairs, const uint8_t *text, size_t n)
{
    st_reference_scratch scratch = {st_calloc(n, SCRATCH_A_BYTE), n};
    st_ids ids = {0};
    if (!scratch.block)
        die("out of memory");
    check(st_reference_merge(pairs, text, n, &scratch, &ids));
    st_reference_scratch_free(&scratch);
    return ids;
}

static void append_and_free(st_ids *out, st_ids *ids)
{
    check(st_ids_reserve(out, ids->size));
    memcpy(out->data + out->size, ids->data, ids->size * sizeof *ids->data);
    out->size += ids->size;
    st_ids_free(ids);
}

static void encode_piece(stream *s, const uint8_t *text, size_t n, st_ids *out)
{
    const st_pairs *pairs = &s->vocab->pairs;
    st_ids ids = {0};
    size_t first = out->size;
    if (s->row <= FAST_LOOKUP) {
        ids = merge_anew(pairs, text, n);
        append_and_free(out, &ids);
    } else if (s->row == SCRATCH_REUSE) {
        check(st_reference_merge(pairs, text, n, &s->scratch, &ids));
        append_and_free(out, &ids);
    } else {
        check(st_reference_merge(pairs, text, n, &s->scratch, out));
    }
    for (size_t i = first; i < out->size; i++)
        out->data[i] = s->vocab->ids[out->data[i]];
}

/* ---- the shell of the first five rows ---- */

static void encode_ended(stream *s, const uint64_t *ends, size_t count, size_t *start, st_ids *out)
{
    size_t origin = *start; /* ends count from the piece that was open when the scan was called */
    for (size_t i = 0; i < count; i++) {
        size_t end = origin + (size_t)ends[i];
        encode_piece(s, s->open.data + *start, end - *start, out);
        *start = end;
    }
}

static void feed_shell(stream *s, const uint8_t *text, size_t n, int final, st_ids *out)
{
    uint64_t ends[64];
    size_t start = 0, used, count;
    check(st_bytes_append(&s->open, text, n));
    size_t whole = s->open.size - (final ? 0 : st_utf8_unfinished(s->open.data, s->open.size));
    while (s->scanned < whole) {
        count = st_scan_feed(pattern, &s->scan, s->open.data + s->scanned, whole - s->scanned, &used, ends, 64);
        s->scanned += used;
        encode_ended(s, ends, count, &start, out);
    }
    if (final) {
        count = st_scan_finish(pattern, &s->scan, ends);
        encode_ended(s, ends, count, &start, out);
    }
    st_bytes_drop(&s->open, start);
    s->scanned -= start;
}

/* ---- one call, and what the caller does with its result ---- */

static void consume(pass_result *result, const uint32_t *ids, size_t n)
{
    if (result->ids) {
        memcpy(result->ids + result->count, ids, n * sizeof *ids);
    } else {
        for (size_t i = 0; i < n; i++)
            result->sum_of_sums += result->sum += ids[i];
    }
    result->count += n;
}

static void feed(stream *s, const uint8_t *text, size_t n, int final, pass_result *result)
{
    st_feed_error error;
    st_ids fresh = {0}, *out = s->row >= OUTPUT_REUSE ? &s->out : &fresh;
    s->out.size = 0;
    if (s->row == SHIPPED)
        check(st_encoder_feed(&s->encoder, text, n, final ? ST_FEED_FINAL : 0, out, &error));
    else
        feed_shell(s, text, n, final, out);
    if (s->row == OUTPUT_REUSE) { /* the buffer stays with the stream: the caller gets a copy */
        check(st_ids_reserve(&fresh, out->size));
        memcpy(fresh.data, out->data, out->size * sizeof *out->data);
        fresh.size = out->size;
        out = &fresh;
    }
    consume(result, out->data, out->size);
    st_ids_free(&fresh);
}

static void encode_text(stream *s, const uint8_t *text, size_t n, size_t chunk, pass_result *result)
{
    for (size_t at = 0; at < n; at += chunk)
        feed(s, text + at, n - at < chunk ? n - at : chunk, 0, result);
    feed(s, text, 0, 1, result);
}

static uint8_t *read_file(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END))
        die(path);
    long size = ftell(file);
    uint8_t *data = size < 0 ? NULL : malloc((size_t)size + 1);
    if (!data || fseek(file, 0, SEEK_SET) || fread(data, 1, (size_t)size, file) != (size_t)size)
        die(path);
    fclose(file);
    *n = (size_t)size;
    return data;
}

/* run.py writes uint32: count, lengths, ids, splits; then the tokens' bytes. */
static st_vocab *load(const char *path, uint32_t dense_side)
{
    size_t size, bad;
    uint8_t *data = read_file(path, &size);
    const uint32_t *words = (const uint32_t *)(const void *)data;
    size_t count = words[0];
    const uint32_t *lengths = words + 1, *ids = lengths + count, *splits = ids + count;
    st_vocab_source source = {.bytes = (const uint8_t *)(splits + count), .lengths = lengths, .ids = ids, .splits = splits, .count = count,
                               .model = &st_model_bpe};
    st_vocab *vocab = NULL;
    check(st_vocab_new(&source, dense_side, &vocab, &bad));
    if (vocab->unreachable)
        die("the first rows merge only: a vocabulary with unreachable tokens needs the look-up of whole pieces");
    free(data);
    return vocab;
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A timed pass, and the line about it. */
static pass_result time_row(stream *s, const char *path, const uint8_t *text, size_t n, size_t chunk)
{
    pass_result result = {0};
    st_alloc_counts before = st_alloc_read();
    int64_t start = now();
    encode_text(s, text, n, chunk, &result);
    int64_t spent = now() - start;
    st_alloc_counts after = st_alloc_read();
    printf("%s %s %" PRId64 " %" PRIu64 " %" PRIu64 " %zu\n", row_names[s->row], path, spent, after.bytes - before.bytes,
           after.calls - before.calls, result.count);
    return result;
}

/* An untimed pass: its ids against the other rows', its checksum against the timed pass. */
static void check_row(stream *s, const uint8_t *text, size_t n, size_t chunk, const pass_result *timed, pass_result *expected)
{
    pass_result again = {malloc((n + 1) * sizeof(uint32_t)), 0, 0, 0}, sums = {0};
    if (!again.ids)
        die("out of memory");
    encode_text(s, text, n, chunk, &again);
    consume(&sums, again.ids, again.count);
    if (again.count != timed->count || sums.sum != timed->sum || sums.sum_of_sums != timed->sum_of_sums)
        die("two passes of one row differ");
    if (!expected->ids) {
        *expected = again;
        return;
    }
    if (again.count != expected->count || memcmp(again.ids, expected->ids, again.count * sizeof *again.ids))
        die("two rows differ");
    free(again.ids);
}

static void write_ids(const char *stem, int number, const pass_result *ids)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", stem, number);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(ids->ids, sizeof *ids->ids, ids->count, file) != ids->count || fclose(file))
        die(path);
}

/* All rows encode a text before the next text is begun, and another row is first each time. */
static void measure_text(stream *streams, const char *path, int number, size_t chunk, const char *out)
{
    size_t n;
    uint8_t *text = read_file(path, &n);
    pass_result timed[ROWS], expected = {0};
    for (int i = 0; i < ROWS; i++) {
        int row = (number + i) % ROWS;
        timed[row] = time_row(&streams[row], path, text, n, chunk);
    }
    for (int row = 0; row < ROWS; row++)
        check_row(&streams[row], text, n, chunk, &timed[row], &expected);
    write_ids(out, number, &expected);
    free(expected.ids);
    free(text);
}

/* Builds what a vocabulary needs for its first long piece, which is no part of an op. */
static void warm_up(stream *s, size_t chunk)
{
    static uint8_t text[6000];
    pass_result unused = {0};
    memset(text, 'a', 3000);
    for (size_t i = 3000; i < 6000; i += 3)
        memcpy(text + i, i % 2 ? "\xE4\xB8\xAD" : "\xE6\x96\x87", 3);
    encode_text(s, text, sizeof text, chunk, &unused);
}

int main(int count, char **arguments)
{
    if (count < 6)
        die("VOCABULARY CHUNK DENSE_SIDE IDS TEXT...");
    size_t chunk = strtoul(arguments[2], NULL, 10);
    uint32_t side = (uint32_t)strtoul(arguments[3], NULL, 10);
    st_vocab *hashed = load(arguments[1], 1), *dense = load(arguments[1], side); /* a grid of side 1 is no grid */
    st_dfa *table;
    check(st_dfa_of_row(ST_SPLIT_R50K, &table));
    pattern = st_pattern_of(ST_SPLIT_R50K, table);
    static stream streams[ROWS];
    for (int row = 0; row < ROWS; row++) {
        streams[row].row = (enum row)row;
        streams[row].vocab = row == NAIVE ? hashed : dense;
        st_scan_init(&streams[row].scan);
    }
    st_encoder_init(&streams[SHIPPED].encoder, dense, pattern);
    for (int row = 0; row < ROWS; row++)
        warm_up(&streams[row], chunk);
    for (int i = 5; i < count; i++)
        measure_text(streams, arguments[i], i - 5, chunk, arguments[4]);
    return 0;
}
