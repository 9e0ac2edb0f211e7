#include "longest/matcher.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/utf8.h"

/* ---- a step ---- */

/* Where matching stands, at a node that is not stuck, and where tokens go. */
typedef struct place {
    uint32_t node;
    uint32_t pops; /* several that are still to be written, and are being fetched; 0: none */
    uint32_t *to;
} place;

/* Tries to go on with a byte, and writes the tokens that are certain then. Returns whether the byte is read: then the node is
 * ST_MATCH_STUCK where nothing goes on. If it is not, it is to be tried again, from the node that is left. */
static inline int try_byte(const st_matcher *m, place *p, uint8_t byte)
{
    const uint32_t next = st_match_child(m, p->node, byte);
    if (p->pops) {
        p->to = st_match_put(m, p->pops, p->to);
        p->pops = 0;
    }
    if (!next) {
        const st_match_fail fail = m->fails[p->node];
        p->node = fail.link;
        if (fail.link == ST_MATCH_STUCK)
            return 1;
        if (fail.pops & ST_MATCH_SEVERAL) {
            st_prefetch(&m->pops[(fail.pops & ~ST_MATCH_SEVERAL) >> ST_POPS_BITS]);
            p->pops = fail.pops;
        } else {
            *p->to++ = fail.pops;
        }
        return 0;
    }
    p->node = next;
    if (next & ST_MATCH_ENDS) {
        *p->to++ = next & ~ST_MATCH_ENDS;
        p->node = m->inside;
    }
    return 1;
}

/* Fetches what the next try reads. */
static inline void expect_byte(const st_matcher *m, uint32_t node, uint8_t byte)
{
    st_prefetch(&m->edges[node ^ byte]);
    st_prefetch(&m->fails[node]);
}

static inline void read_byte(const st_matcher *m, place *p, uint8_t byte)
{
    while (!try_byte(m, p, byte))
        ;
}

