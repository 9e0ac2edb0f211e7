#include "vocab/packed_words.h"

#include "base/key.h"

typedef struct reader {
    uint8_t word[ST_KEY_BYTES]; /* the word read last */
    size_t n, at;               /* its length; bytes read of `rests` */
} reader;

/* Reads word number i. */
static int read_word(const st_word_list *list, reader *r, size_t i)
{
    const size_t shared = list->shared[i], rest = list->rest_lengths[i];
    if (shared > r->n || rest == 0 || shared + rest > ST_KEY_BYTES || rest > list->rest_size - r->at)
        return 0;
    memcpy(r->word + shared, list->rests + r->at, rest);
    r->n = shared + rest;
    r->at += rest;
    return 1;
}

/* Counts the words of each level, and their bytes. */
static st_status measure(const st_word_list *list, unsigned shift, size_t *bytes, size_t *counts)
{
    reader r = {.n = 0, .at = 0};
    for (size_t i = 0; i < list->count; i++) {
        if (!read_word(list, &r, i))
            return ST_BAD_WORDS;
        const unsigned level = list->levels[i] >> shift & ST_WORD_LEVELS;
        bytes[level] += r.n;
        counts[level]++;
    }
    return r.at == list->rest_size ? ST_OK : ST_BAD_WORDS;
}

/* Writes the words and their lengths, those of each level from its own place on. */
static void place(const st_word_list *list, unsigned shift, unsigned least, uint8_t **words, uint8_t **lengths)
{
    reader r = {.n = 0, .at = 0};
    for (size_t i = 0; i < list->count; i++) {
        read_word(list, &r, i);
        const unsigned level = list->levels[i] >> shift & ST_WORD_LEVELS;
        if (level < least)
            continue;
        memcpy(words[level], r.word, r.n);
        words[level] += r.n;
        *lengths[level]++ = (uint8_t)r.n;
    }
}

st_status st_word_list_read(const st_word_list *list, unsigned shift, unsigned least, st_bytes *words, st_bytes *lengths)
{
    size_t bytes[ST_WORD_LEVELS + 1] = {0}, counts[ST_WORD_LEVELS + 1] = {0}, all_bytes = 0, all = 0;
    uint8_t *word_places[ST_WORD_LEVELS + 1], *length_places[ST_WORD_LEVELS + 1];
    least = least ? least : 1;
    ST_TRY(measure(list, shift, bytes, counts));
    for (unsigned level = least; level <= ST_WORD_LEVELS; level++) {
        all_bytes += bytes[level];
        all += counts[level];
    }
    ST_TRY(st_bytes_reserve(words, all_bytes + 1));
    ST_TRY(st_bytes_reserve(lengths, all + 1));
    for (unsigned level = ST_WORD_LEVELS; level >= least; level--) {
        word_places[level] = words->data + words->size;
        length_places[level] = lengths->data + lengths->size;
        words->size += bytes[level];
        lengths->size += counts[level];
    }
    place(list, shift, least, word_places, length_places);
    return ST_OK;
}
