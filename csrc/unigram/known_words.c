#include "unigram/known_words.h"

#include "base/bits.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/prefetch.h"
#include "unigram/lattice.h"

/* Work of a byte, in the unit of st_go_on (base/interrupt.h). */
#define BYTE_COSTS 8

/* Words that are looked up at once, and ids that there is room for then. */
#define WAITING 32
#define ROOM (WAITING * ST_MOST_WORD)

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

/* Divides a word and keeps it. Returns the |B| below which it is so. */
static float learn(words *w, const waiting_word *word, st_wide_word *wide, divided *d)
{
    st_word_divide(w, word->text, word->n, d);
    const float limit = (float)(d->limit * (1 - 1e-6)); /* rounded down */
    if (word->n <= ST_KNOWN_BYTES && d->count <= ST_KNOWN_TOKENS && d->edges <= ST_KNOWN_TOKENS)
        keep(&w->known->words[word->place], d, limit, word->text, word->n);
    else if (d->count <= ST_WIDE_WORD_TOKENS && d->edges <= ST_WIDE_WORD_TOKENS)
        keep_wide(wide, d, limit, word->text, word->n);
    return limit;
}

static void take_new(words *w, const waiting_word *word, st_wide_word *wide)
{
    divided d;
    const float limit = learn(w, word, wide, &d);
    if (st_is_below(w->base, limit))
        put(w, d.ids, d.count, d.scores, d.edges, d.run);
    else
        st_word_divide_from_sum(w, word->text, word->n);
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
        st_word_divide_from_sum(w, word->text, word->n);
        return;
    }
    const uint64_t hash = st_hash_bytes(word->text, word->n);
    const size_t place = (size_t)(hash >> (64 - ST_WIDE_WORD_BITS));
    st_wide_word *wide = &w->known->wide[place];
    uint16_t *seen = &w->known->seen[hash >> (64 - ST_SEEN_BITS)];
    if (wide->n == word->n && st_same_bytes(wide->text, word->text, word->n)) {
        if (st_is_below(w->base, wide->limit))
            put(w, wide->ids, wide->count, wide->scores, wide->edges, wide->run);
        else
            st_word_divide_from_sum(w, word->text, word->n);
    } else if (!is_mostly_new(word) || *seen == (uint16_t)hash) {
        take_new(w, word, wide);
    } else {
        *seen = (uint16_t)hash;
        st_word_divide_from_sum(w, word->text, word->n);
    }
}

static void send_for_word(const words *w, waiting_word *word, const uint8_t *text, size_t n)
{
    word->text = text;
    word->n = n;
    word->place = 0; /* of a longer word, whose place is not looked at */
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
    else if (st_is_below(w->base, found->limit))
        put_known(w, found);
    else
        st_word_divide_from_sum(w, word->text, word->n);
}

/* ---- words that are noted ---- */

static void note(words *w, size_t n, float limit, const uint32_t *ids, size_t count, const float *scores, size_t edges)
{
    const noted_word word = {limit, (uint32_t)n, (uint8_t)edges, (uint8_t)count};
    st_noted *noted = w->noted;
    memcpy(noted->words.data + noted->words.size, &word, sizeof word);
    noted->words.size += sizeof word;
    memcpy(noted->scores.data + noted->scores.size, scores, edges * sizeof *scores);
    noted->scores.size += edges * sizeof *scores;
    memcpy(w->out->data + w->out->size, ids, count * sizeof *ids);
    w->out->size += count;
}

/* A word that has no ids before the sum in front is known. */
static void note_unsure(words *w, size_t n)
{
    static const uint32_t none[1];
    static const float nothing[1];
    note(w, n, 0, none, 0, nothing, 0);
}

static void note_other(words *w, const waiting_word *word)
{
    const uint64_t hash = st_hash_bytes(word->text, word->n);
    st_wide_word *wide = &w->known->wide[hash >> (64 - ST_WIDE_WORD_BITS)];
    divided d;
    if (wide->n == word->n && st_same_bytes(wide->text, word->text, word->n)) {
        note(w, word->n, wide->limit, wide->ids, wide->count, wide->scores, wide->edges);
        return;
    }
    const float limit = learn(w, word, wide, &d);
    note(w, word->n, limit, d.ids, d.count, d.scores, d.edges);
}

