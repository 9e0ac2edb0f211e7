/* Unigram. What is certain of a long piece leaves as it comes. The second model is that of SentencePiece's dialect, which has the same
 * functions: a vocabulary's own flags say how sums are rounded (unigram/rule.h). */
#include "models/models.h"
#include "unigram/lattice.h"

typedef struct unigram_scratch {
    st_open piece; /* one whose end is known */
} unigram_scratch;

static void release(void *scratch)
{
    st_open_free(&((unigram_scratch *)scratch)->piece);
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

static st_status divide(st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    return st_lattice_whole(&((unigram_scratch *)scratch)->piece, v, text, n, out);
}

static st_status divide_reference(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    (void)scratch;
    return st_unigram_reference(v, text, n, out);
}

/* clang-format off */
#define FUNCTIONS \
    .holds = ST_HOLD_WHOLE, .scratch = sizeof(unigram_scratch), .accepts = has_scores, .release = release, \
    .words = divide_words, .whole = divide, .reference = divide_reference, .push = st_lattice_push, \
    .finish = st_lattice_finish, .save = st_lattice_save, .load = st_lattice_load, .starts = st_lattice_starts

const st_model st_model_unigram = {.name = "unigram", FUNCTIONS};

const st_model st_model_sentencepiece = {.name = "sentencepiece", FUNCTIONS};
/* clang-format on */
