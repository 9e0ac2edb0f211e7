/* Byte pair encoding of pieces in which not all characters are symbols (models/symbols.h). Nothing leaves before the end of a piece. */
#include "models/symbols.h"

#include "base/utf8.h"
#include "models/bpe.h"
#include "models/models.h"

#define AT_ONCE 64
#define SLOT 128 /* bytes of a word as symbols, and more */

/* Bytes that a piece of n bytes becomes at most. */
#define MOST_OF(n) (2 * (n) + 2)

typedef struct symbol_scratch {
    st_bpe_scratch merging;
    st_bytes piece;
    uint8_t texts[AT_ONCE][SLOT];
    uint32_t tokens[AT_ONCE][SLOT];
} symbol_scratch;

static void release(void *scratch)
{
    symbol_scratch *s = scratch;
    st_bpe_release(&s->merging);
    st_bytes_free(&s->piece);
}

static int accepts(const st_vocab *v)
{
    const st_symbols *s = st_symbols_of(v);
    if (v->own_size < sizeof *s || !s->pages || s->pages > UINT16_MAX || s->prefix_size > UINT16_MAX || s->suffix_size > UINT16_MAX ||
        v->own_size != sizeof *s + sizeof *s->bits * s->pages + s->prefix_size + s->suffix_size)
        return 0;
    for (size_t i = 0; i < ST_SYMBOL_PLACES * (size_t)ST_SYMBOL_PAGES; i++)
        if (s->page[i / ST_SYMBOL_PAGES][i % ST_SYMBOL_PAGES] >= s->pages)
            return 0;
    return s->unknown == ST_NONE || s->unknown < v->count;
}

/* Whether the bytes of a unit all have tokens. */
static int has_byte_tokens(const st_symbols *s, const uint8_t *unit, unsigned size)
{
    if (!(s->flags & ST_HAS_BYTE_TOKENS))
        return 0;
    for (unsigned i = 0; i < size; i++)
        if (!(s->of_bytes[unit[i] >> 3] >> (unit[i] & 7) & 1))
            return 0;
    return 1;
}

/* Writes the symbols of a piece, at most MOST_OF(n) bytes, and returns how many bytes they are. *changed: they are not its own bytes. */
static size_t to_symbols(const st_symbols *s, const uint8_t *text, size_t n, uint8_t *to, int *changed)
{
    const int ends = s->flags & ST_HAS_ENDINGS ? ST_AT_END : 0, begins = s->flags & ST_HAS_BEGINNINGS ? ST_AT_BEGINNING : 0;
    int waits = 0; /* an unknown token */
    size_t written = 0;
    unsigned size = 1;
    *changed = ends || begins;
    for (size_t at = 0; at < n; at += size) {
        const uint32_t unit = s->flags & ST_UNITS_ARE_BYTES ? text[at] : st_utf8_decode(text + at, &size);
        const int place = (at + size == n ? ends : 0) | (at ? 0 : begins), is_symbol = st_is_symbol(s, place, unit);
        const int has_bytes = !is_symbol && has_byte_tokens(s, text + at, size);
        if (waits && (is_symbol || (!has_bytes && !(s->flags & ST_UNKNOWN_JOINS)))) {
            to[written++] = ST_UNKNOWN;
            waits = 0;
        }
        if (place & ST_AT_BEGINNING && is_symbol)
            to[written++] = ST_BEGINNING;
        for (unsigned i = 0; i < size && (is_symbol || has_bytes); i++) {
            if (has_bytes)
                to[written++] = ST_BYTE;
            to[written++] = text[at + i];
        }
        if (place & ST_AT_END && is_symbol)
            to[written++] = ST_ENDING;
        waits |= !is_symbol && !has_bytes && s->unknown != ST_NONE;
        *changed |= !is_symbol;
    }
    if (waits)
        to[written++] = ST_UNKNOWN;
    return written;
}

