/* The ids of a machine: what tools/emulate.py builds for each, and compares with those of the machine it runs on.
 *
 *     ids encode VOCABULARY FAMILY TEXTS RECORDS   the ids of every text, and the state of an encoder in its middle
 *     ids resume VOCABULARY FAMILY TEXTS RECORDS   goes on from states in RECORDS, which another machine may have written
 *     ids write  VOCABULARY IMAGE                  the vocabulary's tables as an image (image/image.h)
 *     ids open   VOCABULARY IMAGE FAMILY TEXTS     opens one, and encodes the texts with it
 *
 * Files hold little-endian numbers; a block is a number of four bytes and as many bytes.
 *
 *     VOCABULARY   number of tokens, for each its id and a block; number of words, a block each; the same as tokens for
 *                  special tokens
 *     TEXTS        number, a block each
 *     RECORDS      for each text: a block of ids; how many of them came before the state; a block that is the state
 *
 * Each text is encoded whole and in random chunks, where states are saved and loaded on the way, and decoded. Exit status 0:
 * all agreed; 3: the image was refused, and why is printed. C11 and its library alone, so that it runs wherever the core does. */
#include <stdio.h>
#include <stdlib.h>

#include "base/tier.h"
#include "image/frequent_words.h"
#include "image/image.h"
#include "models/models.h"
#include "split/dfa.h"
#include "stream/saved_state.h"
#include "vocab/decode.h"

static _Noreturn void fail(const char *what, const char *about, int line)
{
    fprintf(stderr, "line %d: %s: %s\n", line, what, about);
    exit(1);
}

#define CHECK(condition, about) ((condition) ? (void)0 : fail(#condition, about, __LINE__))

/* ---- files ---- */

typedef struct reader {
    uint8_t *data;
    size_t size, at;
} reader;

static reader read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    CHECK(file && !fseek(file, 0, SEEK_END), path);
    const long size = ftell(file);
    CHECK(size >= 0, path);
    rewind(file);
    reader r = {malloc((size_t)size + 1), (size_t)size, 0};
    CHECK(r.data && fread(r.data, 1, r.size, file) == r.size, path);
    fclose(file);
    return r;
}

static uint32_t get(reader *r)
{
    CHECK(r->size - r->at >= 4, "a file ends early");
    const uint8_t *p = r->data + r->at;
    r->at += 4;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static const uint8_t *get_block(reader *r, size_t *n)
{
    *n = get(r);
    CHECK(r->size - r->at >= *n, "a file ends early");
    r->at += *n;
    return r->data + r->at - *n;
}

static void put(FILE *file, uint32_t value)
{
    const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    CHECK(fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes, "writing");
}

static void put_bytes(FILE *file, const uint8_t *data, size_t n)
{
    CHECK(fwrite(data, 1, n, file) == n, "writing");
}

/* ---- the vocabulary ---- */

/* Blocks one behind the other, as the core takes them. */
typedef struct blocks {
    uint8_t *bytes;
    uint32_t *lengths, *ids;
    size_t count, size;
} blocks;

static blocks read_blocks(reader *r, int with_ids)
{
    blocks b = {.count = get(r)};
    b.bytes = malloc(r->size);
    b.lengths = malloc((b.count + 1) * sizeof *b.lengths);
    b.ids = malloc((b.count + 1) * sizeof *b.ids);
    CHECK(b.bytes && b.lengths && b.ids, "memory");
    for (size_t i = 0; i < b.count; i++) {
        size_t n;
        b.ids[i] = with_ids ? get(r) : (uint32_t)i;
        const uint8_t *block = get_block(r, &n);
        memcpy(b.bytes + b.size, block, n);
        b.size += n;
        b.lengths[i] = (uint32_t)n;
    }
    return b;
}

static void free_blocks(blocks *b)
{
    free(b->bytes);
    free(b->lengths);
    free(b->ids);
}

typedef struct encoding {
    st_vocab *vocab;
    st_special *special;
    st_names names;
    st_dfa *dfa;
    st_pattern pattern;
    blocks special_tokens;
    size_t *starts; /* of names */
} encoding;

static void set_special(encoding *e)
{
    blocks *s = &e->special_tokens;
    size_t *lengths = malloc((s->count + 1) * sizeof *lengths), at = 0;
    e->starts = malloc((s->count + 1) * sizeof *e->starts);
    CHECK(lengths && e->starts, "memory");
    for (size_t i = 0; i < s->count; i++) {
        lengths[i] = s->lengths[i];
        e->starts[i] = at;
        at += lengths[i];
    }
    e->starts[s->count] = at;
    CHECK(!st_special_new(s->bytes, lengths, s->ids, s->count, &e->special), "special tokens");
    e->names = (st_names){s->bytes, e->starts, s->ids, s->count};
    free(lengths);
}

static st_vocab *new_vocab(const blocks *tokens, const blocks *words)
{
    st_vocab_source source = {.bytes = tokens->bytes,
                              .lengths = tokens->lengths,
                              .ids = tokens->ids,
                              .count = tokens->count,
                              .words = words->count,
                              .model = &st_model_bpe};
    uint8_t *lengths = malloc(words->count + 1);
    st_vocab *vocab;
    size_t bad;
    CHECK(lengths, "memory");
    for (size_t i = 0; i < words->count; i++)
        lengths[i] = (uint8_t)words->lengths[i];
    const st_status status = st_vocab_new(&source, 0, &vocab, &bad);
    CHECK(!status, st_strerror(status));
    CHECK(!st_vocab_add_words(vocab, words->bytes, lengths, words->count), "words");
    free(lengths);
    return vocab;
}

static encoding read_encoding(const char *path, const char *family)
{
    encoding e = {0};
    st_split_family row = ST_SPLIT_R50K;
    reader r = read_file(path);
    blocks tokens = read_blocks(&r, 1), words = read_blocks(&r, 0);
    e.special_tokens = read_blocks(&r, 1);
    CHECK(r.at == r.size, path);
    while (row < ST_SPLIT_TABLE && strcmp(st_row_name(row), family))
        row++;
    if (row == ST_SPLIT_TABLE)
        row = ST_SPLIT_NONE;
    else
        CHECK(!st_dfa_of_row(row, &e.dfa), family);
    e.pattern = st_pattern_of(row, e.dfa);
    e.vocab = new_vocab(&tokens, &words);
    set_special(&e);
    free_blocks(&tokens);
    free_blocks(&words);
    free(r.data);
    return e;
}

static void free_encoding(encoding *e)
{
    st_dfa_free(e->dfa);
    st_vocab_free(e->vocab);
    st_special_free(e->special);
    free_blocks(&e->special_tokens);
    free(e->starts);
}

/* ---- encoding ---- */

static uint64_t chance = 1;

static size_t below(size_t n)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(chance >> 33) % n;
}

