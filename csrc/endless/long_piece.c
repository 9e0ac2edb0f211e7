#include "endless/long_piece.h"

#include <string.h>

#include "base/interrupt.h"
#include "merge/windows.h"

/* Bytes between two searches for final tokens: few enough to keep the window small, enough to cost next to nothing. */
#define SETTLE_INTERVAL 64

/* From so many bytes on a push first tries to do without the tree for all but the last BULK_TAIL, which are more than
 * the bytes that were ever seen to wait (275). */
#define BULK_FROM 2048
#define BULK_TAIL 512

/* Bytes that a push takes at a time, so that memory does not grow with its size, and it can be ended in between. */
#define STEP ((size_t)1 << 20)

void st_long_scratch_free(st_long_scratch *scratch)
{
    st_ids_free(&scratch->merged);
    st_open_free(&scratch->trial);
}

/* Makes room for n more positions. If more than half of the window lies in front of the root, that part is dropped first. */
static st_status make_room(st_open *piece, size_t n)
{
    size_t gone = (size_t)(piece->root - piece->base), used = (size_t)(piece->end - piece->base) + 1;
    if (gone > piece->capacity / 2) {
        memmove(piece->window, piece->window + gone, (used - gone) * sizeof *piece->window);
        piece->base = piece->root;
        used -= gone;
    }
    if (used + n <= piece->capacity)
        return ST_OK;
    size_t capacity = 2 * (used + n) + 256;
    st_open_entry *window = st_realloc(piece->window, capacity * sizeof *window);
    if (!window)
        return ST_NO_MEMORY;
    if (!piece->window)
        window[0] = (st_open_entry){0, 0, 0};
    piece->window = window;
    piece->capacity = capacity;
    return ST_OK;
}

/* Whether the token of `node`, which ends at position `end`, may follow the prefix in front of it; -1: memory is short. */
static int follows(const st_open *piece, const st_automaton *a, const st_vocab *v, uint64_t *memo, uint32_t node,
                   uint64_t end)
{
    if (a->nodes[node].depth > end - piece->root)
        return 0;
    uint64_t start = end - a->nodes[node].depth;
    uint32_t before = piece->window[start - piece->base].node;
    if (before == 0)
        return start == 0; /* at the start of the piece nothing is in front; elsewhere the prefix is dead */
    return st_compatible(v, memo, a->nodes[before].token, a->nodes[node].token);
}

/* The node of the last token of the prefix ending at piece->end; 0 if there is none (only while a state is rebuilt).
 * Exactly one token qualifies, so any order is right. Most often it is the previous prefix's last token made longer by
 * one byte (inside words and in runs); then tokens that end here, from the longest. ST_NONE: memory is short. */
static uint32_t last_token(const st_open *piece, const st_automaton *a, const st_vocab *v, uint64_t *memo,
                           uint8_t byte)
{
    uint64_t end = piece->end;
    uint32_t before = piece->window[end - 1 - piece->base].node;
    uint32_t longer = before ? st_trie_child(&a->trie, before, byte) : 0;
    if (longer && a->nodes[longer].token != ST_NONE) {
        int answer = follows(piece, a, v, memo, longer, end);
        if (answer)
            return answer < 0 ? ST_NONE : longer;
    }
    for (uint32_t node = a->nodes[piece->state].match; node; node = a->nodes[a->nodes[node].fail].match) {
        int answer = node == longer ? 0 : follows(piece, a, v, memo, node, end);
        if (answer)
            return answer < 0 ? ST_NONE : node;
    }
    return 0;
}

static st_status append(st_open *piece, const st_automaton *a, const st_vocab *v, uint64_t *memo, uint8_t byte)
{
    piece->state = st_automaton_step(a, piece->state, byte);
    piece->end++;
    uint32_t node = last_token(piece, a, v, memo, byte);
    if (node == ST_NONE)
        return ST_NO_MEMORY;
    piece->window[piece->end - piece->base] = (st_open_entry){node, 0, 0};
    if (node) {
        st_open_entry *parent = &piece->window[piece->end - a->nodes[node].depth - piece->base];
        parent->children++;
        parent->child ^= (uint32_t)piece->end;
    }
    uint64_t frontier = piece->end - a->nodes[piece->state].live;
    piece->frontier = frontier > piece->frontier ? frontier : piece->frontier;
    return ST_OK;
}