static int hex_value(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that a text names as files name its token, <0x41>; -1: it names none. */
static int named_byte(const uint8_t *text, size_t n)
{
    const int high = n == 6 ? hex_value(text[3]) : -1, low = n == 6 ? hex_value(text[4]) : -1;
    return high >= 0 && low >= 0 && !memcmp(text, "<0x", 3) && text[5] == '>' ? high << 4 | low : -1;
}

/* The token whose text in the file is this, and which goes on in a piece, or ends one, as told: its index, or ST_NONE. */
static uint32_t token_at(const st_vocab *v, const uint8_t *text, size_t n, int goes_on, int ends, uint8_t *to)
{
    const st_symbols *s = st_symbols_of(v);
    const size_t from = goes_on ? s->prefix_size : 0, behind = ends ? s->suffix_size : 0;
    const uint8_t *prefix = s->bits[s->pages], *suffix = prefix + s->prefix_size;
    size_t size = 0;
    if (n <= from + behind || memcmp(text, prefix, from) || memcmp(text + n - behind, suffix, behind))
        return ST_NONE;
    if (s->flags & ST_HAS_BEGINNINGS && !goes_on)
        to[size++] = ST_BEGINNING;
    memcpy(to + size, text + from, n - from - behind);
    size += n - from - behind;
    if (ends)
        to[size++] = ST_ENDING;
    const uint32_t found = st_vocab_find(v, to, size);
    return found != ST_NONE && v->ids[found] < ST_FIRST_FRAGMENT ? found : ST_NONE;
}

/* A piece that is a token in the words of the file: its index, or ST_NONE. Prefix and suffix can be read in several ways, of which
 * one at most is a token, since the file has its text once. to: room for MOST_OF(n) bytes. */
static uint32_t whole_token(const st_vocab *v, const uint8_t *text, size_t n, uint8_t *to)
{
    const st_symbols *s = st_symbols_of(v);
    const int byte = s->flags & ST_HAS_BYTE_TOKENS ? named_byte(text, n) : -1;
    uint32_t found = ST_NONE;
    if (!(s->flags & ST_KEEPS_WHOLE))
        return ST_NONE;
    if (byte >= 0 && s->of_bytes[byte >> 3] >> (byte & 7) & 1) {
        to[0] = ST_BYTE;
        to[1] = (uint8_t)byte;
        return st_vocab_find(v, to, 2);
    }
    for (int ends = 0; ends <= !!(s->flags & ST_HAS_ENDINGS); ends++)
        for (int goes_on = 0; goes_on <= !!(s->flags & ST_HAS_BEGINNINGS); goes_on++)
            if (found == ST_NONE)
                found = token_at(v, text, n, goes_on, ends, to);
    return found;
}

/* Puts the unknown token in the place of what stands for it. */
static void name_unknown(uint32_t *tokens, size_t count, uint32_t stand_in, uint32_t unknown)
{
    for (size_t i = 0; i < count; i++)
        tokens[i] = tokens[i] == stand_in ? unknown : tokens[i];
}

static void merge_changed(st_vocab *v, symbol_scratch *s, st_word *changed, st_word **words, size_t count)
{
    const uint32_t stand_in = v->pairs.byte_token[ST_UNKNOWN], unknown = st_symbols_of(v)->unknown;
    st_bpe_words(v, &s->merging, changed, count, 0);
    for (size_t i = 0; i < count; i++) {
        name_unknown(changed[i].tokens, changed[i].count, stand_in, unknown);
        memcpy(words[i]->tokens, changed[i].tokens, changed[i].count * sizeof(uint32_t));
        words[i]->count = changed[i].count;
    }
}

/* Words of which some become other bytes: those are merged apart, because they are no UTF-8. */
static void some_words(st_vocab *v, symbol_scratch *s, st_word *words, size_t count)
{
    st_word changed[AT_ONCE], same[AT_ONCE], *changed_words[AT_ONCE], *same_words[AT_ONCE];
    size_t changed_count = 0, same_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t *text = s->texts[changed_count];
        int is_changed;
        const uint32_t token = whole_token(v, words[i].text, words[i].n, text);
        if (token != ST_NONE) {
            words[i].tokens[0] = token;
            words[i].count = 1;
            continue;
        }
        const size_t n = to_symbols(st_symbols_of(v), words[i].text, words[i].n, text, &is_changed);
        words[i].count = 0;
        if (!is_changed) {
            same_words[same_count] = &words[i];
            same[same_count++] = words[i];
        } else if (n > ST_WORD_BYTES) {
            words[i].count = (uint32_t)st_merge_short(&v->pairs, text, n, s->tokens[changed_count]);
            memcpy(words[i].tokens, s->tokens[changed_count], words[i].count * sizeof(uint32_t));
            name_unknown(words[i].tokens, words[i].count, v->pairs.byte_token[ST_UNKNOWN], st_symbols_of(v)->unknown);
        } else if (n) {
            changed_words[changed_count] = &words[i];
            changed[changed_count] = (st_word){text, s->tokens[changed_count], (uint32_t)n, 0};
            changed_count++;
        }
    }
    st_bpe_words(v, &s->merging, same, same_count, 1);
    for (size_t i = 0; i < same_count; i++)
        same_words[i]->count = same[i].count;
    merge_changed(v, s, changed, changed_words, changed_count);
}

