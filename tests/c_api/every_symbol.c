/* Each function of streamtok.h, its results and its refusals, with one model; then each again while memory runs out at each allocation,
 * by functions of the caller's; at last several threads. A path of a compiled model with special tokens and a template is the argument. */
#include <pthread.h>

#include "check.h"

static const char *path;
static const char TEXT[] = "hello world 123 don't <s>x</s> caf\xC3\xA9 hello hello";

/* ---- one model ---- */

static stk_model *open_model(void)
{
    stk_model *model;
    CHECK(stk_model_open(path, &model) == STK_OK && model);
    return model;
}

static stk_coder *coder_of(stk_model *model, uint32_t special, uint32_t flags)
{
    const stk_options options = {.size = sizeof options, .special = special, .flags = flags};
    stk_coder *coder;
    CHECK(stk_coder_new(model, &options, &coder) == STK_OK && coder);
    return coder;
}

static char *contents(size_t *n)
{
    FILE *file = fopen(path, "rb");
    CHECK(file && !fseek(file, 0, SEEK_END));
    *n = (size_t)ftell(file);
    char *data = malloc(*n + 1);
    rewind(file);
    CHECK(data && fread(data, 1, *n, file) == *n);
    fclose(file);
    return data;
}

static void test_versions_and_messages(void)
{
    CHECK(stk_abi_version() == STK_ABI_VERSION && stk_version()[0]);
    for (int status = STK_OK; status <= STK_UNSUPPORTED; status++) {
        CHECK(strcmp(stk_message((stk_status)status), "unknown status"));
        for (int other = STK_OK; other < status; other++)
            CHECK(strcmp(stk_message((stk_status)status), stk_message((stk_status)other)));
    }
    CHECK(!strcmp(stk_message((stk_status)99), "unknown status"));
}

static void test_models(void)
{
    size_t n, prefix, suffix;
    const uint32_t *before, *behind;
    stk_model *model, *other = (stk_model *)1;
    stk_text name, bytes;
    uint32_t id, found;
    int is_special;
    CHECK(stk_model_open("/no/such/file.stm", &other) == STK_NO_FILE && !other);
    CHECK(stk_model_open("/", &other) == STK_NO_FILE && stk_model_open(NULL, &other) == STK_BAD_ARGUMENT);
    CHECK(stk_model_open(__FILE__, &other) == STK_NOT_A_MODEL && !other);
    char *data = contents(&n);
    CHECK(stk_model_open_memory(data, n, &model) == STK_OK);
    CHECK(stk_model_open_memory(data, n - 1, &other) == STK_DAMAGED && stk_model_open_memory("", 0, &other) == STK_NOT_A_MODEL);
    data[n / 2] ^= 1;
    CHECK(stk_model_open_memory(data, n, &other) == STK_DAMAGED);
    data[8]++;
    CHECK(stk_model_open_memory(data, n, &other) == STK_OTHER_VERSION);
    data[12] ^= 5;
    CHECK(stk_model_open_memory(data, n, &other) == STK_OTHER_MACHINE && stk_model_open_memory(NULL, 9, &other) == STK_BAD_ARGUMENT);
    free(data);
    CHECK(stk_model_name(model).size && stk_model_vocab_size(model) > 256);
    CHECK(stk_model_special_count(model) > 1);
    for (size_t i = 0; i < stk_model_special_count(model); i++) {
        CHECK(stk_model_special(model, i, &name, &id, &is_special) == STK_OK && name.size && id < stk_model_vocab_size(model));
        CHECK(stk_model_find(model, name.data, name.size, &found) == STK_OK && found == id);
        CHECK(stk_model_token(model, id, &bytes) == STK_OK && bytes.size == name.size && !memcmp(bytes.data, name.data, name.size));
    }
    CHECK(stk_model_special(model, stk_model_special_count(model), &name, &id, NULL) == STK_BAD_ARGUMENT);
    CHECK(stk_model_find(model, "\xFF\xFE no token", 11, &found) == STK_UNKNOWN_NAME);
    CHECK(stk_model_token(model, UINT32_MAX, &bytes) == STK_UNKNOWN_ID && stk_model_token(model, stk_model_vocab_size(model), &bytes) == STK_UNKNOWN_ID);
    stk_model_template(model, &before, &prefix, &behind, &suffix);
    CHECK(prefix + suffix > 0);
    stk_model_free(model);
    stk_model_free(NULL);
}

