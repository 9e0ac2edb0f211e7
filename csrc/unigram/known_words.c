#include "unigram/known_words.h"

#include <float.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/prefetch.h"
#include "unigram/lattice.h"
#include "unigram/paths.h"

/* Work of a byte, in the unit of st_go_on (base/interrupt.h). */
#define BYTE_COSTS 8

/* Longer words are divided as they come, as a text without marks is. */
#define MOST_BYTES 512

/* Words that are looked up at once, and ids that there is room for then. */
#define WAITING 32
#define ROOM (WAITING * MOST_BYTES)

/* Of the error above: a little more than 2^-23, for that of the sums from 0. */
#define ERROR (1.01 / 8388608.0)

typedef struct words {
    st_known_words *known;
    st_open *open;
    st_vocab *vocab;
    const st_pieces *pieces;
    const st_unigram *rule;
    st_ids *out;
    const uint8_t *text, *end; /* all of what is taken; up to `end` it can be read */
    float base;                /* the sum in front of the next word */
    uint32_t run;
} words;

/* ---- a word that is divided anew ---- */

/* What a word becomes, with its sums from 0. */
typedef struct divided {
    uint32_t ids[ST_WIDE_WORD_BYTES];
    float scores[ST_WIDE_WORD_BYTES];
    size_t count, edges;
    uint32_t run;
    double limit;
} divided;

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

static void divide(const words *w, const uint8_t *text, size_t n, divided *d)
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

/* Divides the word as the definition says, from the sum in front of it. */
static void divide_from_sum(words *w, const uint8_t *text, size_t n)
{
    place places[MOST_BYTES + 1];
    path from = {w->pieces, w->rule, text, n, places, 0};
    size_t count;
    leave_word(&from, w->base, 1);
    w->base = (float)places[n].sum;
    st_path_turn(places, n);
    put_path(w, places, text, n, w->out->data + w->out->size, &count, &w->run);
    w->out->size += count;
}

/* ---- words that are known ---- */

/* A word of up to ST_KNOWN_BYTES, with zeros behind it. */
typedef struct word_key {
    uint64_t part[ST_KNOWN_BYTES / 8];
} word_key;