static st_status symbol_words(st_vocab *v, void *scratch, st_word *words, size_t count)
{
    for (size_t at = 0; at < count; at += AT_ONCE)
        some_words(v, scratch, words + at, count - at < AT_ONCE ? count - at : AT_ONCE);
    return ST_OK;
}

/* The symbols of a piece in scratch memory. */
static st_status piece_of(const st_vocab *v, symbol_scratch *s, const uint8_t *text, size_t n)
{
    int changed;
    s->piece.size = 0;
    ST_TRY(st_bytes_reserve(&s->piece, MOST_OF(n)));
    s->piece.size = to_symbols(st_symbols_of(v), text, n, s->piece.data, &changed);
    return ST_OK;
}

static void name_ids(const st_vocab *v, st_ids *out, size_t first)
{
    const uint32_t unknown = st_symbols_of(v)->unknown;
    if (unknown != ST_NONE)
        name_unknown(out->data + first, out->size - first, v->ids[v->pairs.byte_token[ST_UNKNOWN]], v->ids[unknown]);
}

/* The piece as one token, if the model keeps those. */
static st_status take_whole(const st_vocab *v, symbol_scratch *s, const uint8_t *text, size_t n, st_ids *out, int *taken)
{
    ST_TRY(st_bytes_reserve(&s->piece, MOST_OF(n)));
    const uint32_t token = whole_token(v, text, n, s->piece.data);
    *taken = token != ST_NONE;
    if (*taken) {
        ST_TRY(st_ids_reserve(out, 1));
        out->data[out->size++] = v->ids[token];
    }
    return ST_OK;
}

/* fast: the vocabulary; NULL: by the definition. */
static st_status to_ids(const st_vocab *v, st_vocab *fast, symbol_scratch *s, const uint8_t *text, size_t n, st_ids *out)
{
    const size_t first = out->size;
    int taken;
    ST_TRY(take_whole(v, s, text, n, out, &taken));
    if (taken)
        return ST_OK;
    ST_TRY(piece_of(v, s, text, n));
    if (!s->piece.size)
        return ST_OK;
    ST_TRY(fast ? st_bpe_whole(fast, &s->merging, s->piece.data, s->piece.size, out)
                : st_bpe_reference(v, &s->merging, s->piece.data, s->piece.size, out));
    name_ids(v, out, first);
    return ST_OK;
}

static st_status whole(st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    return to_ids(v, v, scratch, text, n, out);
}

static st_status reference(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    return to_ids(v, NULL, scratch, text, n, out);
}

/* An unknown token that stands for itself is none. */
static st_status refuse_unknown(const st_vocab *v, st_ids *ids, size_t from)
{
    const uint32_t unknown = st_symbols_of(v)->unknown;
    return unknown != ST_NONE && v->ids[unknown] >= ST_FIRST_FRAGMENT ? st_vocab_refuse_fragments(v, ids, from) : ST_OK;
}

/* ---- where tokens begin ---- */

/* The units of a piece as symbols, in turn: bytes of a symbol as the core writes it, 0 for the unknown token; and bytes of the text that
 * it stands for, of a byte those of the letter that the reference has for it. */
typedef struct unit_reader {
    const st_symbols *symbols;
    const uint8_t *text;
    size_t n, at, waiting; /* waiting: bytes of an unknown token */
    unsigned bytes;        /* left, of a unit of byte tokens */
    int waits;
} unit_reader;

static size_t letter_size(uint8_t byte)
{
    return byte >= 0x21 && byte <= 0x7E ? 1 : 2;
}

static int take_waiting(unit_reader *r, size_t *made, size_t *size)
{
    const int waits = r->waits;
    *made = 0;
    *size = r->waiting;
    r->waits = 0;
    r->waiting = 0;
    return waits;
}