static void test_coders(void)
{
    stk_model *model = open_model();
    stk_text names[2] = {text_of("<s>"), text_of("<none>")};
    stk_options o = {.size = sizeof o, .allowed = names, .allowed_count = 1};
    stk_coder *coder;
    stk_fault fault = {.size = sizeof fault};
    uint32_t few[2];
    size_t n;
    CHECK(stk_coder_new(model, &o, &coder) == STK_OK);
    stk_coder_free(coder);
    o.allowed_count = 2;
    CHECK(stk_coder_new(model, &o, &coder) == STK_UNKNOWN_NAME && !coder);
    o.allowed_count = 1;
    o.special = STK_SPECIAL_IS_TEXT;
    o.refused = names;
    o.refused_count = 1;
    CHECK(stk_coder_new(model, &o, &coder) == STK_BAD_ARGUMENT);
    o.allowed_count = 0;
    CHECK(stk_coder_new(model, &o, &coder) == STK_OK);
    CHECK(stk_encode(coder, "ab<s>", 5, few, 2, &n, &fault) == STK_SPECIAL_REFUSED && fault.offset == 2);
    stk_text refused;
    CHECK(stk_model_special(model, (size_t)fault.index, &refused, NULL, NULL) == STK_OK && refused.size == 3 && !memcmp(refused.data, "<s>", 3));
    stk_coder_free(coder);
    o.special = 9;
    CHECK(stk_coder_new(model, &o, &coder) == STK_BAD_ARGUMENT && stk_coder_new(NULL, NULL, &coder) == STK_BAD_ARGUMENT);
    CHECK(stk_coder_new(model, NULL, &coder) == STK_OK);
    stk_model_free(model); /* the coder keeps it */
    CHECK(stk_encode(coder, "a\xFF", 2, few, 2, &n, &fault) == STK_NOT_UTF8 && fault.offset == 1);
    CHECK(stk_encode(coder, NULL, 3, few, 2, &n, NULL) == STK_BAD_ARGUMENT && stk_encode(coder, NULL, 0, NULL, 0, &n, NULL) == STK_OK && !n);
    const ids whole = encoded(coder, "hello world hello world");
    CHECK(stk_encode(coder, "hello world hello world", 23, few, 2, &n, NULL) == STK_MORE && n == whole.n && same(&(ids){{whole.at[0], whole.at[1]}, 2}, few, 2));
    CHECK(stk_count(coder, "hello world hello world", 23, &n, NULL) == STK_OK && n == whole.n);
    CHECK(stk_count(coder, "a\xFF", 2, &n, &fault) == STK_NOT_UTF8 && stk_count(NULL, "", 0, &n, NULL) == STK_BAD_ARGUMENT);
    stk_coder_free(coder);
    stk_coder_free(NULL);
}

