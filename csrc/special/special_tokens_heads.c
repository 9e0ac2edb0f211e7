#include "special/special_tokens.h"

/* Reading a text in several places at once.
 *
 * A step of the automaton loads the next state, and the next step must wait for it: up to 100 ns if the tables of many names lie
 * outside the caches. So the text is divided into parts, each with a head that goes through the automaton, and the loads of all
 * heads overlap.
 *
 * The first head begins at the right node. The others begin at the root, as if no text stood in front of their parts. When all
 * parts are read, the first head reads on into the second part until its node lies in that part as a whole. From there on both
 * heads have the same nodes, so the first one takes over the place and the node of the second; and so on, from part to part. A
 * head stops where it is stuck; there one head alone decides whether a name was found. */
#define HEADS ST_SPECIAL_HEADS

/* Bytes that the first head reads into the next part before it checks whether it may take over; then twice as many. Hardly any
 * text continues one name for longer. */
#define JOIN_STEP 16

typedef struct heads {
    uint32_t rows[HEADS];  /* as in cells; `apart` for a head whose node has no row */
    uint32_t nodes[HEADS]; /* the node of such a head */
    size_t ends[HEADS];    /* bytes that a head has read */
} heads;

/* The row of heads whose node has none: it has no entry that could be followed. */
static uint32_t apart(const st_special *s)
{
    return s->rows * s->classes;
}

/* The entry for a byte that a node without a row would have in its row. */
static uint32_t value_behind(const st_special *s, uint32_t node, uint8_t byte)
{
    for (;;) {
        const st_special_node here = s->nodes[node];
        if (st_special_row(here))
            return s->cells[(st_special_row(here) - 1) * s->classes + s->class_of[byte]];
        const uint32_t child = here.bits & ST_SPECIAL_GOES_ON ? st_special_child(s, node, byte) : 0;
        if (child)
            return st_special_value(s, child);
        if (!(here.bits & ST_SPECIAL_GOES_ON) || here.bits & ST_SPECIAL_LOUD)
            return ST_SPECIAL_STUCK;
        node = here.fail;
    }
}

/* Handles those of `next` that are no rows. Returns HEADS if all are rows or `apart` then, else the first head that is stuck. */
static unsigned leave_rows(const st_special *s, heads *h, const uint8_t *text, size_t length, uint32_t *next)
{
    for (unsigned i = 0; i < HEADS; i++) {
        if (next[i] < ST_SPECIAL_NODE)
            continue;
        if (h->rows[i] == apart(s))
            next[i] = value_behind(s, h->nodes[i], text[i * length]);
        if (next[i] == ST_SPECIAL_STUCK)
            return i;
        if (next[i] >= ST_SPECIAL_NODE) {
            h->nodes[i] = next[i] - ST_SPECIAL_NODE;
            next[i] = apart(s);
        }
    }
    return HEADS;
}

/* Each head reads its `length` bytes, until one is stuck. */
static void read_parts(const st_special *s, heads *h, const uint8_t *text, size_t length)
{
    const uint32_t *cells = s->cells;
    const uint8_t *class_of = s->class_of;
    unsigned went = HEADS; /* the heads in front of this one have read their byte */
    size_t at = 0;
    for (; at < length && went == HEADS; at++) {
        uint32_t next[HEADS], all = 0;
        for (unsigned i = 0; i < HEADS; i++) {
            next[i] = cells[h->rows[i] + class_of[text[i * length + at]]];
            all |= next[i];
        }
        if (all >= ST_SPECIAL_NODE)
            went = leave_rows(s, h, text + at, length, next);
        for (unsigned i = 0; i < went; i++)
            h->rows[i] = next[i];
    }
    for (unsigned i = 0; i < HEADS; i++)
        h->ends[i] = i < went ? at : at - 1;
}

static void place(const st_special *s, heads *h, unsigned head, uint32_t node)
{
    const uint32_t row = st_special_row(s->nodes[node]);
    h->rows[head] = row ? (row - 1) * s->classes : apart(s);
    h->nodes[head] = node;
}

static uint32_t node_of(const st_special *s, const heads *h, unsigned head)
{
    return h->rows[head] == apart(s) ? h->nodes[head] : s->row_nodes[h->rows[head] / s->classes];
}

/* The first head goes on to the end of all parts, or until it is stuck. Returns how many bytes had to be read again. */
static size_t join(const st_special *s, const heads *h, st_special_way *way, const uint8_t *text, size_t length)
{
    const size_t begin = way->at, stop = begin + HEADS * length;
    size_t again = 0;
    way->node = node_of(s, h, 0);
    way->at += h->ends[0];
    for (unsigned i = 1; i < HEADS && way->at < stop; i++) {
        const size_t part = begin + i * length, read = part + h->ends[i];
        for (size_t step = JOIN_STEP; way->at < stop && way->at < part + s->depth[way->node]; step *= 2) {
            const size_t from = way->at, most = (from > part ? from : part) + step;
            st_special_read(s, way, text, stop, most < stop ? most : stop);
            again += way->at - from;
            if (way->at < most && way->at < stop)
                return again;
        }
        if (way->at < read)
            *way = (st_special_way){read, node_of(s, h, i), way->skipped};
    }
    const size_t from = way->at;
    if (from < stop)
        st_special_read(s, way, text, stop, stop);
    return again + (stop - from);
}

size_t st_special_read_parts(const st_special *s, st_special_way *way, const uint8_t *text, size_t n)
{
    const size_t length = n / HEADS;
    heads h;
    place(s, &h, 0, way->node);
    for (unsigned i = 1; i < HEADS; i++)
        place(s, &h, i, 0);
    read_parts(s, &h, text + way->at, length);
    return join(s, &h, way, text, length);
}
