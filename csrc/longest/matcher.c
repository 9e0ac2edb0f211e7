#include "longest/matcher.h"

#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/interrupt.h"
#include "base/utf8.h"

static void release(st_attached *attached)
{
    st_matcher *m = (st_matcher *)attached; /* its first member */
    st_matcher_free(m);
    st_free(m);
}

const st_matcher *st_vocab_matcher(st_vocab *vocab)
{
    st_matcher *m = st_acquire((void **)&vocab->matcher);
    if (m)
        return m;
    m = st_calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->attached.release = release;
    if (st_matcher_build(m, vocab)) {
        release(&m->attached);
        return NULL;
    }
    return st_attach(&vocab->matcher, &m->attached);
}

/* ---- a step ---- */

/* Writes the tokens of a list of pops, nearly always one, and returns the place behind them. */
static inline uint32_t *put_pops(const st_matcher *m, uint32_t pops, uint32_t *to)
{
    *to = pops;
    if (!(pops & ST_MATCH_SEVERAL))
        return to + 1;
    const st_pop *pop = &m->pops[pops & ~ST_MATCH_SEVERAL];
    uint32_t *end = to + pop->count;
    for (uint32_t *at = end; at > to; pop = &m->pops[pop->before])
        *--at = pop->token;
    return end;
}

/* One more byte, from `at`, which is not stuck: writes the tokens that it makes certain, and returns the next node; with the bit
 * ST_MATCH_STUCK where nothing goes on. */
static inline uint32_t step(const st_matcher *m, uint32_t at, uint8_t byte, uint32_t **to)
{
    uint32_t next;
    while (!(next = st_match_child(m, at, byte))) {
        const uint32_t fail = m->nodes[at].fail;
        if (fail & ST_MATCH_STUCK)
            return fail;
        *to = put_pops(m, m->nodes[at].pops, *to);
        at = fail & ST_MATCH_LINK;
    }
    if (m->nodes[next].fail & ST_MATCH_ENDS) {
        *(*to)++ = m->nodes[next].pops;
        next = m->inside;
    }
    return next;
}

/* The text ends at a node that is not stuck: writes what is pending. Returns where that ends, NULL where the word is not covered. */
static inline uint32_t *finish(const st_matcher *m, uint32_t node, uint32_t *to)
{
    while (node != m->inside) {
        const st_match_node *n = &m->nodes[node];
        if (n->fail & ST_MATCH_STUCK)
            return NULL;
        to = put_pops(m, n->pops, to);
        node = n->fail & ST_MATCH_LINK;
    }
    return to;
}

/* ---- words ---- */

/* Has the text at most so many characters? */
static int has_at_most(const uint8_t *text, size_t n, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; n > most && i < n; i++)
        count += !st_utf8_is_continuation(text[i]);
    return count <= most;
}

/* Words that are matched at the same time: about as many as the memory system keeps in flight, and few enough for registers and the
 * nearest cache. */
#define LANES 8

typedef struct lane {
    const uint8_t *at, *end;
    uint32_t *to;
    uint32_t node, word;
} lane;

static void end_word(const st_matcher *m, const st_vocab *v, const lane *l, st_match *word)
{
    const uint32_t *end = l->node & ST_MATCH_STUCK ? NULL : finish(m, l->node, l->to);
    if (end) {
        word->count = (uint32_t)(end - word->tokens);
        return;
    }
    word->tokens[0] = v->wordpiece.unknown;
    word->count = 1;
}

/* Takes the next word that needs matching. 0: there is none left. */
static int take_word(const st_vocab *v, lane *l, st_match *words, size_t count, size_t *next)
{
    for (; *next < count; (*next)++) {
        st_match *word = &words[*next];
        if (v->wordpiece.on && !has_at_most(word->text, word->n, v->wordpiece.most)) {
            word->tokens[0] = v->wordpiece.unknown;
            word->count = 1;
            continue;
        }
        *l = (lane){word->text, word->text + word->n, word->tokens, 0, (uint32_t)(*next)++};
        return 1;
    }
    return 0;
}