static void test_offsets_and_segments(void)
{
    stk_model *model = open_model();
    stk_coder *coder = coder_of(model, STK_ALLOW_SPECIAL, 0);
    const ids whole = encoded(coder, TEXT);
    ids made;
    uint64_t offsets[ROOM], starts[4];
    CHECK(stk_encode_offsets(coder, TEXT, strlen(TEXT), made.at, offsets, ROOM, &made.n, NULL) == STK_OK && same(&whole, made.at, made.n));
    CHECK(offsets[0] == 0 && offsets[made.n - 1] < strlen(TEXT));
    CHECK(stk_encode_offsets(coder, "\xFF", 1, made.at, offsets, ROOM, &made.n, NULL) == STK_NOT_UTF8);
    const stk_segment parts[3] = {{"<s>", 3, 1}, {"user <s>", 8, 0}, {"</s>", 4, 1}};
    CHECK(stk_encode_segments(coder, parts, 3, made.at, ROOM, &made.n, starts, NULL) == STK_OK);
    uint32_t begin, end;
    CHECK(stk_model_find(model, "<s>", 3, &begin) == STK_OK && stk_model_find(model, "</s>", 4, &end) == STK_OK);
    CHECK(made.at[0] == begin && made.at[made.n - 1] == end && starts[0] == 0 && starts[1] == 1 && starts[3] == made.n);
    for (size_t i = 1; i + 1 < made.n; i++)
        CHECK(made.at[i] != begin);
    CHECK(stk_encode_segments(coder, NULL, 1, made.at, ROOM, &made.n, NULL, NULL) == STK_BAD_ARGUMENT);
    stk_coder_free(coder);
    stk_model_free(model);
}

static void test_batches(void)
{
    stk_model *model = open_model();
    stk_coder *coder = coder_of(model, STK_ALLOW_SPECIAL, STK_ADD_TEMPLATE);
    const stk_text texts[3] = {text_of(TEXT), text_of(""), text_of("hello")};
    stk_fault fault = {.size = sizeof fault};
    size_t n, rows;
    stk_pool *pool;
    stk_batch *batch;
    CHECK(stk_pool_new(3, &pool) == STK_OK && stk_pool_new(1, NULL) == STK_BAD_ARGUMENT);
    for (int with_pool = 0; with_pool < 2; with_pool++) {
        CHECK(stk_encode_batch(coder, with_pool ? pool : NULL, texts, 3, &batch, NULL) == STK_OK);
        const uint32_t *all = stk_batch_ids(batch, &n);
        const uint64_t *starts = stk_batch_starts(batch, &rows);
        CHECK(rows == 3 && starts[0] == 0 && starts[3] == n);
        for (size_t i = 0; i < 3; i++) {
            const ids one = encoded(coder, texts[i].data);
            CHECK(same(&one, all + starts[i], (size_t)(starts[i + 1] - starts[i])));
        }
        stk_batch_free(batch);
    }
    const stk_text bad[2] = {text_of("a"), text_of("ab\xFF")};
    CHECK(stk_encode_batch(coder, pool, bad, 2, &batch, &fault) == STK_NOT_UTF8 && !batch && fault.row == 1 && fault.offset == 2);
    CHECK(stk_encode_batch(NULL, pool, bad, 2, &batch, NULL) == STK_BAD_ARGUMENT);
    stk_batch_free(NULL);
    stk_pool_free(pool);
    stk_pool_free(NULL);
    stk_coder_free(coder);
    stk_model_free(model);
}