/* The text ends at a node that is not stuck: writes what is pending. Returns where that ends, NULL where the word is not covered. */
static inline uint32_t *finish(const st_matcher *m, uint32_t node, uint32_t *to)
{
    while (node != m->inside) {
        const st_match_fail fail = m->fails[node];
        if (fail.link == ST_MATCH_STUCK)
            return NULL;
        to = st_match_put(m, fail.pops, to);
        node = fail.link;
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

/* Words that are matched at the same time. Most of what they read is in the nearest cache; more would only take turns longer. */
#define LANES 8

typedef struct lane {
    const uint8_t *at, *end;
    place place;
    uint32_t word;
} lane;

static void end_word(const st_matcher *m, const lane *l, st_word *word)
{
    const uint32_t *end = l->place.node == ST_MATCH_STUCK ? NULL : finish(m, l->place.node, l->place.to);
    if (end) {
        word->count = (uint32_t)(end - word->tokens);
        return;
    }
    word->tokens[0] = m->rule->unknown;
    word->count = 1;
}

/* Takes the next word that needs matching. 0: there is none left. */
static int take_word(const st_wordpiece *rule, lane *l, st_word *words, size_t count, size_t *next)
{
    for (; *next < count; (*next)++) {
        st_word *word = &words[*next];
        if (rule && !has_at_most(word->text, word->n, rule->most)) {
            word->tokens[0] = rule->unknown;
            word->count = 1;
            continue;
        }
        *l = (lane){word->text, word->text + word->n, {0, 0, word->tokens}, (uint32_t)(*next)++};
        return 1;
    }
    return 0;
}

void st_matcher_words(const st_matcher *m, st_word *words, size_t count)
{
    const st_wordpiece *rule = m->rule;
    lane lanes[LANES];
    size_t active = 0, next = 0;
    while (active < LANES && take_word(rule, &lanes[active], words, count, &next))
        active++;
    while (active)
        for (size_t i = 0; i < active; i++) {
            lane *l = &lanes[i];
            l->at += try_byte(m, &l->place, *l->at);
            if (l->place.node != ST_MATCH_STUCK && l->at < l->end) {
                expect_byte(m, l->place.node, *l->at);
                continue;
            }
            end_word(m, l, &words[l->word]);
            if (!take_word(rule, l, words, count, &next) && i < --active)
                *l = lanes[active];
        }
}

static void to_ids(const st_vocab *v, uint32_t *tokens, const uint32_t *end)
{
    for (; tokens < end && !v->identity; tokens++)
        *tokens = v->ids[*tokens];
}

static st_status put_unknown(const st_vocab *v, const st_wordpiece *rule, st_ids *out)
{
    ST_TRY(st_ids_reserve(out, 1));
    out->data[out->size++] = v->ids[rule->unknown];
    return ST_OK;
}

/* Bytes of text between two calls of st_go_on. */
#define STEP ((size_t)1 << 16)

st_status st_matcher_word(const st_matcher *m, const st_vocab *v, const uint8_t *text, size_t n, st_ids *out)
{
    if (!has_at_most(text, n, m->rule->most))
        return put_unknown(v, m->rule, out);
    ST_TRY(st_ids_reserve(out, n));
    uint32_t *const first = out->data + out->size;
    place p = {0, 0, first};
    for (size_t at = 0; at < n && p.node != ST_MATCH_STUCK; at++) {
        read_byte(m, &p, text[at]);
        if (at % STEP == STEP - 1)
            ST_TRY(st_go_on(STEP));
    }
    const uint32_t *end = p.node == ST_MATCH_STUCK ? NULL : finish(m, p.node, p.to);
    if (!end)
        return put_unknown(v, m->rule, out);
    to_ids(v, first, end);
    out->size += (size_t)(end - first);
    return ST_OK;
}

/* ---- a text as it comes ---- */

/* Much text without a cut is matched in several BLOCKS at the same time, as words are: each as if a token began at its start. Then the
 * block in front goes on into it. Where both are at the same node behind the same byte, all that follows is the same: tokens of the
 * block from there on are right. Mostly that is so after a few tokens; where it is not within SEEN bytes, the block is matched anew.
 * Hard texts, which go anywhere in a large trie, wait for memory: 32 blocks took 17 ns a byte where 24 took 20, 16 took 23 and 8 took
 * 30. */
#define BLOCKS 32
#define SEEN 256

/* Bytes of a block. Of shorter ones too much would be read twice. */
#define LEAST_BLOCK ((size_t)512)

typedef struct block {
    const uint8_t *text;
    size_t read;      /* bytes of it that were read */
    place place;      /* behind them */
    uint32_t *first;  /* its tokens begin here */
    uint32_t *nodes;  /* behind each of its first SEEN bytes, */
    uint32_t *counts; /* and the tokens up to there */
} block;

/* Room that BLOCKS blocks take in the buffer of ids, beside that for as many tokens as bytes: for what is read twice, and for nodes and
 * counts, which are too much for the stack of a small thread. */
#define BLOCKS_ROOM (BLOCKS * SEEN * 3)

static inline void note_byte(block *b)
{
    if (b->read < SEEN) {
        b->nodes[b->read] = b->place.node;
        b->counts[b->read] = (uint32_t)(b->place.to - b->first);
    }
    b->read++;
}

/* Reads n bytes of each block. */
static void match_blocks(const st_matcher *m, block *blocks, size_t n)
{
    for (size_t open = BLOCKS; open;)
        for (block *b = blocks; b < blocks + BLOCKS; b++) {
            if (b->read == n)
                continue;
            if (try_byte(m, &b->place, b->text[b->read]))
                note_byte(b);
            if (b->read == n)
                open--;
            else
                expect_byte(m, b->place.node, b->text[b->read]);
        }
}

/* Goes on from *p into a block, and writes in front of the block's own tokens. Returns whether the block's own matching was met. */
static int go_into(const st_matcher *m, const block *b, place *p)
{
    for (size_t i = 0; i < b->read; i++) {
        read_byte(m, p, b->text[i]);
        if (i >= SEEN || p->node != b->nodes[i])
            continue;
        const size_t count = (size_t)(b->place.to - b->first) - b->counts[i];
        memmove(p->to, b->first + b->counts[i], count * sizeof *p->to);
        *p = (place){b->place.node, 0, p->to + count};
        return 1;
    }
    return 0;
}

/* Matches BLOCKS blocks of n bytes. p->to: room for as many tokens, for `longest` that are pending, and BLOCKS_ROOM. Returns whether
 * all blocks were met. */
static int match_step(const st_matcher *m, size_t longest, place *p, const uint8_t *text, size_t n)
{
    block blocks[BLOCKS];
    uint32_t *notes = p->to + longest + BLOCKS * (n + SEEN);
    int joined = 1;
    for (size_t k = 0; k < BLOCKS; k++) {
        block *b = &blocks[k];
        b->text = text + k * n;
        b->read = 0;
        b->first = p->to + (k ? longest + k * (n + SEEN) : 0);
        b->nodes = notes + k * 2 * SEEN;
        b->counts = b->nodes + SEEN;
        b->place = (place){k ? m->inside : p->node, 0, b->first};
    }
    match_blocks(m, blocks, n);
    *p = blocks[0].place;
    for (size_t k = 1; k < BLOCKS; k++)
        joined &= go_into(m, &blocks[k], p);
    return joined;
}

st_status st_matcher_feed(const st_matcher *m, const st_vocab *v, uint32_t *node, const uint8_t *text, size_t n, st_ids *out)
{
    int joined = 1; /* blocks are tried until one was matched in vain */
    for (size_t at = 0, end; at < n; at = end) {
        const size_t block = joined ? (n - at < STEP ? n - at : STEP) / BLOCKS : 0;
        end = block >= LEAST_BLOCK ? at + BLOCKS * block : n - at < STEP ? n : at + STEP;
        /* no more tokens than bytes, those that were pending included */
        ST_TRY(st_ids_reserve(out, end - at + v->max_length + (block >= LEAST_BLOCK ? BLOCKS_ROOM : 0)));
        uint32_t *first = out->data + out->size;
        place p = {*node, 0, first};
        if (block >= LEAST_BLOCK)
            joined = match_step(m, v->max_length, &p, text + at, block);
        else
            for (; at < end; at++)
                read_byte(m, &p, text[at]);
        *node = p.node;
        to_ids(v, first, p.to);
        out->size += (size_t)(p.to - first);
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

/* A token by its bytes, also a silent one, which no word is as a whole (longest/wordpiece.h): few are. */
static uint32_t find(const st_vocab *v, const uint8_t *bytes, size_t n, int inside)
{
    const uint32_t token = st_vocab_find(v, bytes, n);
    if (token != ST_NONE || !inside)
        return token;
    for (uint32_t i = 0; i < v->count; i++)
        if (!st_token_reachable(v, i) && st_token_length(v, i) == n && !memcmp(st_token_bytes(v, i), bytes, n))
            return i;
    return ST_NONE;
}

/* The longest token that text[at..n) begins with, ST_NONE where none does; its bytes of the text in *size. Inside a word only tokens
 * with the prefix count. scratch: room for the longest token. */
static uint32_t longest_at(const st_vocab *v, const st_wordpiece *rule, const uint8_t *text, size_t n, size_t at, uint8_t *scratch, size_t *size)
{
    const int inside = rule && at;
    const size_t prefix = inside ? rule->prefix_size : 0, most = v->max_length > prefix ? v->max_length - prefix : 0;
    uint32_t token = ST_NONE;
    for (*size = n - at < most ? n - at : most; *size; (*size)--) {
        if (inside)
            memcpy(scratch, rule->prefix, prefix);
        memcpy(scratch + prefix, text + at, *size);
        token = find(v, scratch, prefix + *size, inside);
        if (token != ST_NONE)
            break;
    }
    return token;
}

st_status st_longest_reference(const st_vocab *v, const st_wordpiece *rule, const uint8_t *text, size_t n, st_ids *out)
{
    const size_t before = out->size;
    uint8_t *scratch = st_malloc(v->max_length + 1);
    if (!scratch)
        return ST_NO_MEMORY;
    st_status status = ST_OK;
    int covered = !rule || has_at_most(text, n, rule->most);
    for (size_t at = 0, size; at < n && covered && !status; at += size) {
        const uint32_t token = longest_at(v, rule, text, n, at, scratch, &size);
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
    return put_unknown(v, rule, out);
}
