#include "unigram/word.h"

#include <float.h>

#include "unigram/lattice.h"

/* Of the error (known_words.h): a little more than 2^-23, for that of the sums from 0. */
#define ERROR (1.01 / 8388608.0)

/* The places of a word, and what else is known of each: the second best sum, and the characters in front of it. */
typedef struct measured {
    place places[ST_WIDE_WORD_BYTES + 1];
    double second[ST_WIDE_WORD_BYTES + 1];
    uint32_t chars[ST_WIDE_WORD_BYTES + 1];
    double top; /* the largest of all sums, without signs */
} measured;

static inline void measure_offer(measured *m, size_t to, size_t size, uint32_t token, double sum)
{
    place *p = &m->places[to];
    m->top = fabs(sum) > m->top ? fabs(sum) : m->top;
    if (p->size && sum <= p->sum) {
        m->second[to] = sum > m->second[to] ? sum : m->second[to];
        return;
    }
    m->second[to] = p->size ? p->sum : -DBL_MAX;
    *p = (place){sum, token, (uint32_t)size};
}

/* Fills the places of text[0..n), n <= ST_WIDE_WORD_BYTES. */
static void measure(const words *w, measured *m, const uint8_t *text, size_t n)
{
    uint32_t chars = 0;
    m->top = 0;
    for (size_t i = 0; i <= n; i++)
        m->places[i] = (place){0, 0, 0};
    for (size_t at = 0, one; at < n; at += one) {
        const st_piece_cell *cell;
        uint32_t base = w->pieces->root;
        int is_known = 0;
        const double sum = m->places[at].sum;
        one = st_utf8_size(text[at]);
        m->chars[at] = chars++;
        for (size_t to = at; to < n && (cell = st_pieces_step(w->pieces, base, text[to])); base = cell->link >> 8) {
            to++;
            if (cell->token == ST_NONE)
                continue;
            measure_offer(m, to, to - at, cell->token, sum + cell->score);
            is_known |= to - at == one;
        }
        if (!is_known)
            measure_offer(m, at + one, one, w->rule->unknown, sum + w->rule->unknown_score);
    }
    m->chars[n] = chars;
}

/* The |B| below which single sums take the same path. */
static double limit_of(const measured *m, size_t n)
{
    double least = DBL_MAX;
    for (size_t at = n; at; at -= m->places[at].size) {
        const double margin = (m->places[at].sum - m->second[at]) / m->chars[at];
        least = margin < least ? margin : least;
    }
    const double limit = least / ERROR - m->top, most = ST_UNIGRAM_RESET - 1 - m->top;
    return limit < most ? limit : most;
}

/* Gives out a path that was turned around. */
static void put_path(const words *w, const place *places, const uint8_t *text, size_t n, uint32_t *ids, size_t *count, uint32_t *run)
{
    st_ids out = {ids, 0, n}; /* room for one for each byte, which is enough */
    st_sink s = {w->vocab, w->pieces, text, &out, NULL, 0, *run};
    (void)st_path_put(&s, places, n, 1);
    *count = out.size;
    *run = s.run;
}

void st_word_divide(const words *w, const uint8_t *text, size_t n, divided *d)
{
    measured m;
    measure(w, &m, text, n);
    d->limit = limit_of(&m, n);
    st_path_turn(m.places, n);
    d->run = NO_RUN;
    put_path(w, m.places, text, n, d->ids, &d->count, &d->run);
    d->edges = 0;
    for (size_t at = 0; at < n; at += m.places[at].size) {
        const uint32_t token = m.places[at].token;
        d->scores[d->edges++] = (float)(token == w->rule->unknown ? w->rule->unknown_score : w->rule->scores[token]);
    }
}

void st_word_divide_from_sum(words *w, const uint8_t *text, size_t n)
{
    place places[ST_MOST_WORD + 1];
    path from = {w->pieces, w->rule, text, n, places, 0};
    size_t count;
    leave_word(&from, w->base, 1);
    w->base = (float)places[n].sum;
    st_path_turn(places, n);
    put_path(w, places, text, n, w->out->data + w->out->size, &count, &w->run);
    w->out->size += count;
}

st_status st_keep_sum(words *w, size_t n)
{
    st_open *open = w->open;
    if (!open->own.size)
        ST_TRY(st_lattice_extend(open, w->text, 0));
    *lattice_of(open) = (lattice){0, 0, 0, 0};
    *places_of(open) = (place){w->base, 0, 0};
    open->state = w->run;
    open->end += n;
    open->root = open->frontier = open->end;
    return ST_OK;
}
