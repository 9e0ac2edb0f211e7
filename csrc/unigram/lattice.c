#include "unigram/lattice.h"

#include "base/interrupt.h"
#include "base/utf8.h"
#include "unigram/paths.h"

/* Text that is taken at once, so that its places stay in the nearest caches. */
#define SLICE ((size_t)4096)

/* With paths that have more than this in common with none of the others, they are not compared after each push. */
#define LONG_TAIL 256

/* Work of a byte, in the unit of st_go_on (base/interrupt.h). */
#define BYTE_COSTS 16

void st_path_reset(path *w, size_t at)
{
    const double base = w->places[at].sum;
    for (size_t i = at; i <= w->far || i == at; i++)
        if (i == at || w->places[i].size)
            w->places[i].sum = st_unigram_sum(w->rule, w->places[i].sum, -base);
}

/* Whether the text says of all tokens that begin at the place whether they are there. */
static int can_be_left(const path *w, size_t at)
{
    uint32_t base = w->pieces->root;
    const st_piece_cell *cell;
    size_t to = at;
    if (w->n - at < st_utf8_size(w->text[at]))
        return 0;
    for (; to < w->n && (cell = st_pieces_step(w->pieces, base, w->text[to])); to++)
        base = cell->link >> 8;
    return to < w->n || !base;
}

/* ---- what is given out ---- */

static st_status put(st_sink *s, uint32_t token, size_t at)
{
    ST_TRY(st_ids_reserve(s->out, 1));
    s->out->data[s->out->size++] = token;
    if (!s->starts)
        return ST_OK;
    ST_TRY(st_ids_reserve(s->starts, 1));
    s->starts->data[s->starts->size++] = (uint32_t)(s->before + at);
    return ST_OK;
}

static st_status put_bytes(st_sink *s, size_t at, size_t n)
{
    const st_unigram *rule = st_unigram_of(s->vocab);
    for (size_t i = 0; i < n; i++)
        ST_TRY(put(s, rule->bytes[s->text[at + i]], at));
    return ST_OK;
}

static int has_bytes(const st_sink *s, size_t at, size_t n)
{
    const st_unigram *rule = st_unigram_of(s->vocab);
    if (!(rule->flags & ST_UNIGRAM_FALLBACK))
        return 0;
    for (size_t i = 0; i < n; i++)
        if (rule->bytes[s->text[at + i]] == ST_NONE)
            return 0;
    return 1;
}

/* A whole run of unknown characters, in the dialect of tokenizers. */
static st_status put_run(st_sink *s, size_t at, size_t n)
{
    const uint32_t token = n <= s->vocab->max_length ? st_pieces_find(s->pieces, s->text + at, n) : ST_NONE;
    if (token == ST_NONE && has_bytes(s, at, n))
        return put_bytes(s, at, n);
    return put(s, token == ST_NONE ? st_unigram_of(s->vocab)->unknown : token, at);
}

/* Whether such a run of n bytes is given out before its end: no token is so long, and each byte has its token if any has. */
static int is_sure(const st_sink *s, size_t n)
{
    return n > s->vocab->max_length && (!(st_unigram_of(s->vocab)->flags & ST_UNIGRAM_FALLBACK) || s->pieces->all_bytes);
}

/* More of such a run, the first part of it if s->run is NO_RUN. */
static st_status put_more(st_sink *s, size_t at, size_t n)
{
    const int is_first = s->run == NO_RUN;
    if (is_first)
        s->run = st_unigram_of(s->vocab)->flags & ST_UNIGRAM_FALLBACK ? RUN_SPELLED : RUN_NAMED;
    if (s->run == RUN_SPELLED)
        return put_bytes(s, at, n);
    return is_first ? put(s, st_unigram_of(s->vocab)->unknown, at) : ST_OK;
}

/* An unknown character in SentencePiece's dialect. */
static st_status put_single(st_sink *s, size_t at, size_t n)
{
    if (st_unigram_of(s->vocab)->flags & ST_UNIGRAM_FALLBACK)
        return put_bytes(s, at, n);
    return put_more(s, at, n);
}

/* The tokens of the path from place 0 to `end`, whose places have the next token each. closed: the piece ends there. */
st_status st_path_put(st_sink *s, const place *places, size_t end, int closed)
{
    const st_unigram *rule = st_unigram_of(s->vocab);
    for (size_t at = 0, to; at < end; at = to) {
        to = at + places[at].size;
        if (places[at].token != rule->unknown) {
            s->run = NO_RUN;
            ST_TRY(put(s, places[at].token, at));
            continue;
        }
        while (!(rule->flags & ST_UNIGRAM_SINGLE) && to < end && places[to].token == rule->unknown)
            to += places[to].size;
        if (rule->flags & ST_UNIGRAM_SINGLE)
            ST_TRY(put_single(s, at, to - at));
        else if (s->run == NO_RUN && (to < end || closed))
            ST_TRY(put_run(s, at, to - at));
        else
            ST_TRY(put_more(s, at, to - at));
    }
    return ST_OK;
}

/* Turns the links of the path that ends at `end` around. */
void st_path_turn(place *places, size_t end)
{
    uint32_t size = places[end].size, token = places[end].token;
    for (size_t at = end; at;) {
        at -= size;
        place *p = &places[at];
        const uint32_t next_size = size, next_token = token;
        size = p->size;
        token = p->token;
        p->size = next_size;
        p->token = next_token;
    }
}

/* ---- a short word ---- */

