/* paths.h - the step from place to place, and what becomes of the best path: for the files of this room. */
#ifndef ST_UNIGRAM_PATHS_H
#define ST_UNIGRAM_PATHS_H

#include <math.h>

#include "base/utf8.h"
#include "unigram/pieces.h"
#include "unigram/places.h"

typedef struct path {
    const st_pieces *pieces;
    const st_unigram *rule;
    const uint8_t *text;
    size_t n;
    place *places; /* n + 1 */
    size_t far;
} path;

/* A sum of SentencePiece's that is too large is taken from all from the place on. */
void st_path_reset(path *w, size_t at);

/* Offers a token of `size` bytes at a place. With branches, so that the next steps do not wait for sums. */
static inline void offer(path *w, size_t at, size_t size, uint32_t token, double sum)
{
    place *to = &w->places[at + size];
    if (sum > to->sum || !to->size)
        *to = (place){sum, token, (uint32_t)size};
    w->far = at + size > w->far ? at + size : w->far;
}

/* Looks at all tokens that begin at the place. */
static inline void leave(path *w, size_t at, int single)
{
    const unsigned one = st_utf8_size(w->text[at]);
    uint32_t base = w->pieces->root;
    const st_piece_cell *cell;
    int is_known = 0;
    if (single && fabs(w->places[at].sum) > ST_UNIGRAM_RESET)
        st_path_reset(w, at);
    const double sum = w->places[at].sum;
    for (size_t to = at; to < w->n && (cell = st_pieces_step(w->pieces, base, w->text[to])); base = cell->link >> 8) {
        to++;
        if (cell->token == ST_NONE)
            continue;
        const double more = sum + cell->score;
        offer(w, at, to - at, cell->token, single ? (double)(float)more : more);
        is_known |= to - at == one;
    }
    if (!is_known)
        offer(w, at, one, w->rule->unknown, st_unigram_sum(w->rule, sum, w->rule->unknown_score));
}

/* Leaves the places text[at..until); returns the first one behind them. */
static inline size_t leave_all(path *w, size_t at, size_t until, int single)
{
    for (; at < until; at += st_utf8_size(w->text[at]))
        leave(w, at, single);
    return at;
}

/* Whether the words of a text can be divided by leave_in_word: no token is below unknown characters, and no sum is taken back. */
static inline int is_plain_word(const path *w, double sum)
{
    return w->pieces->unknown_last &&
           (!(w->rule->flags & ST_UNIGRAM_SINGLE) || fabs(sum) + w->pieces->largest * (double)w->n < ST_UNIGRAM_RESET);
}

/* Leaves a place of such a word. There is one branch for what ends at a cell: -INFINITY is the score of one that is no token, and the sum
 * of a place that nothing ends at. The unknown character is offered where it is known, too, as it cannot come before a token then. */
static inline void leave_in_word(path *w, size_t at, int single)
{
    place *places = w->places;
    const double sum = places[at].sum;
    const unsigned one = st_utf8_size(w->text[at]);
    uint32_t base = w->pieces->root;
    for (size_t to = at; to < w->n;) {
        const st_piece_cell *cell = &w->pieces->cells[base ^ w->text[to]];
        if ((uint8_t)cell->link != w->text[to])
            break;
        to++;
        const double more = single ? (double)(float)(sum + cell->score) : sum + cell->score;
        if (more > places[to].sum)
            places[to] = (place){more, cell->token, (uint32_t)(to - at)};
        base = cell->link >> 8;
    }
    const double more = st_unigram_sum(w->rule, sum, w->rule->unknown_score);
    if (more > places[at + one].sum)
        places[at + one] = (place){more, w->rule->unknown, one};
}

/* Fills the places of a whole word, of which `sum` stands in front. */
static inline void leave_word(path *w, double sum, int single)
{
    const int plain = is_plain_word(w, sum);
    w->places[0] = (place){sum, 0, 0};
    for (size_t i = 1; i <= w->n; i++)
        w->places[i] = (place){plain ? -INFINITY : 0, 0, 0};
    for (size_t at = 0; plain && at < w->n; at += st_utf8_size(w->text[at]))
        leave_in_word(w, at, single);
    if (!plain)
        leave_all(w, 0, w->n, single);
}

/* Takes the tokens of the best path, as indices, and where each begins, if anybody asks. */
typedef struct st_sink {
    const st_vocab *vocab;
    const st_pieces *pieces;
    const uint8_t *text;
    st_ids *out, *starts;
    uint64_t before; /* bytes of the piece in front of the text */
    uint32_t run;    /* NO_RUN, ... */
} st_sink;

/* The tokens of the path from place 0 to `end`, whose places have the next token each. closed: the piece ends there. */
st_status st_path_put(st_sink *s, const place *places, size_t end, int closed);

/* Turns the links of the path that ends at `end` around. */
void st_path_turn(place *places, size_t end);

#endif
