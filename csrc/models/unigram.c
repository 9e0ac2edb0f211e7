/* Unigram. What is certain of a long piece leaves as it comes. The second model is that of SentencePiece's dialect, which has the same
 * functions: a vocabulary's own flags say how sums are rounded (unigram/rule.h). */
#include "models/models.h"
#include "unigram/known_words.h"
#include "unigram/lattice.h"
#include "unigram/places.h"

static void release(void *scratch)
{
    st_open_free(&((st_unigram_scratch *)scratch)->piece);
}

static int has_scores(const st_vocab *v)
{
    const st_unigram *rule = st_unigram_of(v);
    if (v->own_size != ST_UNIGRAM_HEAD + v->count * sizeof *rule->scores || v->starts[v->count] > ST_UNIGRAM_MOST_BYTES)
        return 0;
    for (uint32_t i = 0; i < v->count; i++)
        if (!(rule->scores[i] - rule->scores[i] == 0)) /* neither a number nor finite */
            return 0;
    for (unsigned byte = 0; byte < 256; byte++)
        if (rule->bytes[byte] != ST_NONE && rule->bytes[byte] >= v->count)
            return 0;
    if (!(rule->flags & ST_UNIGRAM_SINGLE) != (v->model == &st_model_unigram))
        return 0;
    return rule->unknown < v->count && rule->unknown_score - rule->unknown_score == 0;
}

static st_status divide_words(st_vocab *v, void *scratch, st_word *words, size_t count)
{
    const st_pieces *pieces = st_vocab_pieces(v);
    (void)scratch;
    for (size_t i = 0; pieces && i < count; i++)
        st_lattice_word(pieces, v, &words[i]);
    return pieces ? ST_OK : ST_NO_MEMORY;
}

/* Puts ids in the place of the indices from number `first` on. */
static void name_tokens(const st_vocab *v, st_ids *out, size_t first)
{
    for (size_t i = first; i < out->size && !v->identity; i++)
        out->data[i] = v->ids[out->data[i]];
}

static st_status take_ids(st_open *open, st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, int final, st_ids *out)
{
    const size_t first = out->size;
    const st_pieces *pieces = st_vocab_pieces(vocab);
    if (!pieces)
        return ST_NO_MEMORY;
    st_sentence_scratch *words = scratch && pieces->by_words ? scratch : NULL;
    st_noted *noted = open->own.size ? lattice_of(open)->noted : words ? words->known.noted : NULL;
    st_status status;
    if (noted)
        status = st_words_note(noted, open, vocab, text, n, final, out);
    else if (words)
        status = st_words_take(&words->known, open, vocab, text, n, final, out);
    else
        status = st_lattice_take(open, vocab, text, n, final, out, NULL);
    if (noted && words)
        words->known.noted = NULL; /* it is this piece's */
    name_tokens(vocab, out, first);
    return status;
}

static st_status push(st_open *open, st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    return take_ids(open, vocab, scratch, text, n, 0, out);
}

static st_status finish(st_open *open, st_vocab *vocab, st_ids *out)
{
    static const uint8_t nothing[1];
    return take_ids(open, vocab, NULL, nothing, 0, 1, out);
}

static st_status whole_word(st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out)
{
    const size_t first = out->size;
    const st_pieces *pieces = st_vocab_pieces(vocab);
    if (!pieces || st_ids_reserve(out, n))
        return ST_NO_MEMORY;
    st_word word = {text, out->data + first, (uint32_t)n, 0};
    st_lattice_word(pieces, vocab, &word);
    out->size += word.count;
    name_tokens(vocab, out, first);
    return ST_OK;
}

static st_status divide(st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    st_open *open = &((st_unigram_scratch *)scratch)->piece;
    if (n <= ST_WORD_BYTES)
        return whole_word(vocab, text, n, out);
    st_open_begin(open, 0);
    return take_ids(open, vocab, scratch, text, n, 1, out);
}

static st_status divide_reference(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    (void)scratch;
    return st_unigram_reference(v, text, n, out);
}

static st_status keeps(st_vocab *vocab, int8_t *kept)
{
    const st_pieces *pieces = st_vocab_pieces(vocab);
    return pieces ? st_pieces_try_tokens(pieces, vocab, kept) : ST_NO_MEMORY;
}

static int has_seams(st_vocab *vocab)
{
    const st_pieces *pieces = st_vocab_pieces(vocab);
    return pieces && pieces->by_words;
}

static const st_model_seams seams = {has_seams, st_noted_begin, st_noted_mend, st_noted_forget};

/* clang-format off */
#define FUNCTIONS \
    .holds = ST_HOLD_WHOLE, .accepts = has_scores, .release = release, \
    .words = divide_words, .whole = divide, .reference = divide_reference, .keeps = keeps, .push = push, \
    .finish = finish, .save = st_lattice_save, .load = st_lattice_load, .starts = st_lattice_starts, .save_machine = st_pieces_save, \
    .open_machine = st_pieces_open

const st_model st_model_unigram = {
    .name = "unigram", .scratch = sizeof(st_unigram_scratch), .spell = st_vocab_refuse_fragments, FUNCTIONS};

const st_model st_model_sentencepiece = {.name = "sentencepiece", .scratch = sizeof(st_sentence_scratch), .seams = &seams, FUNCTIONS};
/* clang-format on */
