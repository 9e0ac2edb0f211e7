#include "special/special_tokens.h"

#include <string.h>

#include "base/interrupt.h"

st_special_search st_special_search_behind(const st_special *s, uint32_t node)
{
    if (!node)
        return st_special_search_from(0);
    const st_special_search search = {s->depth[node], s->depth[node], 0, node};
    return search;
}

/* The first place in text[from..until) where a name may begin, or `until`. */
static size_t next_start(const st_special *s, const uint8_t *text, size_t from, size_t until)
{
    if (from >= until)
        return from;
    if (s->only_first >= 0) {
        if (text[from] == s->only_first)
            return from;
        const uint8_t *hit = memchr(text + from, s->only_first, until - from);
        return hit ? (size_t)(hit - text) : until;
    }
    const uint32_t *first = s->first;
    while (until - from >= 4 && !(first[text[from]] | first[text[from + 1]] | first[text[from + 2]] | first[text[from + 3]]))
        from += 4;
    while (from < until && !first[text[from]])
        from++;
    return from;
}

/* Called when the node cannot go on. 1: *match is the first name that begins in front of the start of the node's link. 0: there is
 * none, and the search moves to that link. */
static int give_up(const st_special *s, st_special_search *k, st_special_match *match)
{
    const uint32_t node = k->node, fail = s->nodes[node].fail;
    const size_t start = k->at - s->depth[node], next = k->at - s->depth[fail];
    if (s->nodes[node].bits & ST_SPECIAL_LOUD) {
        const size_t bytes = s->place[node] + 1 - s->depth[node];
        for (size_t at = k->from > start ? k->from : start; at < next; at++) {
            const uint32_t name = at == start ? s->name[node] : s->inner ? s->inner[bytes + (at - start)] : 0;
            if (!name)
                continue;
            const st_special_name found = s->names[name - 1];
            *match = (st_special_match){at, at + found.length, found.id, found.flags};
            k->from = match->end;
            if (k->at == match->end) /* the match ends where reading stopped: the next search begins at the root */
                k->node = 0;
            return 1;
        }
    }
    k->node = fail;
    return 0;
}

/* The answer when the text ends inside the node. */
static st_special_result end_of_text(const st_special *s, st_special_search *k, int final, st_special_match *match)
{
    while (final && k->node)
        if (give_up(s, k, match))
            return ST_SPECIAL_FOUND;
    if (!k->node)
        return ST_SPECIAL_NONE;
    const size_t start = k->at - s->depth[k->node];
    const uint32_t name = s->name[k->node];
    *match = (st_special_match){start, start, ST_NO_SPECIAL, 0};
    if (name) {
        match->end += s->names[name - 1].length;
        match->id = s->names[name - 1].id;
        match->flags = s->names[name - 1].flags;
    }
    return ST_SPECIAL_HELD;
}

/* Reads on from a node with a row, as long as the nodes have rows and no name is given up. */
static inline void follow_rows(const st_special *s, st_special_way *way, const uint8_t *text, size_t starts, size_t stop)
{
    uint32_t row = (st_special_row(s->nodes[way->node]) - 1) * s->classes;
    size_t at = way->at;
    while (at < stop) {
        if (!row) {
            const size_t from = at;
            at = next_start(s, text, at, starts);
            way->skipped += at - from;
            if (at >= starts)
                break;
        }
        const uint32_t next = s->cells[row + s->class_of[text[at]]];
        if (next >= ST_SPECIAL_NODE) {
            if (next == ST_SPECIAL_STUCK)
                break;
            way->node = next - ST_SPECIAL_NODE;
            way->at = at + 1;
            return;
        }
        row = next;
        at++;
    }
    way->node = s->row_nodes[row / s->classes];
    way->at = at;
}

static inline st_special_way read_alone(const st_special *s, st_special_way way, const uint8_t *text, size_t starts, size_t stop)
{
    while (way.at < stop) {
        if (st_special_row(s->nodes[way.node])) {
            follow_rows(s, &way, text, starts, stop);
            if (way.at >= stop || !way.node)
                break;
        }
        const int goes_on = s->nodes[way.node].bits & ST_SPECIAL_GOES_ON;
        const uint32_t child = goes_on ? st_special_child(s, way.node, text[way.at]) : 0;
        if (child) {
            way.node = child;
            way.at++;
        } else if (!goes_on || s->nodes[way.node].bits & ST_SPECIAL_LOUD) {
            break;
        } else {
            way.node = s->nodes[way.node].fail;
        }
    }
    return way;
}

