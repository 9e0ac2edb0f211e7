/* Pieces whose words were noted, once the sum in front of them is known. */
#include "base/alloc.h"
#include "base/interrupt.h"
#include "unigram/known_words.h"
#include "unigram/lattice.h"

/* Work of a word, in the unit of st_go_on (base/interrupt.h). */
#define WORD_COSTS 16

#define AT_ONCE 1024

/* ids[at..at + old) become `size` others. */
typedef struct edit {
    size_t at, old, size;
} edit;

typedef struct mending {
    words w;
    st_ids made;  /* of one word */
    st_ids other; /* of all edits, in order */
    st_bytes edits;
} mending;

void *st_noted_begin(void *scratch, int begins)
{
    st_known_words *known = &((st_sentence_scratch *)scratch)->known;
    st_noted *noted = begins ? st_calloc(1, sizeof *noted) : NULL;
    if (noted)
        noted->known = known;
    known->noted = noted;
    return noted;
}

void st_noted_forget(void *given)
{
    st_noted *noted = given;
    if (!noted)
        return;
    st_bytes_free(&noted->text);
    st_bytes_free(&noted->words);
    st_bytes_free(&noted->scores);
    st_free(noted);
}

/* A word of any length, from the sum in front of it: `made`. */
static st_status divide_again(mending *m, const uint8_t *text, size_t n)
{
    st_open open = {0};
    m->made.size = 0;
    m->w.run = NO_RUN;
    ST_TRY(st_ids_reserve(&m->made, n < ST_MOST_WORD ? n : ST_MOST_WORD));
    if (n <= ST_MOST_WORD) {
        st_word_divide_from_sum(&m->w, text, n);
        return ST_OK;
    }
    st_open_begin(&open, 0);
    m->w.open = &open;
    st_status status = st_keep_sum(&m->w, 0);
    if (!status)
        status = st_lattice_take(&open, m->w.vocab, text, n, 1, &m->made, NULL);
    m->w.base = st_sum_of(&open);
    st_open_free(&open);
    return status;
}

/* The ids that a word was given are those from number `at` on. */
static st_status mend_word(mending *m, const noted_word *word, const uint8_t *text, const st_ids *ids, size_t at)
{
    const st_vocab *v = m->w.vocab;
    ST_TRY(divide_again(m, text, word->n));
    for (size_t i = 0; i < m->made.size && !v->identity; i++)
        m->made.data[i] = v->ids[m->made.data[i]];
    if (m->made.size == word->count && !memcmp(m->made.data, ids->data + at, word->count * sizeof *ids->data))
        return ST_OK;
    const edit e = {at, word->count, m->made.size};
    ST_TRY(st_ids_reserve(&m->other, m->made.size));
    memcpy(m->other.data + m->other.size, m->made.data, m->made.size * sizeof *m->made.data);
    m->other.size += m->made.size;
    return st_bytes_append(&m->edits, &e, sizeof e);
}

static st_status mend_words(mending *m, const st_noted *noted, const st_ids *ids, size_t at)
{
    const noted_word *all = (const noted_word *)(const void *)noted->words.data;
    const float *scores = (const float *)(const void *)noted->scores.data;
    const uint8_t *text = noted->text.data;
    const size_t count = noted->words.size / sizeof *all;
    for (size_t i = 0; i < count; i++) {
        const noted_word *word = &all[i];
        if (st_is_below(m->w.base, word->limit))
            for (size_t k = 0; k < word->edges; k++)
                m->w.base += scores[k];
        else
            ST_TRY(mend_word(m, word, text, ids, at));
        scores += word->edges;
        text += word->n;
        at += word->count;
        if (i % AT_ONCE == 0)
            ST_TRY(st_go_on(AT_ONCE * WORD_COSTS));
    }
    return ST_OK;
}

/* Puts what was made anew in its places. */
static st_status replace_ids(const mending *m, st_ids *ids)
{
    const edit *edits = (const edit *)(const void *)m->edits.data;
    const size_t count = m->edits.size / sizeof *edits;
    const uint32_t *other = m->other.data;
    st_ids made = {0};
    size_t from = count ? edits[0].at : 0;
    const size_t first = from;
    st_status status = count ? st_ids_reserve(&made, ids->size - first + m->other.size) : ST_OK;
    for (size_t i = 0; i < count && !status; i++) {
        memcpy(made.data + made.size, ids->data + from, (edits[i].at - from) * sizeof *other);
        made.size += edits[i].at - from;
        memcpy(made.data + made.size, other, edits[i].size * sizeof *other);
        made.size += edits[i].size;
        other += edits[i].size;
        from = edits[i].at + edits[i].old;
    }
    if (count && !status) {
        memcpy(made.data + made.size, ids->data + from, (ids->size - from) * sizeof *other);
        made.size += ids->size - from;
        ids->size = first;
        status = st_ids_reserve(ids, made.size);
    }
    if (count && !status) {
        memcpy(ids->data + first, made.data, made.size * sizeof *other);
        ids->size = first + made.size;
    }
    st_ids_free(&made);
    return status;
}

st_status st_noted_mend(st_vocab *vocab, void *scratch, void *given, double *carried, st_ids *ids, size_t first)
{
    const st_noted *noted = given;
    st_known_words *known = &((st_sentence_scratch *)scratch)->known;
    const uint8_t *text = noted->text.data;
    mending m = {.w = {.known = known, .vocab = vocab, .text = text, .end = text + noted->text.size, .base = (float)*carried}};
    m.w.pieces = st_vocab_pieces(vocab);
    m.w.rule = st_unigram_of(vocab);
    m.w.out = &m.made;
    st_status status = noted->closed ? mend_words(&m, noted, ids, first) : ST_BAD_STATE; /* not a piece that is longer than is held */
    if (!status)
        status = replace_ids(&m, ids);
    *carried = m.w.base;
    st_ids_free(&m.made);
    st_ids_free(&m.other);
    st_bytes_free(&m.edits);
    return status;
}
