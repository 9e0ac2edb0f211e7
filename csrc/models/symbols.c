/* Byte pair encoding of pieces in which not all characters are symbols (models/symbols.h). Nothing leaves before the end of a piece. */
#include "models/symbols.h"

#include "base/utf8.h"
#include "models/bpe.h"
#include "models/models.h"

#define AT_ONCE 64
#define SLOT 64 /* bytes of a word with an ending, and more */

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
    if (v->own_size < sizeof *s || s->pages > UINT16_MAX || v->own_size != sizeof *s + sizeof *s->bits * s->pages || !s->pages)
        return 0;
    for (size_t i = 0; i < 2 * (size_t)ST_SYMBOL_PAGES; i++)
        if (s->page[i / ST_SYMBOL_PAGES][i % ST_SYMBOL_PAGES] >= s->pages)
            return 0;
    return s->unknown == ST_NONE || s->unknown < v->count;
}

/* Writes the symbols of a piece, at most n + 1 bytes, and returns how many bytes they are. *changed: they are not its own bytes. */
static size_t to_symbols(const st_symbols *s, const uint8_t *text, size_t n, uint8_t *to, int *changed)
{
    const int has_endings = (s->flags & ST_HAS_ENDINGS) != 0, joins = (s->flags & ST_UNKNOWN_JOINS) != 0;
    int was_unknown = 0;
    size_t written = 0;
    *changed = has_endings;
    for (size_t at = 0; at < n;) {
        unsigned size = 1;
        const uint32_t unit = s->flags & ST_UNITS_ARE_BYTES ? text[at] : st_utf8_decode(text + at, &size);
        const int at_end = has_endings && at + size == n, is_symbol = st_is_symbol(s, at_end, unit);
        for (unsigned i = 0; i < size && is_symbol; i++)
            to[written++] = text[at + i];
        if (is_symbol && at_end)
            to[written++] = ST_ENDING;
        if (!is_symbol) {
            *changed = 1;
            if (s->unknown != ST_NONE && !(joins && was_unknown))
                to[written++] = ST_UNKNOWN;
        }
        was_unknown = !is_symbol;
        at += size;
    }
    return written;
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
        const size_t n = to_symbols(st_symbols_of(v), words[i].text, words[i].n, text, &is_changed);
        words[i].count = 0;
        if (!is_changed) {
            same_words[same_count] = &words[i];
            same[same_count++] = words[i];
        } else if (n > ST_WORD_BYTES) { /* by one byte */
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
    ST_TRY(st_bytes_reserve(&s->piece, n + 1));
    s->piece.size = to_symbols(st_symbols_of(v), text, n, s->piece.data, &changed);
    return ST_OK;
}

static void name_ids(const st_vocab *v, st_ids *out, size_t first)
{
    const uint32_t unknown = st_symbols_of(v)->unknown;
    if (unknown != ST_NONE)
        name_unknown(out->data + first, out->size - first, v->ids[v->pairs.byte_token[ST_UNKNOWN]], v->ids[unknown]);
}

static st_status whole(st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    symbol_scratch *s = scratch;
    const size_t first = out->size;
    ST_TRY(piece_of(v, s, text, n));
    if (s->piece.size) {
        ST_TRY(st_bpe_whole(v, &s->merging, s->piece.data, s->piece.size, out));
        name_ids(v, out, first);
    }
    return ST_OK;
}

static st_status reference(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    symbol_scratch *s = scratch;
    const size_t first = out->size;
    ST_TRY(piece_of(v, s, text, n));
    if (s->piece.size) {
        ST_TRY(st_bpe_reference(v, &s->merging, s->piece.data, s->piece.size, out));
        name_ids(v, out, first);
    }
    return ST_OK;
}

#define FACTS (ST_MODEL_MERGES | ST_MODEL_HAS_BYTES)

/* clang-format off */
#define FUNCTIONS \
    .holds = ST_HOLD_WHOLE, .scratch = sizeof(symbol_scratch), .accepts = accepts, .release = release, .words = symbol_words, \
    .whole = whole, .reference = reference

const st_model st_model_symbols = {
    .name = "symbols", .facts = FACTS | ST_MODEL_HAS_CUTS | ST_MODEL_KEEPS_TOKENS, FUNCTIONS};

const st_model st_model_joined = {.name = "joined", .facts = FACTS | ST_MODEL_KEEPS_TOKENS, FUNCTIONS};

const st_model st_model_affixed = {.name = "affixed", .facts = FACTS, FUNCTIONS};
/* clang-format on */