static void begin(const encoding *c, st_encoder *e)
{
    st_encoder_init(e, c->vocab, c->pattern);
    e->allowed = c->special;
}

static void feed(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out)
{
    st_feed_error error;
    const st_status status = st_encoder_feed(e, text, n, flags, out, &error);
    CHECK(!status, st_strerror(status));
}

static void save(const st_encoder *e, st_bytes *state)
{
    state->size = 0;
    CHECK(!st_encoder_save(e, state), "save");
}

static void load(const encoding *c, st_encoder *e, const uint8_t *state, size_t n)
{
    begin(c, e);
    const st_status status = st_encoder_load(e, state, n);
    CHECK(!status, st_strerror(status));
}

static int same(const st_ids *a, const uint32_t *b, size_t n)
{
    return a->size == n && (!n || !memcmp(a->data, b, n * sizeof *b));
}

static void check_chunks(const encoding *c, const uint8_t *text, size_t n, const st_ids *want)
{
    const size_t most = below(2) ? 8 : 300;
    st_bytes state = {0};
    st_ids got = {0};
    st_encoder e;
    begin(c, &e);
    for (size_t at = 0, size; at < n; at += size) {
        size = 1 + below(most);
        size = size < n - at ? size : n - at;
        feed(&e, text + at, size, 0, &got);
        if (below(20) == 0) {
            save(&e, &state);
            st_encoder_free(&e);
            load(c, &e, state.data, state.size);
        }
    }
    feed(&e, NULL, 0, ST_FEED_FINAL, &got);
    CHECK(same(&got, want->data, want->size), "chunks");
    st_encoder_free(&e);
    st_ids_free(&got);
    st_bytes_free(&state);
}

static void check_decoded(const encoding *c, const uint8_t *text, size_t n, const st_ids *ids)
{
    st_bytes out = {0};
    size_t bad;
    CHECK(!st_decode(c->vocab, &c->names, ids->data, ids->size, &out, &bad), "decode");
    CHECK(out.size == n && (!n || !memcmp(out.data, text, n)), "decoded");
    st_bytes_free(&out);
}

static void check_reference(const encoding *c, const uint8_t *text, size_t n, const st_ids *want)
{
    st_ids got = {0};
    st_encoder e;
    begin(c, &e);
    e.engine = ST_ENGINE_REFERENCE;
    feed(&e, text, n, ST_FEED_FINAL, &got);
    CHECK(same(&got, want->data, want->size), "reference engine");
    st_encoder_free(&e);
    st_ids_free(&got);
}