void st_matcher_words(const st_matcher *m, const st_vocab *v, st_match *words, size_t count)
{
    lane lanes[LANES];
    size_t active = 0, next = 0;
    while (active < LANES && take_word(v, &lanes[active], words, count, &next))
        active++;
    while (active)
        for (size_t i = 0; i < active; i++) {
            lane *l = &lanes[i];
            l->node = step(m, l->node, *l->at++, &l->to);
            if (!(l->node & ST_MATCH_STUCK) && l->at < l->end) {
                st_prefetch(&m->nodes[m->nodes[l->node].base ^ *l->at]);
                continue;
            }
            end_word(m, v, l, &words[l->word]);
            if (!take_word(v, l, words, count, &next) && i < --active)
                *l = lanes[active];
        }
}

static void to_ids(const st_vocab *v, uint32_t *tokens, const uint32_t *end)
{
    for (; tokens < end && !v->identity; tokens++)
        *tokens = v->ids[*tokens];
}

static st_status put_unknown(const st_vocab *v, st_ids *out)
{
    ST_TRY(st_ids_reserve(out, 1));
    out->data[out->size++] = v->ids[v->wordpiece.unknown];
    return ST_OK;
}

/* Bytes of text between two calls of st_go_on. */
#define STEP ((size_t)1 << 14)

st_status st_matcher_word(const st_matcher *m, const st_vocab *v, const uint8_t *text, size_t n, st_ids *out)
{
    uint32_t node = 0;
    if (!has_at_most(text, n, v->wordpiece.most))
        return put_unknown(v, out);
    ST_TRY(st_ids_reserve(out, n));
    uint32_t *const first = out->data + out->size, *to = first;
    for (size_t at = 0; at < n && !(node & ST_MATCH_STUCK); at++) {
        node = step(m, node, text[at], &to);
        if (at % STEP == STEP - 1)
            ST_TRY(st_go_on(STEP));
    }
    to = node & ST_MATCH_STUCK ? NULL : finish(m, node, to);
    if (!to)
        return put_unknown(v, out);
    to_ids(v, first, to);
    out->size += (size_t)(to - first);
    return ST_OK;
}

/* ---- a text as it comes ---- */

/* Much text without a cut is matched in several BLOCKS at the same time, as words are: each as if a token began at its start. Then the
 * block in front goes on into it. Where both are at the same node behind the same byte, all that follows is the same: tokens of the
 * block from there on are right. Mostly that is so after a few tokens; where it is not within SEEN bytes, the block is matched anew. */
#define BLOCK (STEP / LANES)
#define SEEN 256

typedef struct block {
    uint32_t *first, *to;      /* its tokens */
    uint32_t node;             /* at its end */
    uint32_t nodes[SEEN];      /* behind each of its first bytes, */
    uint16_t counts[SEEN];     /* and the tokens up to there */
} block;

static inline void expect_child(const st_matcher *m, uint32_t node, uint8_t byte)
{
    st_prefetch(&m->nodes[m->nodes[node].base ^ byte]);
}

static void match_blocks(const st_matcher *m, block *blocks, const uint8_t *text)
{
    for (size_t i = 0; i < BLOCK; i++)
        for (size_t k = 0; k < LANES; k++) {
            block *b = &blocks[k];
            b->node = step(m, b->node, text[k * BLOCK + i], &b->to);
            expect_child(m, b->node, text[k * BLOCK + i + (i + 1 < BLOCK)]);
            if (i >= SEEN)
                continue;
            b->nodes[i] = b->node;
            b->counts[i] = (uint16_t)(b->to - b->first);
        }
}

/* Goes on from *node into a block, and writes to `to`, in front of the block's own tokens. Returns the end of what is written; *joined:
 * whether the block's own matching was met. */
static uint32_t *go_into(const st_matcher *m, const block *b, uint32_t *node, const uint8_t *text, uint32_t *to, int *joined)
{
    for (size_t i = 0; i < BLOCK; i++) {
        *node = step(m, *node, text[i], &to);
        if (i >= SEEN || *node != b->nodes[i])
            continue;
        const size_t count = (size_t)(b->to - b->first) - b->counts[i];
        memmove(to, b->first + b->counts[i], count * sizeof *to);
        *node = b->node;
        return to + count;
    }
    *joined = 0;
    return to;
}