/* Marks positions in front of the frontier as dead if nothing links to them, and then their parents in turn. */
static void bury(st_open *piece, const st_automaton *a)
{
    for (; piece->oldest < piece->frontier; piece->oldest++) {
        uint64_t position = piece->oldest;
        while (position > piece->root) {
            st_open_entry *dead = &piece->window[position - piece->base];
            if (dead->children || !dead->node)
                break;
            uint64_t parent = position - a->nodes[dead->node].depth;
            dead->node = 0;
            piece->window[parent - piece->base].children--;
            piece->window[parent - piece->base].child ^= (uint32_t)position;
            position = parent;
        }
    }
}

/* Returns the tokens that have become final. */
static st_status settle(st_open *piece, const st_automaton *a, const st_vocab *v, st_ids *out)
{
    bury(piece, a);
    uint64_t old_root = piece->root;
    if (st_ids_reserve(out, (size_t)(piece->end - piece->root)))
        return ST_NO_MEMORY;
    while (piece->root < piece->frontier) {
        const st_open_entry *root = &piece->window[piece->root - piece->base];
        if (root->children != 1)
            break;
        /* the low 32 bits of the position; the window is shorter than 2^32 */
        uint32_t distance = root->child - (uint32_t)piece->root;
        piece->root += distance;
        out->data[out->size++] = v->ids[a->nodes[piece->window[piece->root - piece->base].node].token];
    }
    st_bytes_drop(&piece->text, (size_t)(piece->root - old_root));
    return ST_OK;
}

/* Whether the piece so far may be an unreachable token as a whole: then no token may be returned yet. */
static int holding(const st_open *piece, const st_automaton *a, const st_vocab *v)
{
    return v->unreachable && piece->root == 0 && !piece->merged_only && piece->end <= v->max_length &&
           st_automaton_holds(a, v, piece->text.data, piece->text.size);
}

st_status st_long_piece_begin_behind(st_open *piece, st_vocab *vocab, uint32_t previous)
{
    const st_automaton *a = st_vocab_automaton(vocab);
    if (!a)
        return ST_NO_MEMORY;
    ST_TRY(make_room(piece, 1));
    uint32_t node = 0;
    for (size_t i = 0; i < st_token_length(vocab, previous); i++)
        node = st_trie_child(&a->trie, node, st_token_bytes(vocab, previous)[i]);
    /* any position but 0 will do for the root, which only says that something has left */
    piece->base = piece->root = piece->oldest = piece->frontier = piece->end = 1;
    piece->window[0] = (st_open_entry){node, 0, 0};
    return ST_OK;
}

static st_status push_bytes(st_open *piece, const st_automaton *a, st_vocab *vocab, uint64_t *memo,
                            const uint8_t *text, size_t n, st_ids *out)
{
    while (n) {
        size_t part = n < SETTLE_INTERVAL ? n : SETTLE_INTERVAL;
        ST_TRY(make_room(piece, part));
        ST_TRY(st_bytes_append(&piece->text, text, part));
        for (size_t i = 0; i < part; i++)
            ST_TRY(append(piece, a, vocab, memo, text[i]));
        if (!holding(piece, a, vocab))
            ST_TRY(settle(piece, a, vocab, out));
        text += part;
        n -= part;
        if (n)
            ST_TRY(st_go_on(part));
    }
    return ST_OK;
}

/* Do all prefixes from the frontier on descend from the root? Only those have a last token. */
static int all_live(const st_open *piece)
{
    for (uint64_t p = piece->frontier; p <= piece->end; p++)
        if (!piece->window[p - piece->base].node)
            return 0;
    return 1;
}

/* Tries to do without the tree for all but the end of much text: merges it by windows, takes a token border well before
 * its end for the new root, and grows the tree from there. If all prefixes that are live at the end descend from that
 * border, all futures share it, and what is before it is final. *done = 0: they do not; nothing has changed. */