static void encode(const encoding *c, const uint8_t *text, size_t n, st_ids *ids)
{
    st_encoder e;
    begin(c, &e);
    ids->size = 0;
    feed(&e, text, n, ST_FEED_FINAL, ids);
    st_encoder_free(&e);
}

/* ---- commands ---- */

#define MIDDLE(n) ((n) / 2) /* where a record's state was saved */

static void write_record(const encoding *c, const uint8_t *text, size_t n, const st_ids *ids, FILE *records)
{
    st_bytes state = {0};
    st_ids first = {0};
    st_encoder e;
    begin(c, &e);
    feed(&e, text, MIDDLE(n), 0, &first);
    save(&e, &state);
    put(records, (uint32_t)(4 * ids->size));
    for (size_t i = 0; i < ids->size; i++)
        put(records, ids->data[i]);
    put(records, (uint32_t)first.size);
    put(records, (uint32_t)state.size);
    put_bytes(records, state.data, state.size);
    st_encoder_free(&e);
    st_ids_free(&first);
    st_bytes_free(&state);
}

static void encode_all(const encoding *c, const char *texts, FILE *records)
{
    reader r = read_file(texts);
    st_ids ids = {0};
    for (size_t left = get(&r), n; left; left--) {
        const uint8_t *text = get_block(&r, &n);
        encode(c, text, n, &ids);
        check_chunks(c, text, n, &ids);
        check_decoded(c, text, n, &ids);
        if (n < 2000)
            check_reference(c, text, n, &ids);
        if (records)
            write_record(c, text, n, &ids, records);
    }
    st_ids_free(&ids);
    free(r.data);
}

static void resume_all(const encoding *c, const char *texts, const char *path)
{
    reader r = read_file(texts), records = read_file(path);
    st_ids ids = {0};
    for (size_t left = get(&r), n, size; left; left--) {
        const uint8_t *text = get_block(&r, &n);
        const size_t count = get(&records) / 4;
        uint32_t *want = malloc((count + 1) * sizeof *want);
        CHECK(want, "memory");
        for (size_t i = 0; i < count; i++)
            want[i] = get(&records);
        const size_t first = get(&records);
        const uint8_t *state = get_block(&records, &size);
        st_encoder e;
        load(c, &e, state, size);
        ids.size = 0;
        feed(&e, text + MIDDLE(n), n - MIDDLE(n), ST_FEED_FINAL, &ids);
        CHECK(first <= count && same(&ids, want + first, count - first), "gone on from a state");
        st_encoder_free(&e);
        free(want);
    }
    st_ids_free(&ids);
    free(r.data);
    free(records.data);
}

static void write_image(const encoding *c, FILE *file)
{
    st_bytes image = {0};
    CHECK(!st_image_write(c->vocab, 0, &image), "image");
    put_bytes(file, image.data, image.size);
    st_bytes_free(&image);
}

/* Encodes the texts with the vocabulary of an image; 3 if it is refused. */
static int open_image(encoding *c, const char *path, const char *texts)
{
    reader r = read_file(path);
    uint8_t *room = malloc(r.size + 64), *image = room + (64 - (uintptr_t)room % 64) % 64;
    st_vocab *vocab;
    CHECK(room, "memory");
    memcpy(image, r.data, r.size);
    const st_status status = st_image_open(image, r.size, st_model_named, &vocab);
    if (status) {
        printf("%s\n", st_strerror(status));
    } else {
        st_vocab_free(c->vocab);
        c->vocab = vocab;
        encode_all(c, texts, NULL);
        st_vocab_free(vocab);
        c->vocab = NULL;
    }
    free(room);
    free(r.data);
    return status ? 3 : 0;
}

static FILE *create(const char *path)
{
    FILE *file = fopen(path, "wb");
    CHECK(file, path);
    return file;
}

int main(int argc, char **argv)
{
    CHECK(argc == 6 || (argc == 4 && !strcmp(argv[1], "write")), "wrong arguments");
    const int opening = !strcmp(argv[1], "open");
    encoding c = read_encoding(argv[2], argc == 6 ? argv[opening ? 4 : 3] : "none");
    int result = 0;
    FILE *file = NULL;
    if (opening) {
        result = open_image(&c, argv[3], argv[5]);
    } else if (!strcmp(argv[1], "write")) {
        write_image(&c, file = create(argv[3]));
    } else if (!strcmp(argv[1], "encode")) {
        encode_all(&c, argv[4], file = create(argv[5]));
    } else {
        resume_all(&c, argv[4], argv[5]);
    }
    CHECK(!file || !fclose(file), "writing");
    free_encoding(&c);
    CHECK(st_alloc_read().live == 0, "blocks are left");
    if (!result)
        printf("tier %s\n", st_tier_name());
    return result;
}
