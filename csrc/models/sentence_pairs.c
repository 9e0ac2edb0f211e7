/* Byte pair encoding as SentencePiece defines it, by the scores of tokens: the two neighbours are joined whose text is the token with
 * the highest score, the leftmost of equal ones first. Where scores differ that is a list of merges, which models/bpe.c does faster.
 * The second model looks up words, of which one begins at each mark, U+2581.
 *
 * A vocabulary has of its own what one of Unigram has (unigram/rule.h): scores, and what becomes of a character that is no token.
 * Unknown characters or words side by side are one token. */
#include "base/interrupt.h"
#include "base/utf8.h"
#include "models/models.h"
#include "unigram/rule.h"
#include "vocab/open.h"

#define POP_COSTS 64 /* work of taking a candidate, in the unit of st_go_on */

static const uint8_t mark[] = {0xE2, 0x96, 0x81};

/* What begins at the byte of that number. token: ST_NONE for an unknown character. */
typedef struct symbol {
    size_t next, previous;
    uint32_t token, version;
} symbol;

typedef struct candidate {
    double score;
    size_t left;
    uint32_t token, version;
} candidate;

typedef struct pairs_scratch {
    st_bytes buffer; /* n symbols, and 3n candidates: n at the start, and two for each of the fewer than n merges */
    st_ids tokens;
} pairs_scratch;

static void release(void *scratch)
{
    pairs_scratch *s = scratch;
    st_bytes_free(&s->buffer);
    st_ids_free(&s->tokens);
}

static int has_scores(const st_vocab *v)
{
    const st_unigram *rule = st_unigram_of(v);
    if (v->own_size != ST_UNIGRAM_HEAD + v->count * sizeof *rule->scores || rule->unknown >= v->count)
        return 0;
    for (uint32_t i = 0; i < v->count; i++)
        if (rule->scores[i] != rule->scores[i])
            return 0;
    for (unsigned byte = 0; byte < 256; byte++)
        if (rule->bytes[byte] != ST_NONE ? rule->bytes[byte] >= v->count : rule->flags & ST_UNIGRAM_FALLBACK)
            return 0;
    return 1;
}

/* ---- what comes out ---- */

typedef struct output {
    const st_vocab *v;
    uint32_t *tokens;
    size_t count;
    st_ids *starts; /* NULL: places are not asked for */
    int was_unknown;
} output;

static st_status put(output *out, uint32_t token, size_t at)
{
    out->tokens[out->count++] = token;
    if (!out->starts)
        return ST_OK;
    ST_TRY(st_ids_reserve(out->starts, 1));
    out->starts->data[out->starts->size++] = (uint32_t)at;
    return ST_OK;
}

/* The token text[at..end), or what is unknown there. */
static st_status put_symbol(output *out, const uint8_t *text, size_t at, size_t end, uint32_t token)
{
    const st_unigram *rule = st_unigram_of(out->v);
    const int is_unknown = token == ST_NONE, again = out->was_unknown;
    out->was_unknown = is_unknown;
    if (!is_unknown)
        return put(out, token, at);
    if (!(rule->flags & ST_UNIGRAM_FALLBACK))
        return again ? ST_OK : put(out, rule->unknown, at);
    for (size_t i = at; i < end; i++)
        ST_TRY(put(out, rule->bytes[text[i]], at));
    return ST_OK;
}

/* ---- merging ---- */

typedef struct merging {
    const st_vocab *v;
    const uint8_t *text;
    size_t n;
    symbol *symbols;
    candidate *heap;
    size_t heap_size;
} merging;

static inline int before(const void *none, const candidate *a, const candidate *b)
{
    (void)none;
    return a->score != b->score ? a->score > b->score : a->left < b->left;
}

#define ST_HEAP_ENTRY candidate
#define ST_HEAP_CONTEXT const void *
#define ST_HEAP_BEFORE before
#include "base/heap_template.h"

static inline uint32_t token_of(const st_vocab *v, const uint8_t *text, size_t n)
{
    return n > v->max_length ? ST_NONE : st_vocab_find(v, text, n);
}

/* Adds the candidate of a symbol and the one behind it. Earlier candidates of that symbol become stale. */
static void offer(merging *m, size_t left)
{
    symbol *p = &m->symbols[left];
    p->version++;
    if (p->next == m->n)
        return;
    const uint32_t token = token_of(m->v, m->text + left, m->symbols[p->next].next - left);
    if (token != ST_NONE)
        st_heap_push(NULL, m->heap, m->heap_size++, (candidate){st_unigram_of(m->v)->scores[token], left, token, p->version});
}

static void join(merging *m, candidate c)
{
    symbol *p = &m->symbols[c.left];
    m->symbols[p->next].version = UINT32_MAX; /* no candidate has this version */
    p->next = m->symbols[p->next].next;
    p->token = c.token;
    if (p->next < m->n)
        m->symbols[p->next].previous = c.left;
    offer(m, c.left);
    if (c.left)
        offer(m, p->previous);
}

static st_status begin(merging *m, pairs_scratch *s)
{
    const size_t size = sizeof(symbol) + 3 * sizeof(candidate);
    s->buffer.size = 0;
    if (m->n > SIZE_MAX / 8 / size)
        return ST_NO_MEMORY;
    ST_TRY(st_bytes_reserve(&s->buffer, m->n * size));
    m->heap = (candidate *)(void *)s->buffer.data;
    m->symbols = (symbol *)(void *)(m->heap + 3 * m->n);
    for (size_t at = 0, previous = 0, next; at < m->n; previous = at, at = next) {
        next = at + st_utf8_size(m->text[at]);
        m->symbols[at] = (symbol){next, previous, token_of(m->v, m->text + at, next - at), 0};
    }
    for (size_t at = 0; at < m->n; at = m->symbols[at].next) {
        offer(m, at);
        ST_TRY(st_go_on(POP_COSTS));
    }
    return ST_OK;
}