/* Matches text[0..STEP). to: room for as many tokens, for those that are pending, and for SEEN more a block. */
static uint32_t *match_step(const st_matcher *m, size_t longest, uint32_t *node, const uint8_t *text, uint32_t *to, int *joined)
{
    block blocks[LANES];
    for (size_t k = 0; k < LANES; k++) {
        blocks[k].first = blocks[k].to = to + (k ? longest + k * (BLOCK + SEEN) : 0);
        blocks[k].node = k ? m->inside : *node;
    }
    match_blocks(m, blocks, text);
    to = blocks[0].to;
    *node = blocks[0].node;
    for (size_t k = 1; k < LANES; k++)
        to = go_into(m, &blocks[k], node, text + k * BLOCK, to, joined);
    return to;
}

st_status st_matcher_feed(const st_matcher *m, const st_vocab *v, uint32_t *node, const uint8_t *text, size_t n, st_ids *out)
{
    int joined = 1; /* blocks are tried until one was matched in vain */
    for (size_t at = 0, end; at < n; at = end) {
        end = n - at < STEP ? n : at + STEP;
        /* no more tokens than bytes, those that were pending included */
        ST_TRY(st_ids_reserve(out, end - at + v->max_length + (joined ? LANES * SEEN : 0)));
        uint32_t *first = out->data + out->size, *to = first, here = *node;
        if (joined && end - at == STEP)
            to = match_step(m, v->max_length, &here, text + at, to, &joined);
        else
            for (; at < end; at++)
                here = step(m, here, text[at], &to);
        *node = here;
        to_ids(v, first, to);
        out->size += (size_t)(to - first);
        if (end < n)
            ST_TRY(st_go_on(STEP));
    }
    return ST_OK;
}

st_status st_matcher_finish(const st_matcher *m, const st_vocab *v, uint32_t node, st_ids *out)
{
    ST_TRY(st_ids_reserve(out, v->max_length));
    uint32_t *first = out->data + out->size;
    const uint32_t *end = finish(m, node, first);
    to_ids(v, first, end);
    out->size += (size_t)(end - first);
    return ST_OK;
}

/* ---- the definition ---- */

/* The longest token that text[at..n) begins with, ST_NONE where none does; its bytes of the text in *size. Inside a word only tokens
 * with the prefix count. scratch: room for the longest token. */
static uint32_t longest_at(const st_vocab *v, const uint8_t *text, size_t n, size_t at, uint8_t *scratch, size_t *size)
{
    const st_wordpiece *rule = &v->wordpiece;
    const size_t prefix = rule->on && at ? rule->prefix_size : 0, most = v->max_length > prefix ? v->max_length - prefix : 0;
    uint32_t token = ST_NONE;
    for (*size = n - at < most ? n - at : most; *size; (*size)--) {
        memcpy(scratch, rule->prefix, prefix);
        memcpy(scratch + prefix, text + at, *size);
        token = st_vocab_find(v, scratch, prefix + *size);
        if (token != ST_NONE)
            break;
    }
    return token;
}

st_status st_longest_reference(const st_vocab *v, const uint8_t *text, size_t n, st_ids *out)
{
    const size_t before = out->size;
    uint8_t *scratch = st_malloc(v->max_length + 1);
    if (!scratch)
        return ST_NO_MEMORY;
    st_status status = ST_OK;
    int covered = !v->wordpiece.on || has_at_most(text, n, v->wordpiece.most);
    for (size_t at = 0, size; at < n && covered && !status; at += size) {
        const uint32_t token = longest_at(v, text, n, at, scratch, &size);
        covered = token != ST_NONE;
        status = st_ids_reserve(out, 1);
        if (covered && !status)
            out->data[out->size++] = v->ids[token];
        if (!status)
            status = st_go_on(v->max_length);
    }
    st_free(scratch);
    if (covered || status)
        return status;
    out->size = before;
    return put_unknown(v, out);
}