static int next_unit(unit_reader *r, size_t *made, size_t *size)
{
    const st_symbols *s = r->symbols;
    while (!r->bytes) {
        unsigned n = 1;
        if (r->at == r->n)
            return take_waiting(r, made, size);
        const uint8_t *text = r->text + r->at;
        const uint32_t unit = s->flags & ST_UNITS_ARE_BYTES ? *text : st_utf8_decode(text, &n);
        const int ends = s->flags & ST_HAS_ENDINGS && r->at + n == r->n, begins = s->flags & ST_HAS_BEGINNINGS && !r->at;
        const int is_symbol = st_is_symbol(s, ST_AT_END * ends + ST_AT_BEGINNING * begins, unit);
        const int has_bytes = !is_symbol && has_byte_tokens(s, text, n);
        if (r->waits && (is_symbol || !(has_bytes || s->flags & ST_UNKNOWN_JOINS)))
            return take_waiting(r, made, size);
        r->at += n;
        const size_t letters = s->flags & ST_UNITS_ARE_BYTES ? letter_size(*text) : n;
        if (is_symbol) {
            *made = n + (size_t)ends + (size_t)begins;
            *size = letters;
            return 1;
        }
        const int is_unknown = !has_bytes && s->unknown != ST_NONE;
        r->bytes = has_bytes ? n : 0;
        r->waits |= is_unknown;
        r->waiting += is_unknown ? letters : 0;
    }
    r->bytes--;
    *made = 2;
    *size = 1;
    return 1;
}

/* Behind the text that the tokens in front stand for, so that what is left out of a piece moves those behind it, as in the reference. */
static void put_starts(const st_vocab *v, const uint8_t *text, size_t n, uint32_t *ids, size_t count)
{
    unit_reader r = {.symbols = st_symbols_of(v), .text = text, .n = n};
    const int by_bytes = (r.symbols->flags & ST_UNITS_ARE_BYTES) != 0;
    size_t at = 0, byte = 0, letters = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = st_token_length(v, st_vocab_index(v, ids[i])), done = 0, made = 0, more;
        for (; by_bytes && byte < n && letters + letter_size(text[byte]) <= at; byte++)
            letters += letter_size(text[byte]);
        ids[i] = (uint32_t)(by_bytes ? byte : at);
        for (int first = 1; (first || (made && done < size)) && next_unit(&r, &made, &more); first = 0) {
            done += made;
            at += more;
        }
    }
}

static st_status starts(st_vocab *v, const uint8_t *text, size_t n, st_ids *out)
{
    const size_t first = out->size;
    if (st_vocab_has(v, ST_MODEL_KEEPS_TOKENS) && st_vocab_find(v, text, n) != ST_NONE) {
        ST_TRY(st_ids_reserve(out, 1));
        out->data[out->size++] = 0; /* a whole piece that is a token, whatever it is made of */
        return ST_OK;
    }
    symbol_scratch *s = st_malloc(sizeof *s);
    if (!s)
        return ST_NO_MEMORY;
    memset(s, 0, offsetof(symbol_scratch, texts));
    const st_status status = whole(v, s, text, n, out);
    if (!status && out->size - first > 1)
        put_starts(v, text, n, out->data + first, out->size - first);
    else if (!status && out->size > first)
        out->data[first] = 0;
    release(s);
    st_free(s);
    return status;
}

#define FACTS (ST_MODEL_MERGES | ST_MODEL_HAS_BYTES)

/* clang-format off */
#define FUNCTIONS \
    .holds = ST_HOLD_WHOLE, .scratch = sizeof(symbol_scratch), .accepts = accepts, .release = release, .words = symbol_words, \
    .whole = whole, .reference = reference, .spell = refuse_unknown, .starts = starts

const st_model st_model_symbols = {
    .name = "symbols", .facts = FACTS | ST_MODEL_HAS_CUTS | ST_MODEL_KEEPS_TOKENS, FUNCTIONS};

const st_model st_model_joined = {.name = "joined", .facts = FACTS | ST_MODEL_KEEPS_TOKENS, FUNCTIONS};

const st_model st_model_affixed = {.name = "affixed", .facts = FACTS, FUNCTIONS};
/* clang-format on */