static void test_streams(void)
{
    stk_model *model = open_model();
    stk_coder *coder = coder_of(model, STK_ALLOW_SPECIAL, STK_ADD_TEMPLATE);
    const ids whole = encoded(coder, TEXT);
    stk_stream *stream, *twin;
    ids made = {.n = 0};
    size_t n;
    CHECK(stk_stream_new(coder, &stream) == STK_OK && stk_stream_new(NULL, &twin) == STK_BAD_ARGUMENT);
    stk_coder_free(coder);
    stk_model_free(model); /* the stream keeps both */
    for (int round = 0; round < 2; round++) {
        made.n = 0;
        for (size_t i = 0; i < strlen(TEXT); i++) {
            stk_status status = stk_stream_feed(stream, TEXT + i, 1, made.at + made.n, 1, &n, NULL);
            for (made.n += n; status == STK_MORE; made.n += n)
                status = stk_stream_take(stream, made.at + made.n, 1, &n);
            CHECK(status == STK_OK);
        }
        CHECK(stk_stream_pending(stream) > 0 && stk_stream_copy(stream, &twin) == STK_OK);
        CHECK(stk_stream_flush(stream, made.at + made.n, ROOM - made.n, &n, NULL) == STK_OK && same(&whole, made.at, made.n + n));
        CHECK(stk_stream_flush(twin, made.at + made.n, ROOM - made.n, &n, NULL) == STK_OK && same(&whole, made.at, made.n + n));
        stk_stream_free(twin);
    }
    CHECK(stk_stream_feed(stream, "a\xFF", 2, made.at, ROOM, &n, NULL) == STK_NOT_UTF8);
    CHECK(stk_stream_feed(stream, "abc", 3, made.at, 0, &n, NULL) <= STK_MORE);
    stk_stream_reset(stream);
    CHECK(!stk_stream_pending(stream) && stk_stream_feed(stream, TEXT, strlen(TEXT), made.at, ROOM, &made.n, NULL) == STK_OK);
    CHECK(stk_stream_flush(stream, made.at + made.n, ROOM - made.n, &n, NULL) == STK_OK && same(&whole, made.at, made.n + n));
    stk_stream_free(stream);
    stk_stream_free(NULL);
}

static void test_sessions(void)
{
    stk_model *model = open_model();
    stk_coder *coder = coder_of(model, STK_ALLOW_SPECIAL, STK_ADD_TEMPLATE);
    stk_session *session;
    size_t keep, n, mark;
    CHECK(stk_session_new(coder, &session) == STK_OK);
    CHECK(stk_session_append(session, "hello wor", 9, &keep, NULL) == STK_OK && stk_session_mark(session, &mark) == STK_OK && mark == 0);
    CHECK(stk_session_append(session, "ld 123", 6, &keep, NULL) == STK_OK && stk_session_size(session) == 15);
    const ids longer = encoded(coder, "hello world 123"), shorter = encoded(coder, "hello wor");
    const uint32_t *all = stk_session_ids(session, &n);
    CHECK(same(&longer, all, n) && keep < n);
    CHECK(stk_session_rollback(session, 1) == STK_BAD_ARGUMENT && stk_session_rollback(session, 0) == STK_OK);
    all = stk_session_ids(session, &n);
    CHECK(same(&shorter, all, n) && stk_session_size(session) == 9);
    CHECK(stk_session_append(session, "\xFF", 1, &keep, NULL) == STK_NOT_UTF8);
    all = stk_session_ids(session, &n);
    CHECK(same(&shorter, all, n));
    stk_session_free(session);
    stk_session_free(NULL);
    stk_coder_free(coder);
    stk_model_free(model);
}

