#include "models/models.h"

#include "base/atomic.h"

static const st_model *const own_models[] = {&st_model_bpe, &st_model_characters, &st_model_symbols, &st_model_joined, &st_model_affixed,
                                           &st_model_longest, &st_model_wordpiece, &st_model_unigram, &st_model_sentencepiece,
                                           &st_model_sentence_pairs, &st_model_sentence_words};

#define OWN (sizeof own_models / sizeof *own_models)
#define MOST_ADDED 16

static void *added[MOST_ADDED]; /* the first ones are models, the others NULL */

const st_model *st_model_at(size_t i)
{
    if (i < OWN)
        return own_models[i];
    return i < OWN + MOST_ADDED ? st_acquire(&added[i - OWN]) : NULL;
}

const st_model *st_model_named(const char *name)
{
    const st_model *model;
    for (size_t i = 0; (model = st_model_at(i)); i++)
        if (!strcmp(model->name, name))
            break;
    return model;
}

int st_model_add(const st_model *model)
{
    if (strlen(model->name) >= ST_MODEL_NAME || st_model_named(model->name))
        return 0;
    for (size_t i = 0; i < MOST_ADDED; i++)
        if (!st_publish(&added[i], (void *)(uintptr_t)model))
            return 1;
    return 0;
}