void st_special_read(const st_special *s, st_special_way *way, const uint8_t *text, size_t starts, size_t stop)
{
    *way = read_alone(s, *way, text, starts, stop);
}

/* Whether the node cannot go on with text[at]. At the end of the text that is not known: 0. */
static int is_stuck(const st_special *s, const st_special_search *k, const uint8_t *text, size_t n)
{
    const size_t at = k->at - k->before;
    if (!(s->nodes[k->node].bits & ST_SPECIAL_GOES_ON) || k->at - s->depth[k->node] < k->from)
        return 1;
    return at < n && !st_special_child(s, k->node, text[at]);
}

/* A search first reads FEW bytes with one head, because the text may have a name at once, or hardly any byte that begins one. If
 * most of these bytes begin names, it reads MANY bytes with several heads, and then alternates, each time twice as many bytes, up
 * to MOST. */
#ifndef ST_SPECIAL_FEW /* tests set fewer, so that short texts come as far */
#define ST_SPECIAL_FEW 256
#endif
#define FEW ((size_t)ST_SPECIAL_FEW)
#define MANY (FEW / 2 * ST_SPECIAL_HEADS)
#define MOST ((size_t)1 << 18)

/* If names are so long that no part of the text can be read independently, several heads gain nothing. Then one head reads this
 * many times as many bytes before several are tried again. */
#define PENANCE 32

typedef struct pace {
    size_t alone, together; /* bytes that one head, or several, read next */
    int dense;              /* whether most of the last bytes began names */
} pace;

/* Reads some bytes on, or until the node cannot go on and may have names in it, or all starts are behind `until`. */
static void read_on(const st_special *s, st_special_search *k, pace *p, const uint8_t *text, size_t until, size_t n)
{
    const size_t starts = until < k->before ? 0 : until - k->before < n ? until - k->before : n;
    const size_t stop = n - starts > s->longest_name ? starts + s->longest_name : n; /* where all starts are behind `until` */
    st_special_way way = {k->at - k->before, k->node, 0};
    const size_t at = way.at;
    if (p->dense && starts > at && starts - at >= MANY) {
        const size_t parts = starts - at < p->together ? starts - at : p->together;
        const size_t again = st_special_read_parts(s, &way, text, parts);
        p->alone = again > parts / 2 ? PENANCE * again : FEW;
        p->together = p->together < MOST ? 2 * p->together : MOST;
        p->dense = 0;
    } else {
        way = read_alone(s, way, text, starts, stop - at < p->alone ? stop : at + p->alone);
        p->dense = way.skipped < (way.at - at) / 2;
        p->alone = p->alone < MOST ? 2 * p->alone : MOST;
    }
    k->node = way.node;
    k->at = way.at + k->before;
}

st_special_result st_special_find(const st_special *s, st_special_search *k, const uint8_t *text, size_t until, size_t n,
                                  int final, st_special_match *match)
{
    if (!k->node && k->at - k->before < n && until > k->at) { /* most text has no first byte of a name */
        const size_t from = k->at - k->before, ends = until < k->before + n ? until - k->before : n;
        k->at = next_start(s, text, from, ends) + k->before;
        if (k->at - k->before == ends)
            return ST_SPECIAL_NONE;
    }
    st_special_result result = ST_SPECIAL_NONE;
    pace p = {FEW, MANY, 0};
    for (;;) {
        while (k->node && is_stuck(s, k, text, n))
            if (give_up(s, k, match))
                return match->start < until ? ST_SPECIAL_FOUND : ST_SPECIAL_NONE;
        if (k->at - s->depth[k->node] >= until)
            return ST_SPECIAL_NONE;
        if (k->at - k->before == n)
            break;
        const size_t at = k->at;
        read_on(s, k, &p, text, until, n);
        if (k->at - k->before < n && st_go_on((k->at - at) / 8)) /* far less work than others do for as many bytes */
            return ST_SPECIAL_NONE;
    }
    result = end_of_text(s, k, final, match);
    return result != ST_SPECIAL_NONE && match->start >= until ? ST_SPECIAL_NONE : result;
}

uint32_t st_special_walk(const st_special *s, const uint8_t *text, size_t n)
{
    uint32_t node = n ? s->first[text[0]] : 0;
    for (size_t i = 1; i < n && node; i++)
        node = st_special_child(s, node, text[i]);
    return s->nodes[node].bits & ST_SPECIAL_GOES_ON ? node : 0;
}

const uint8_t *st_special_bytes(const st_special *s, uint32_t node, size_t *n)
{
    *n = s->depth[node];
    return node ? s->bytes + s->place[node] + 1 - *n : s->bytes;
}