static void test_decoding(void)
{
    stk_model *model = open_model();
    stk_coder *coder = coder_of(model, STK_ALLOW_SPECIAL, 0);
    const ids whole = encoded(coder, TEXT);
    const stk_text stop[2] = {text_of("don"), text_of("123 d")}, empty = {"", 0};
    stk_fault fault = {.size = sizeof fault};
    stk_decoder *decoder, *twin;
    char text[ROOM];
    size_t n, at = 0;
    CHECK(stk_decode(model, whole.at, whole.n, 0, text, ROOM, &n, NULL) == STK_OK && n == strlen(TEXT) && !memcmp(text, TEXT, n));
    CHECK(stk_decode(model, whole.at, whole.n, STK_RAW_BYTES, text, 4, &n, NULL) == STK_MORE && n == strlen(TEXT) && !memcmp(text, "hell", 4));
    CHECK(stk_decode(model, whole.at, whole.n, STK_SKIP_SPECIAL, text, ROOM, &n, NULL) == STK_OK && n == strlen(TEXT) - 7);
    const uint32_t unknown[2] = {whole.at[0], 0xFFFFFFF0u};
    CHECK(stk_decode(model, unknown, 2, 0, text, ROOM, &n, &fault) == STK_UNKNOWN_ID && fault.index == 1);
    CHECK(stk_decode(model, unknown, 1, 99, text, ROOM, &n, NULL) == STK_BAD_ARGUMENT);
    CHECK(stk_decoder_new(model, 0, &empty, 1, &decoder) == STK_BAD_ARGUMENT && stk_decoder_new(model, 0, stop, 2, &decoder) == STK_OK);
    stk_model_free(model); /* the decoder keeps it */
    CHECK(stk_decoder_feed(decoder, unknown, 2, text, ROOM, &n, &fault) == STK_UNKNOWN_ID);
    for (size_t i = 0; i < whole.n; i++) {
        stk_status status = stk_decoder_feed(decoder, &whole.at[i], 1, text + at, 2, &n, NULL);
        for (at += n; status == STK_MORE; at += n)
            status = stk_decoder_take(decoder, text + at, 2, &n);
        CHECK(status == STK_OK);
    }
    CHECK(stk_decoder_copy(decoder, &twin) == STK_OK && stk_decoder_stopped(twin) == 1);
    CHECK(at == 12 && !memcmp(text, TEXT, at) && stk_decoder_stopped(decoder) == 1);
    CHECK(stk_decoder_flush(decoder, text, ROOM, &n) == STK_OK && !n && stk_decoder_stopped(decoder) == -1);
    stk_decoder_reset(twin);
    CHECK(stk_decoder_stopped(twin) == -1 && stk_decoder_feed(twin, whole.at, 1, text, ROOM, &n, NULL) == STK_OK);
    stk_decoder_free(twin);
    stk_decoder_free(decoder);
    stk_decoder_free(NULL);
    stk_coder_free(coder);
}

/* ---- memory that runs out ---- */

static long allowed;

static void *allocate(size_t size, void *context)
{
    CHECK(context == &allowed);
    return allowed-- > 0 ? malloc(size) : NULL;
}

static void *resize(void *block, size_t size, void *context)
{
    CHECK(context == &allowed);
    return allowed-- > 0 ? realloc(block, size) : NULL;
}

static void release(void *block, void *context)
{
    CHECK(context == &allowed);
    free(block);
}

typedef struct all_objects {
    stk_model *model;
    stk_coder *coder;
    stk_stream *stream, *stream_copy;
    stk_session *session;
    stk_decoder *decoder, *decoder_copy;
    stk_pool *pool;
    stk_batch *batch;
} all_objects;

#define TRY(call)                                  \
    do {                                           \
        const stk_status status = (call);          \
        if (status == STK_NO_MEMORY)               \
            return status;                         \
        CHECK(status == STK_OK);                   \
    } while (0)

