#include "image/frequent_words.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "text/utf8_check.h"

/* Words are merged this many at a time, side by side. */
#define TOGETHER 256

typedef struct group {
    st_word words[TOGETHER];
    uint32_t tokens[TOGETHER * ST_KEY_BYTES];
    size_t count;
    void *scratch; /* of the model */
} group;

static st_status enter_group(st_vocab *v, group *g)
{
    ST_TRY(v->model->words(v, g->scratch, g->words, g->count));
    for (size_t i = 0; i < g->count; i++) {
        const st_word *word = &g->words[i];
        for (size_t k = 0; k < word->count; k++)
            word->tokens[k] = v->ids[word->tokens[k]];
        st_key key = st_key_of(word->text, word->n);
        if (!st_piece_find(&v->pieces, key, st_piece_line(&v->pieces, key)))
            ST_TRY(st_piece_table_add(&v->pieces, key, word->tokens, word->count));
    }
    g->count = 0;
    return st_go_on(TOGETHER * ST_KEY_BYTES * 4); /* merging takes longer per byte than other work */
}

static int is_worth_it(const st_vocab *v, const uint8_t *text, size_t n)
{
    st_text_error error;
    if (n == 0 || n > ST_KEY_BYTES || st_text_check(text, n, &error) != n)
        return 0;
    st_key key = st_key_of(text, n);
    return st_vocab_find(v, text, n) == ST_NONE && !st_piece_find(&v->pieces, key, st_piece_line(&v->pieces, key));
}

static st_status add_words(st_vocab *v, group *g, const uint8_t *bytes, const uint8_t *lengths, size_t count)
{
    g->count = 0;
    for (size_t i = 0; i < count; bytes += lengths[i++]) {
        if (!is_worth_it(v, bytes, lengths[i]))
            continue;
        g->words[g->count] = (st_word){bytes, g->tokens + g->count * ST_KEY_BYTES, lengths[i], 0};
        g->count++;
        if (g->count == TOGETHER)
            ST_TRY(enter_group(v, g));
    }
    return enter_group(v, g);
}

st_status st_vocab_add_words(st_vocab *v, const uint8_t *bytes, const uint8_t *lengths, size_t count)
{
    if (!count)
        return ST_OK;
    group *g = st_malloc(sizeof *g);
    void *scratch = g ? st_calloc(1, v->model->scratch + 1) : NULL;
    st_status status = ST_NO_MEMORY;
    if (scratch) {
        g->scratch = scratch;
        status = add_words(v, g, bytes, lengths, count);
        if (v->model->release)
            v->model->release(scratch);
    }
    st_free(scratch);
    st_free(g);
    return status;
}