static void note_word(words *w, const waiting_word *word)
{
    const st_known_word *found = &w->known->words[word->place];
    if (word->n > ST_WIDE_WORD_BYTES)
        note_unsure(w, word->n);
    else if (word->n > ST_KNOWN_BYTES || found->n != word->n || !has_key(found, &word->key))
        note_other(w, word);
    else
        note(w, word->n, found->limit, found->ids, found->count, found->scores, found->edges);
}

static st_status reserve_notes(words *w)
{
    ST_TRY(st_bytes_reserve(&w->noted->words, (WAITING + 1) * sizeof(noted_word)));
    return st_bytes_reserve(&w->noted->scores, WAITING * ST_WIDE_WORD_BYTES * sizeof(float));
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

/* Takes words from text[*at..n) on, as many as are looked up at once. 0: a word follows that is too long, or open, or the text ends. */
static int take_some(words *w, const uint8_t *text, size_t n, int final, size_t *at)
{
    waiting_word waiting[WAITING];
    size_t count = 0, border = 0;
    int more = 1;
    while (count < WAITING && more) {
        border = *at < n ? next_border(text, *at, n) : n;
        more = *at < n && border - *at <= ST_MOST_WORD && (border < n || final);
        if (!more)
            break;
        send_for_word(w, &waiting[count++], text + *at, border - *at);
        *at = border;
    }
    for (size_t i = 0; i < count; i++)
        if (w->noted)
            note_word(w, &waiting[i]);
        else
            take_word(w, &waiting[i]);
    return more;
}

/* The words of text[0..n) up to the last border, or all of them where it ends; *taken: their bytes. */
static st_status take_words(words *w, const uint8_t *text, size_t n, int final, size_t *taken)
{
    size_t at = 0, last = 0;
    int more = 1;
    w->base = st_sum_of(w->open);
    w->run = w->open->state;
    while (more) {
        if (w->out->capacity - w->out->size < ROOM)
            ST_TRY(st_ids_reserve(w->out, ROOM));
        more = take_some(w, text, n, final, &at);
        ST_TRY(st_go_on((at - last) * BYTE_COSTS));
        last = at;
    }
    *taken = at;
    return at ? st_keep_sum(w, at) : ST_OK;
}

st_status st_words_take(st_known_words *known, st_open *open, st_vocab *vocab, const uint8_t *text, size_t n, int final, st_ids *out)
{
    words w = {known, open, vocab, st_vocab_pieces(vocab), st_unigram_of(vocab), out, text, text + n, NULL, 0, NO_RUN};
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

/* The words up to the last border, and one that is too long to be looked up. */
static st_status note_words(words *w, int final)
{
    st_noted *noted = w->noted;
    const uint8_t *text = noted->text.data;
    const size_t n = noted->text.size;
    for (size_t last = noted->at; noted->at < n; last = noted->at) {
        if (w->out->capacity - w->out->size < ROOM)
            ST_TRY(st_ids_reserve(w->out, ROOM));
        ST_TRY(reserve_notes(w));
        if (!take_some(w, text, n, final, &noted->at) && noted->at < n) {
            const size_t border = next_border(text, noted->at, n);
            if (border == n && !final)
                return ST_OK;
            if (border - noted->at > ST_MOST_WORD) {
                note_unsure(w, border - noted->at);
                noted->at = border;
            }
        }
        ST_TRY(st_go_on((noted->at - last) * BYTE_COSTS));
    }
    return ST_OK;
}

st_status st_words_note(st_noted *noted, st_open *open, st_vocab *vocab, const uint8_t *text, size_t n, int final, st_ids *out)
{
    ST_TRY(st_bytes_append(&noted->text, text, n));
    const uint8_t *all = noted->text.data;
    words w = {noted->known, open, vocab, st_vocab_pieces(vocab), st_unigram_of(vocab), out, all, all + noted->text.size, noted, 0, NO_RUN};
    ST_TRY(note_words(&w, final));
    noted->closed = final;
    ST_TRY(st_keep_sum(&w, n));
    lattice_of(open)->noted = noted;
    return ST_OK;
}