static stk_status use_all(all_objects *o, const char *data, size_t size)
{
    const stk_options options = {.size = sizeof options, .special = STK_ALLOW_SPECIAL, .flags = STK_ADD_TEMPLATE};
    const stk_text stop = text_of("never"), texts[2] = {text_of(TEXT), text_of("b")};
    const stk_segment parts[2] = {{"<s>a", 4, 1}, {"b<s>", 4, 0}};
    ids made;
    uint64_t offsets[ROOM];
    char text[ROOM];
    size_t n, keep, mark;
    TRY(stk_model_open_memory(data, size, &o->model));
    TRY(stk_coder_new(o->model, &options, &o->coder));
    TRY(stk_encode(o->coder, TEXT, strlen(TEXT), made.at, ROOM, &made.n, NULL));
    TRY(stk_count(o->coder, TEXT, strlen(TEXT), &n, NULL));
    TRY(stk_encode_offsets(o->coder, TEXT, strlen(TEXT), made.at, offsets, ROOM, &made.n, NULL));
    TRY(stk_encode_segments(o->coder, parts, 2, made.at, ROOM, &made.n, NULL, NULL));
    TRY(stk_pool_new(1, &o->pool));
    TRY(stk_encode_batch(o->coder, o->pool, texts, 2, &o->batch, NULL));
    TRY(stk_stream_new(o->coder, &o->stream));
    TRY(stk_stream_feed(o->stream, TEXT, strlen(TEXT) - 3, made.at, ROOM, &n, NULL));
    TRY(stk_stream_copy(o->stream, &o->stream_copy));
    TRY(stk_stream_flush(o->stream, made.at, ROOM, &made.n, NULL));
    TRY(stk_session_new(o->coder, &o->session));
    TRY(stk_session_append(o->session, TEXT, strlen(TEXT), &keep, NULL));
    TRY(stk_session_mark(o->session, &mark));
    TRY(stk_session_append(o->session, TEXT, strlen(TEXT), &keep, NULL));
    TRY(stk_session_rollback(o->session, mark));
    TRY(stk_encode(o->coder, TEXT, strlen(TEXT), made.at, ROOM, &made.n, NULL));
    TRY(stk_decode(o->model, made.at, made.n, STK_SKIP_SPECIAL, text, ROOM, &n, NULL));
    TRY(stk_decoder_new(o->model, STK_SKIP_SPECIAL, &stop, 1, &o->decoder));
    TRY(stk_decoder_feed(o->decoder, made.at, made.n, text, ROOM, &n, NULL));
    TRY(stk_decoder_copy(o->decoder, &o->decoder_copy));
    TRY(stk_decoder_flush(o->decoder, text, ROOM, &n));
    return STK_OK;
}

static void free_all(all_objects *o)
{
    stk_batch_free(o->batch);
    stk_pool_free(o->pool);
    stk_stream_free(o->stream_copy);
    stk_stream_free(o->stream);
    stk_session_free(o->session);
    stk_decoder_free(o->decoder_copy);
    stk_decoder_free(o->decoder);
    stk_coder_free(o->coder);
    stk_model_free(o->model);
}

static void test_memory_that_runs_out(void)
{
    const stk_memory memory = {allocate, resize, release, &allowed}, half = {allocate, NULL, release, NULL};
    size_t size;
    long n = 0;
    stk_status status = STK_NO_MEMORY;
    char *data = contents(&size);
    stk_model *held = open_model();
    CHECK(stk_set_memory(&memory) == STK_BAD_ARGUMENT && stk_live_blocks() > 0);
    stk_model_free(held);
    CHECK(stk_live_blocks() == 0 && stk_set_memory(&half) == STK_BAD_ARGUMENT && stk_set_memory(&memory) == STK_OK);
    for (; status == STK_NO_MEMORY; n++) {
        all_objects o = {0};
        allowed = n;
        status = use_all(&o, data, size);
        CHECK(status == STK_OK || status == STK_NO_MEMORY);
        free_all(&o);
        CHECK(stk_live_blocks() == 0);
    }
    CHECK(n > 50 && stk_set_memory(NULL) == STK_OK);
    free(data);
    printf("%ld allocations, each of which failed once\n", n - 1);
}

/* ---- threads ---- */

static stk_coder *common;
static ids expected;

static void *encode_often(void *unused)
{
    for (int i = 0; i < 300; i++) {
        const ids made = encoded(common, TEXT);
        CHECK(same(&expected, made.at, made.n));
    }
    return unused;
}

static void test_threads(void)
{
    pthread_t threads[4];
    stk_model *model = open_model();
    common = coder_of(model, STK_ALLOW_SPECIAL, 0);
    expected = encoded(common, TEXT);
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&threads[i], NULL, encode_often, NULL));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    stk_coder_free(common);
    stk_model_free(model);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    path = arguments[1];
    test_versions_and_messages();
    test_models();
    test_coders();
    test_offsets_and_segments();
    test_batches();
    test_streams();
    test_sessions();
    test_decoding();
    test_memory_that_runs_out();
    test_threads();
    CHECK(stk_live_blocks() == 0);
    puts("done");
    return 0;
}