static inline word_key key_of(const words *w, const uint8_t *text, size_t n)
{
    static const uint8_t kept[2 * ST_KNOWN_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
                                                     255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    uint8_t copy[ST_KNOWN_BYTES];
    word_key key;
    if (w->end - text < ST_KNOWN_BYTES) { /* the last word of a text */
        memcpy(copy, text, n);
        memset(copy + n, 0, sizeof copy - n);
        text = copy;
    }
    for (size_t i = 0; i < ST_KNOWN_BYTES / 8; i++)
        key.part[i] = st_load64(text + 8 * i) & st_load64(kept + ST_KNOWN_BYTES - n + 8 * i);
    return key;
}

/* A word that is looked up: it waits until its entry has arrived from memory. */
typedef struct waiting_word {
    const uint8_t *text;
    size_t n, place;
    word_key key; /* where n <= ST_KNOWN_BYTES */
} waiting_word;

static inline size_t place_of(word_key key)
{
    const uint64_t hash = st_fold_multiply(key.part[0] ^ ST_HASH_BEGIN, (key.part[1] ^ ST_HASH_STEP) + key.part[2] * ST_GOLDEN);
    return (size_t)(hash * ST_GOLDEN >> (64 - ST_KNOWN_BITS));
}

static inline int has_key(const st_known_word *word, const word_key *key)
{
    uint64_t differ = 0;
    for (size_t i = 0; i < ST_KNOWN_BYTES / 8; i++)
        differ |= st_load64(word->text + 8 * i) ^ key->part[i];
    return !differ;
}

static inline void put_known(words *w, const st_known_word *word)
{
    memcpy(w->out->data + w->out->size, word->ids, sizeof word->ids);
    w->out->size += word->count;
    for (size_t i = 0; i < ST_KNOWN_TOKENS; i++) /* + 0 changes nothing */
        w->base += word->scores[i];
    w->run = word->run;
}

static void put(words *w, const uint32_t *ids, size_t count, const float *scores, size_t edges, uint32_t run)
{
    memcpy(w->out->data + w->out->size, ids, count * sizeof *ids);
    w->out->size += count;
    for (size_t i = 0; i < edges; i++)
        w->base += scores[i];
    w->run = run;
}

static int is_below(float base, float limit)
{
    return fabsf(base) < limit;
}

static void keep(st_known_word *word, const divided *d, float limit, const uint8_t *text, size_t n)
{
    *word = (st_known_word){(uint8_t)n, (uint8_t)d->count, (uint8_t)d->edges, (uint8_t)d->run, limit, {0}, {0}, {0}};
    memcpy(word->text, text, n);
    memcpy(word->ids, d->ids, d->count * sizeof *d->ids);
    memcpy(word->scores, d->scores, d->edges * sizeof *d->scores);
}

static void keep_wide(st_wide_word *word, const divided *d, float limit, const uint8_t *text, size_t n)
{
    word->n = (uint8_t)n;
    word->count = (uint8_t)d->count;
    word->edges = (uint8_t)d->edges;
    word->run = (uint8_t)d->run;
    word->limit = limit;
    memcpy(word->text, text, n);
    memcpy(word->ids, d->ids, d->count * sizeof *d->ids);
    memcpy(word->scores, d->scores, d->edges * sizeof *d->scores);
}

static void take_new(words *w, const waiting_word *word, st_wide_word *wide)
{
    divided d;
    divide(w, word->text, word->n, &d);
    const float limit = (float)(d.limit * (1 - 1e-6)); /* rounded down */
    if (word->n <= ST_KNOWN_BYTES && d.count <= ST_KNOWN_TOKENS && d.edges <= ST_KNOWN_TOKENS)
        keep(&w->known->words[word->place], &d, limit, word->text, word->n);
    else if (d.count <= ST_WIDE_WORD_TOKENS && d.edges <= ST_WIDE_WORD_TOKENS)
        keep_wide(wide, &d, limit, word->text, word->n);
    if (is_below(w->base, limit))
        put(w, d.ids, d.count, d.scores, d.edges, d.run);
    else
        divide_from_sum(w, word->text, word->n);
}

/* Whether most words like this one are seen once: a long one, or one of a script without blanks. Only those seen twice are kept. */
static int is_mostly_new(const waiting_word *word)
{
    return word->n > ST_KNOWN_BYTES || (word->n > 3 && word->text[3] >= 0xE0);
}

/* A word that is too long for the first table, or not there. */
static void take_other(words *w, const waiting_word *word)
{
    if (word->n > ST_WIDE_WORD_BYTES) {
        divide_from_sum(w, word->text, word->n);
        return;
    }
    const uint64_t hash = st_hash_bytes(word->text, word->n);
    const size_t place = (size_t)(hash >> (64 - ST_WIDE_WORD_BITS));
    st_wide_word *wide = &w->known->wide[place];
    uint16_t *seen = &w->known->seen[hash >> (64 - ST_SEEN_BITS)];
    if (wide->n == word->n && st_same_bytes(wide->text, word->text, word->n)) {
        if (is_below(w->base, wide->limit))
            put(w, wide->ids, wide->count, wide->scores, wide->edges, wide->run);
        else
            divide_from_sum(w, word->text, word->n);
    } else if (!is_mostly_new(word) || *seen == (uint16_t)hash) {
        take_new(w, word, wide);
    } else {
        *seen = (uint16_t)hash;
        divide_from_sum(w, word->text, word->n);
    }
}

static void send_for_word(const words *w, waiting_word *word, const uint8_t *text, size_t n)
{
    word->text = text;
    word->n = n;
    if (n > ST_KNOWN_BYTES)
        return;
    word->key = key_of(w, text, n);
    word->place = place_of(word->key);
    st_prefetch(&w->known->words[word->place]);
}

static void take_word(words *w, const waiting_word *word)
{
    const st_known_word *found = &w->known->words[word->place];
    if (word->n > ST_KNOWN_BYTES || found->n != word->n || !has_key(found, &word->key))
        take_other(w, word);
    else if (is_below(w->base, found->limit))
        put_known(w, found);
    else
        divide_from_sum(w, word->text, word->n);
}

/* ---- a text ---- */

static inline int is_mark(const uint8_t *text)
{
    return text[0] == 0xE2 && text[1] == 0x96 && text[2] == 0x81;
}

/* The first border in front of a mark behind text[at], which may lie inside of a word; n: there is none. A mark behind a mark is none,
 * nor is one whose front is not seen. */
static size_t next_border(const uint8_t *text, size_t at, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    for (at++; at + 3 <= n; at++) {
        while (at + 8 <= n) { /* to the next byte that a mark begins with */
            const uint64_t differ = st_load64(text + at) ^ ones * 0xE2, found = (differ - ones) & ~differ & high;
            at += found ? st_first_bit(found) / 8 : 8;
            if (found)
                break;
        }
        if (at + 3 <= n && is_mark(text + at) && at >= 3 && !is_mark(text + at - 3))
            return at;
    }
    return n;
}

/* Whether words can be looked up from text[0..n) on: nothing waits, and no unknown character in front goes on there. */
static int is_at_word(const st_open *open, const uint8_t *text, size_t n)
{
    return !open->text.size && (open->state == NO_RUN || (n >= 3 && is_mark(text)));
}

/* What the lattice keeps at a border: the sum. */
static float sum_of(const st_open *open)
{
    return open->own.size ? (float)places_of(open)->sum : 0;
}

static st_status keep_sum(words *w, size_t n)
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

/* Takes words from text[*at..n) on, as many as are looked up at once. 0: a word follows that is too long, or open, or the text ends. */
static int take_some(words *w, const uint8_t *text, size_t n, int final, size_t *at)
{
    waiting_word waiting[WAITING];
    size_t count = 0, border = 0;
    int more = 1;
    while (count < WAITING && more) {
        border = *at < n ? next_border(text, *at, n) : n;
        more = *at < n && border - *at <= MOST_BYTES && (border < n || final);
        if (!more)
            break;
        send_for_word(w, &waiting[count++], text + *at, border - *at);
        *at = border;
    }
    for (size_t i = 0; i < count; i++)
        take_word(w, &waiting[i]);
    return more;
}

/* The words of text[0..n) up to the last border, or all of them where it ends; *taken: their bytes. */
static st_status take_words(words *w, const uint8_t *text, size_t n, int final, size_t *taken)
{
    size_t at = 0, last = 0;
    int more = 1;
    w->base = sum_of(w->open);
    w->run = w->open->state;
    while (more) {
        if (w->out->capacity - w->out->size < ROOM)
            ST_TRY(st_ids_reserve(w->out, ROOM));
        more = take_some(w, text, n, final, &at);
        ST_TRY(st_go_on((at - last) * BYTE_COSTS));
        last = at;
    }
    *taken = at;
    return at ? keep_sum(w, at) : ST_OK;
}

st_status st_words_take(st_known_words *known, st_open *open, st_vocab *vocab, const uint8_t *text, size_t n, int final, st_ids *out)
{
    words w = {known, open, vocab, st_vocab_pieces(vocab), st_unigram_of(vocab), out, text, text + n, 0, NO_RUN};
    size_t at = 0;
    do {
        if (is_at_word(open, text + at, n - at)) {
            size_t taken;
            ST_TRY(take_words(&w, text + at, n - at, final, &taken));
            at += taken;
        }
        if (at == n && !final)
            break;
        const size_t border = at < n ? next_border(text, at, n) : n; /* of a long word, or one that is open */
        ST_TRY(st_lattice_take(open, vocab, text + at, border - at, final || border < n, out, NULL));
        at = border;
    } while (at < n);
    return ST_OK;
}
