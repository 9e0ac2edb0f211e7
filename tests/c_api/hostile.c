/* Compiled models with numbers changed anywhere and the sums over all put right: each is refused, or opens and then encodes, streams, says
 * offsets and decodes without a read outside of memory. Arguments: how many of each, and the files. */
#include "check.h"
#include "checksum/sum64.h"
#include "compiled/compiled.h"

static uint64_t state = 88172645463325252u;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % n);
}

static const char *const PARTS[] = {"hello world", " the ", "<s>", "</s>", "caf\xC3\xA9", "\xE6\x97\xA5\xE6\x9C\xAC", "  \n", "alone", " <Left>",
                                    "\xF0\x9F\x98\x80", "e\xCC\x81", "12345", "xxxxxxxxxxxxxxxxxxxx", "\xE2\x96\x81", "Late", "don't"};

static size_t make_text(char *text)
{
    size_t n = 0;
    for (size_t i = below(30); i; i--) {
        const char *part = PARTS[below(sizeof PARTS / sizeof *PARTS)];
        memcpy(text + n, part, strlen(part));
        n += strlen(part);
    }
    return n;
}

static void use(stk_model *model)
{
    const stk_options options = {.size = sizeof options, .special = (uint32_t)(1 + below(2)), .flags = STK_ADD_TEMPLATE};
    const stk_text stop = text_of("o w");
    static uint32_t ids[1 << 16];
    static uint64_t offsets[1 << 16];
    static char text[1 << 10], back[1 << 20];
    const size_t n = make_text(text), cut = below(n + 1);
    size_t count, more = 0, size;
    stk_coder *coder;
    stk_stream *stream;
    stk_decoder *decoder;
    if (stk_coder_new(model, &options, &coder) != STK_OK)
        return;
    if (stk_encode(coder, text, n, ids, 1 << 16, &count, NULL) == STK_OK) {
        CHECK(stk_decode(model, ids, count, (uint32_t)below(4), back, sizeof back, &size, NULL) != STK_BAD_ARGUMENT);
        CHECK(stk_decoder_new(model, 0, &stop, 1, &decoder) == STK_OK);
        for (size_t i = 0; i < count; i++)
            stk_decoder_feed(decoder, &ids[i], 1, back, sizeof back, &size, NULL);
        stk_decoder_flush(decoder, back, sizeof back, &size);
        stk_decoder_free(decoder);
    }
    stk_encode_offsets(coder, text, n, ids, offsets, 1 << 16, &count, NULL);
    CHECK(stk_stream_new(coder, &stream) == STK_OK);
    if (stk_stream_feed(stream, text, cut, ids, 1 << 16, &more, NULL) == STK_OK)
        stk_stream_feed(stream, text + cut, n - cut, ids, 1 << 16, &more, NULL);
    stk_stream_flush(stream, ids, 1 << 16, &more, NULL);
    stk_stream_free(stream);
    stk_coder_free(coder);
}

static void change(uint8_t *file, const st_image_place *place)
{
    static const uint32_t telling[] = {0, 1, 2, 255, 65536, INT32_MAX, UINT32_MAX};
    if (place->size < 8)
        return;
    uint8_t *at = file + place->start + below((size_t)place->size - 4);
    uint32_t number = telling[below(7)];
    if (below(2))
        number = (uint32_t)below(3000);
    if (below(2))
        memcpy(at, &number, 4);
    else
        *at ^= (uint8_t)(1 << below(8));
}

static void sign(uint8_t *file, size_t n)
{
    st_compiled_header h;
    memcpy(&h, file, sizeof h);
    const st_image_place image = h.sections[ST_COMPILED_IMAGE];
    if (image.start <= n && image.size <= n - image.start && image.size > sizeof(st_image_header)) {
        const uint64_t sum = st_image_checksum(file + image.start, (size_t)image.size);
        memcpy(file + image.start + offsetof(st_image_header, checksum), &sum, sizeof sum);
    }
    const size_t from = offsetof(st_compiled_header, checksum) + sizeof h.checksum;
    h.checksum = st_sum64(file + from, n - from);
    memcpy(file, &h, sizeof h);
}

static void try_file(const char *path, long times)
{
    FILE *in = fopen(path, "rb");
    CHECK(in && !fseek(in, 0, SEEK_END));
    const size_t n = (size_t)ftell(in);
    uint8_t *file = malloc(n), *copy = malloc(n);
    rewind(in);
    CHECK(file && copy && fread(file, 1, n, in) == n);
    fclose(in);
    st_compiled_header h;
    memcpy(&h, file, sizeof h);
    long opened = 0;
    for (long i = 0; i < times; i++) {
        stk_model *model;
        memcpy(copy, file, n);
        const st_image_place head = {24, 104};
        for (size_t changes = below(4); changes; changes--)
            change(copy, below(20) ? &h.sections[below(2) ? ST_COMPILED_PARTS : ST_COMPILED_IMAGE] : &head);
        sign(copy, n);
        const stk_status status = stk_model_open_memory(copy, n, &model);
        CHECK(status == STK_OK || status == STK_DAMAGED || status == STK_OTHER_VERSION || status == STK_NO_MEMORY);
        if (status == STK_OK)
            use(model);
        opened += status == STK_OK;
        stk_model_free(model);
    }
    printf("%s: %ld of %ld opened\n", path, opened, times);
    free(file);
    free(copy);
}

int main(int count, char **arguments)
{
    for (int i = 2; i < count; i++)
        try_file(arguments[i], atol(arguments[1]));
    CHECK(stk_live_blocks() == 0);
    puts("done");
    return 0;
}