static st_status merge(pairs_scratch *s, output *out, const uint8_t *text, size_t n)
{
    merging m = {out->v, text, n, NULL, NULL, 0};
    ST_TRY(begin(&m, s));
    while (m.heap_size) {
        const candidate c = st_heap_pop(NULL, m.heap, m.heap_size--);
        if (c.version == m.symbols[c.left].version)
            join(&m, c);
        ST_TRY(st_go_on(POP_COSTS));
    }
    for (size_t at = 0; at < n; at = m.symbols[at].next)
        ST_TRY(put_symbol(out, text, at, m.symbols[at].next, m.symbols[at].token));
    return ST_OK;
}

/* The definition: looks at all neighbours before each merge. */
static st_status merge_plainly(pairs_scratch *s, output *out, const uint8_t *text, size_t n)
{
    const st_unigram *rule = st_unigram_of(out->v);
    st_ids *ends = &s->tokens; /* of the symbols */
    ends->size = 0;
    ST_TRY(st_ids_reserve(ends, n));
    for (size_t at = 0; at < n; at += st_utf8_size(text[at]))
        ends->data[ends->size++] = (uint32_t)(at + st_utf8_size(text[at]));
    for (size_t best = 0; best < ends->size;) {
        double score = 0;
        best = ends->size;
        for (size_t i = 0; i + 1 < ends->size; i++) {
            const size_t start = i ? ends->data[i - 1] : 0;
            const uint32_t token = token_of(out->v, text + start, ends->data[i + 1] - start);
            if (token != ST_NONE && (best == ends->size || rule->scores[token] > score)) {
                best = i;
                score = rule->scores[token];
            }
        }
        if (best < ends->size)
            memmove(ends->data + best, ends->data + best + 1, (--ends->size - best) * sizeof *ends->data);
        ST_TRY(st_go_on(ends->size * 16));
    }
    for (size_t i = 0, at = 0; i < ends->size; at = ends->data[i++])
        ST_TRY(put_symbol(out, text, at, ends->data[i], token_of(out->v, text + at, ends->data[i] - at)));
    return ST_OK;
}

/* ---- words ---- */

/* Where the word ends that begins at `at`: in front of the next mark. */
static size_t end_of_word(const uint8_t *text, size_t at, size_t n)
{
    do
        at += st_utf8_size(text[at]);
    while (at < n && (text[at] != mark[0] || memcmp(text + at, mark, sizeof mark)));
    return at;
}

static st_status look_up(output *out, const uint8_t *text, size_t n)
{
    for (size_t at = 0, end; at < n; at = end) {
        end = end_of_word(text, at, n);
        ST_TRY(put_symbol(out, text, at, end, token_of(out->v, text + at, end - at)));
        ST_TRY(st_go_on(end - at));
    }
    return ST_OK;
}

/* ---- the models ---- */

static st_status encode(pairs_scratch *s, output *out, const uint8_t *text, size_t n, int plainly)
{
    if (out->v->model == &st_model_sentence_words)
        return look_up(out, text, n);
    return plainly ? merge_plainly(s, out, text, n) : merge(s, out, text, n);
}

static st_status to_ids(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out, int plainly)
{
    ST_TRY(st_ids_reserve(out, n));
    output made = {v, out->data + out->size, 0, NULL, 0};
    ST_TRY(encode(scratch, &made, text, n, plainly));
    for (size_t i = 0; i < made.count; i++)
        made.tokens[i] = v->ids[made.tokens[i]];
    out->size += made.count;
    return ST_OK;
}

static st_status whole(st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    return to_ids(v, scratch, text, n, out, 0);
}

static st_status reference(const st_vocab *v, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    return to_ids(v, scratch, text, n, out, 1);
}

static st_status words_to_tokens(st_vocab *v, void *scratch, st_word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        output made = {v, words[i].tokens, 0, NULL, 0};
        ST_TRY(encode(scratch, &made, words[i].text, words[i].n, 0));
        words[i].count = (uint32_t)made.count;
    }
    return ST_OK;
}

static st_status starts(st_vocab *v, const uint8_t *text, size_t n, st_ids *out)
{
    pairs_scratch s = {0};
    st_ids tokens = {0};
    st_status status = st_ids_reserve(&tokens, n + 1);
    output made = {v, tokens.data, 0, out, 0};
    if (!status)
        status = encode(&s, &made, text, n, 0);
    release(&s);
    st_ids_free(&tokens);
    return status;
}

const st_model st_model_sentence_pairs = {
    .name = "sentencepairs",
    .holds = ST_HOLD_WHOLE,
    .scratch = sizeof(pairs_scratch),
    .accepts = has_scores,
    .release = release,
    .words = words_to_tokens,
    .whole = whole,
    .reference = reference,
    .starts = starts,
};

const st_model st_model_sentence_words = {
    .name = "sentencewords",
    .holds = ST_HOLD_WHOLE,
    .scratch = sizeof(pairs_scratch),
    .accepts = has_scores,
    .release = release,
    .words = words_to_tokens,
    .whole = whole,
    .reference = reference,
    .starts = starts,
};