static st_status push_bulk(st_open *piece, const st_automaton *a, st_vocab *v, st_long_scratch *scratch,
                           st_ids *out, int *done)
{
    const st_bytes *text = &piece->text;
    st_ids *merged = &scratch->merged;
    st_open *trial = &scratch->trial;
    size_t kept = 0, end = 0, before = out->size;
    merged->size = 0;
    ST_TRY(st_merge_windows(v, scratch->memo, text->data, text->size, ST_SMALL_WINDOW, merged, done));
    while (*done && kept < merged->size && end + st_token_length(v, merged->data[kept]) + BULK_TAIL <= text->size)
        end += st_token_length(v, merged->data[kept++]);
    *done = *done && kept;
    if (!*done)
        return ST_OK;
    ST_TRY(st_ids_reserve(out, text->size));
    for (size_t i = 0; i < kept; i++)
        out->data[out->size++] = v->ids[merged->data[i]];
    st_open_begin(trial, 1);
    ST_TRY(st_long_piece_begin_behind(trial, v, merged->data[kept - 1]));
    ST_TRY(push_bytes(trial, a, v, scratch->memo, text->data + end, text->size - end, out));
    *done = all_live(trial);
    if (!*done)
        out->size = before;
    return ST_OK;
}

/* push_bulk for n more bytes, on a piece of its own that takes the place of this one if all went well. */
static st_status try_bulk(st_open *piece, const st_automaton *a, st_vocab *v, st_long_scratch *scratch,
                          const uint8_t *text, size_t n, st_ids *out, int *done)
{
    size_t pending = piece->text.size;
    *done = 0;
    ST_TRY(st_bytes_append(&piece->text, text, n));
    st_status status = push_bulk(piece, a, v, scratch, out, done);
    piece->text.size = pending;
    if (!status && *done) {
        st_open old = *piece;
        *piece = scratch->trial;
        scratch->trial = old;
    }
    return status;
}

static st_status push_step(st_open *piece, const st_automaton *a, st_vocab *vocab, st_long_scratch *scratch,
                           const uint8_t *text, size_t n, st_ids *out)
{
    int done = 0;
    /* beyond the longest token nothing can turn out to be an unreachable token as a whole */
    if (n >= BULK_FROM && (!vocab->unreachable || piece->end + n > vocab->max_length))
        ST_TRY(try_bulk(piece, a, vocab, scratch, text, n, out, &done));
    return done ? st_go_on(n) : push_bytes(piece, a, vocab, scratch->memo, text, n, out);
}

st_status st_long_piece_push(st_open *piece, st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out)
{
    const st_automaton *a = st_vocab_automaton(vocab);
    if (!a)
        return ST_NO_MEMORY;
    for (size_t at = 0, step; at < n; at += step) {
        step = n - at < STEP ? n - at : STEP;
        ST_TRY(push_step(piece, a, vocab, scratch, text + at, step, out));
    }
    return ST_OK;
}

static st_status spell_path(st_open *piece, const st_automaton *a, const st_vocab *v, st_ids *out)
{
    size_t count = 0;
    for (uint64_t p = piece->end; p > piece->root; count++) {
        uint32_t node = piece->window[p - piece->base].node;
        if (node == 0) /* every prefix has a last token, unless the piece was restored from a state that no encoder saved */
            return ST_BAD_STATE;
        p -= a->nodes[node].depth;
    }
    if (st_ids_reserve(out, count))
        return ST_NO_MEMORY;
    uint32_t *to = out->data + out->size + count;
    for (uint64_t p = piece->end; p > piece->root;) {
        const st_node *node = &a->nodes[piece->window[p - piece->base].node];
        *--to = v->ids[node->token];
        p -= node->depth;
    }
    out->size += count;
    return ST_OK;
}

st_status st_long_piece_finish(st_open *piece, st_vocab *vocab, st_ids *out)
{
    const st_automaton *a = st_vocab_automaton(vocab);
    if (!a || st_ids_reserve(out, 1))
        return ST_NO_MEMORY;
    st_status status = ST_OK;
    uint32_t whole = ST_NONE;
    if (piece->root == 0 && !piece->merged_only)
        whole = st_vocab_find(vocab, piece->text.data, piece->text.size);
    if (whole != ST_NONE)
        out->data[out->size++] = vocab->ids[whole];
    else
        status = spell_path(piece, a, vocab, out);
    return status;
}

uint32_t st_long_piece_previous(const st_open *piece, const st_vocab *vocab)
{
    const st_automaton *a = (const st_automaton *)vocab->machine;
    return a ? a->nodes[piece->window[piece->root - piece->base].node].token : ST_NONE;
}

/* Prefixes whose last token began before the root find no compatible token when they are replayed: they had been dead, since all that
 * lives descends from the root. */
int st_long_piece_is_reached(const st_open *piece)
{
    return piece->window[piece->end - piece->base].node != 0;
}