void st_lattice_word(const st_pieces *pieces, const st_vocab *vocab, st_word *word)
{
    place places[ST_WORD_BYTES + 1];
    const st_unigram *rule = st_unigram_of(vocab);
    path w = {pieces, rule, word->text, word->n, places, 0};
    st_ids out = {word->tokens, 0, word->n};
    st_sink s = {vocab, pieces, word->text, &out, NULL, 0, NO_RUN};
    if (rule->flags & ST_UNIGRAM_SINGLE)
        leave_word(&w, 0, 1);
    else
        leave_word(&w, 0, 0);
    st_path_turn(places, word->n);
    (void)st_path_put(&s, places, word->n, 1); /* there is room */
    word->count = (uint32_t)out.size;
}

/* ---- an open piece ---- */

st_status st_lattice_extend(st_open *open, const uint8_t *text, size_t n)
{
    const size_t before = open->own.size, size = sizeof(lattice) + (open->text.size + n + 1) * sizeof(place);
    ST_TRY(st_bytes_reserve(&open->own, size - before));
    ST_TRY(st_bytes_append(&open->text, text, n));
    memset(open->own.data + before, 0, size - before);
    open->own.size = size;
    open->end += n;
    open->frontier = open->root;
    return ST_OK;
}

/* What the best paths to all places from `left` on have in common. */
static size_t common_part(const lattice *l, place *places)
{
    size_t paths = 0, at = (size_t)l->far;
    for (size_t i = (size_t)l->left; i <= l->far; i++)
        if (places[i].size || i == l->left) {
            places[i].size |= MARK;
            paths++;
        }
    for (;; at--) {
        place *p = &places[at];
        if (!(p->size & MARK))
            continue;
        p->size &= ~MARK;
        if (paths == 1)
            return at;
        place *parent = p - p->size;
        paths -= (parent->size & MARK) != 0;
        parent->size |= MARK;
    }
}

/* Where the last run of unknown characters begins that has to wait for its end, in a path that ends at `end`. */
static size_t without_open_run(const st_sink *s, const place *places, size_t end)
{
    const st_unigram *rule = st_unigram_of(s->vocab);
    size_t at = end;
    if (rule->flags & ST_UNIGRAM_SINGLE || s->run != NO_RUN)
        return end;
    while (at && places[at].token == rule->unknown)
        at -= places[at].size;
    return is_sure(s, end - at) ? end : at;
}

static void drop(st_open *open, size_t n)
{
    lattice *l = lattice_of(open);
    place *places = places_of(open);
    if (!n)
        return;
    l->left -= n;
    l->far -= n;
    l->wait = 0;
    st_bytes_drop(&open->text, n);
    memmove(places, places + n, (open->text.size + 1) * sizeof *places);
    open->own.size -= n * sizeof *places;
    open->root += n;
    open->frontier = open->root;
}

/* Gives out what no later text can change. final: the piece ends. */
static st_status give_out(st_open *open, st_sink *s, int final)
{
    lattice *l = lattice_of(open);
    place *places = places_of(open);
    if (!final && l->left < l->wait)
        return ST_OK;
    size_t end = final ? open->text.size : common_part(l, places);
    const size_t before = end;
    end = final ? end : without_open_run(s, places, end);
    s->text = open->text.data;
    s->before = open->root;
    s->run = open->state;
    if (end) {
        const place last = places[end];
        st_path_turn(places, end);
        places[end] = last; /* it begins what stays */
        ST_TRY(st_path_put(s, places, end, final));
    }
    open->state = s->run;
    const size_t tail = (size_t)l->far - end, looked = (size_t)l->far - before + (before - end);
    drop(open, end);
    l->wait = tail > LONG_TAIL ? l->left + looked / 2 : 0;
    return ST_OK;
}

/* Leaves all places that can be left. */
static void advance(st_open *open, const st_pieces *pieces, const st_vocab *vocab, int final)
{
    lattice *l = lattice_of(open);
    const st_unigram *rule = st_unigram_of(vocab);
    path w = {pieces, rule, open->text.data, open->text.size, places_of(open), (size_t)l->far};
    const size_t sure = final ? w.n : w.n > vocab->max_length + 4 ? w.n - vocab->max_length - 4 : 0;
    const int single = (rule->flags & ST_UNIGRAM_SINGLE) != 0;
    size_t at = (size_t)l->left;
    at = single ? leave_all(&w, at, sure, 1) : leave_all(&w, at, sure, 0);
    for (; at < w.n && can_be_left(&w, at); at += st_utf8_size(w.text[at]))
        leave(&w, at, single);
    l->left = at;
    l->far = w.far > at ? w.far : at;
}

st_status st_lattice_take(st_open *open, st_vocab *vocab, const uint8_t *text, size_t n, int final, st_ids *out, st_ids *starts)
{
    const st_pieces *pieces = st_vocab_pieces(vocab);
    if (!pieces)
        return ST_NO_MEMORY;
    st_sink s = {vocab, pieces, NULL, out, starts, 0, NO_RUN};
    for (size_t at = 0; at < n || final;) {
        const size_t more = n - at < SLICE ? n - at : SLICE;
        const int ends = final && at + more == n;
        ST_TRY(st_lattice_extend(open, text + at, more));
        advance(open, pieces, vocab, ends);
        ST_TRY(give_out(open, &s, ends));
        ST_TRY(st_go_on(more * BYTE_COSTS));
        at += more;
        if (ends)
            break;
    }
    return ST_OK;
}

st_status st_lattice_starts(st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out)
{
    st_open open = {0};
    st_ids tokens = {0};
    st_open_begin(&open, 0);
    const st_status status = st_lattice_take(&open, vocab, text, n, 1, &tokens, out);
    st_open_free(&open);
    st_ids_free(&tokens);
    return status;
}
