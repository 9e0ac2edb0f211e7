/* Reads standard input, part by part, and prints the ids of the text; then the text of these ids as a decoder gives it.
 *
 *     cc examples/c/encode.c -o encode $(pkg-config --cflags --libs streamtok)
 *     ./encode model.stm < text.txt */
#include <stdio.h>
#include <streamtok.h>

static int failed(stk_status status)
{
    fprintf(stderr, "%s\n", stk_message(status));
    return 1;
}

/* The text that an id completes. */
static stk_status print_text(stk_decoder *decoder, uint32_t id)
{
    char text[64];
    size_t n;
    stk_status status = stk_decoder_feed(decoder, &id, 1, text, sizeof text, &n, NULL);
    for (;; status = stk_decoder_take(decoder, text, sizeof text, &n)) {
        fwrite(text, 1, n, stderr);
        if (status != STK_MORE)
            return status;
    }
}

/* Prints ids as they come; `status` is that of the call that gave the first `count` of them. */
static stk_status print_ids(stk_stream *stream, stk_decoder *decoder, stk_status status, uint32_t *ids, size_t count)
{
    for (;; status = stk_stream_take(stream, ids, 64, &count)) {
        if (status != STK_OK && status != STK_MORE)
            return status;
        for (size_t i = 0; i < count; i++) {
            printf("%u ", (unsigned)ids[i]);
            print_text(decoder, ids[i]);
        }
        if (status == STK_OK)
            return STK_OK;
    }
}

int main(int argument_count, char **arguments)
{
    const stk_options options = {.size = sizeof options, .special = STK_ALLOW_SPECIAL};
    stk_model *model = NULL;
    stk_coder *coder = NULL;
    stk_stream *stream = NULL;
    stk_decoder *decoder = NULL;
    char text[4096];
    uint32_t ids[64];
    size_t n, count;
    if (argument_count != 2)
        return failed(STK_BAD_ARGUMENT);
    stk_status status = stk_model_open(arguments[1], &model);
    if (status == STK_OK)
        status = stk_coder_new(model, &options, &coder);
    if (status == STK_OK)
        status = stk_stream_new(coder, &stream);
    if (status == STK_OK)
        status = stk_decoder_new(model, 0, NULL, 0, &decoder);
    while (status == STK_OK && (n = fread(text, 1, sizeof text, stdin)) > 0) {
        status = stk_stream_feed(stream, text, n, ids, 64, &count, NULL);
        status = print_ids(stream, decoder, status, ids, count);
    }
    if (status == STK_OK) {
        status = stk_stream_flush(stream, ids, 64, &count, NULL);
        status = print_ids(stream, decoder, status, ids, count);
    }
    puts("");
    stk_decoder_free(decoder);
    stk_stream_free(stream);
    stk_coder_free(coder);
    stk_model_free(model);
    return status == STK_OK ? 0 : failed(status);
}
