#include "stream/encoder.h"

#include "base/atomic.h"
#include "base/interrupt.h"
#include "base/utf8.h"

/* A held piece is completed in the carry: this many bytes of the new text are appended, then twice as many each time, until the
 * open piece lies in the text alone. Few, because most pieces end soon, and what is encoded here makes a small batch. */
#define BRIDGE 32

/* A text of up to this many bytes is appended to the carry as a whole, which takes less time than encoding two batches. Fuzzers
 * build with a smaller number, so that short texts reach every branch. */
#ifndef ST_SHORT_TEXT
#define ST_SHORT_TEXT 8192
#endif

/* The scanner that goes on inside an open piece takes ten times as long for a byte as blocks do, but blocks must begin at the
 * start of a piece (split/scan.c). So with this many bytes of new text, an open piece of up to this many bytes is read again from
 * its start. */
#define READ_AGAIN_FROM 256
#define READ_AGAIN_UP_TO 64

/* Bytes that are scanned or copied between two calls of st_go_on. */
#define STEP ((size_t)1 << 20)

/* Contiguous text, and how far it is encoded. Everything before `piece` is encoded. The open piece begins at `piece`, less
 * encoder->open.taken. The scanner has read up to `read`, which is not behind the next special token. */
typedef struct progress {
    const uint8_t *text;
    size_t size, piece, read;
    st_special_search names; /* how far the text was searched for allowed names */
} progress;

typedef struct feed_context {
    st_encoder *encoder;
    st_encode_context context;
    int final;   /* the text ends with this feed */
    int gathers; /* what comes of the text goes to encoder->gather */
} feed_context;

void st_encoder_init(st_encoder *e, st_vocab *vocab, st_pattern pattern)
{
    memset(e, 0, sizeof *e);
    e->vocab = vocab;
    e->pattern = pattern;
    st_scan_init(&e->scan);
}

void st_encoder_allow(st_encoder *e, const st_special *names, const st_normalizer *normalizer)
{
    const int has_rules = names && st_special_has_rules(names);
    if (normalizer || has_rules)
        st_front_use(&e->front, normalizer, names);
    if (!e->front.is_on)
        e->allowed = names;
    else if (names && names->late && !e->front.late.names)
        e->allowed = names->late;
}

void st_encoder_free(st_encoder *e)
{
    if (e->front.is_on)
        st_front_free(&e->front);
    st_bytes_free(&e->carry.bytes);
    st_text_stage_free(&e->text);
    st_open_piece_free(&e->open);
    st_gather_free(&e->gather);
    st_bytes_free(&e->copy);
}

void st_encoder_reset(st_encoder *e)
{
    st_scan_init(&e->scan);
    e->carry.bytes.size = e->carry.start = 0;
    st_watch_reset(&e->watch);
    e->name = 0;
    if (e->front.is_on)
        st_front_reset(&e->front);
    st_number_write(&e->text.offset, 0);
    e->open.taken = 0;
    e->open.tail.active = 0;
    e->text.partial_size = 0;
}

/* ---- pieces ---- */

/* Encodes the pieces that end at `ends`, counted from the start of the open piece; none of them is dropped. */
static st_status encode_kept(feed_context *c, progress *p, uint64_t *ends, size_t count)
{
    st_encoder *e = c->encoder;
    size_t first = 0;
    if (count && e->open.taken) { /* the open piece began before what lies here */
        size_t rest = (size_t)(ends[0] - e->open.taken);
        ST_TRY(st_open_piece_close(&e->open, &c->context, p->text + p->piece, rest));
        for (size_t i = 1; i < count; i++)
            ends[i] -= ends[0];
        p->piece += rest;
        first = 1;
    }
    if (count == first)
        return ST_OK;
    st_status status = st_encode_pieces(e->vocab, c->context.workspace, e->engine, p->text + p->piece, p->size - p->piece,
                                        NULL, ends + first, count - first, 1, c->context.out);
    p->piece += (size_t)ends[count - 1];
    return status;
}

/* The bytes up to `end`, counted as above, belong to a piece that is dropped. What was taken of it was not encoded. */
static void drop_piece(feed_context *c, progress *p, uint64_t end)
{
    st_open_piece *open = &c->encoder->open;
    p->piece += (size_t)(end - open->taken);
    open->taken = open->tail.active = 0;
}

/* The first of the pieces that end at `ends`, whose front was taken before. The ends of the others then count from its own. */
static st_status end_taken(feed_context *c, progress *p, uint64_t *ends, size_t count)
{
    const uint64_t end = ends[0] & ~ST_DROPPED;
    for (size_t i = 1; i < count; i++)
        ends[i] -= end;
    if (ends[0] != end)
        drop_piece(c, p, end);
    return ends[0] == end ? encode_kept(c, p, ends, 1) : ST_OK;
}

/* Encodes the pieces that end at `ends`, counted from the start of the open piece, but for those that are dropped. */
static st_status encode_ended(feed_context *c, progress *p, uint64_t *ends, size_t count)
{
    const size_t first = count && c->encoder->open.taken;
    uint64_t *starts = c->context.workspace->starts, start = 0, kept = 0;
    if (!st_pattern_drops(c->encoder->pattern))
        return encode_kept(c, p, ends, count);
    if (first)
        ST_TRY(end_taken(c, p, ends, count));
    for (size_t i = first; i < count; i++) { /* without a branch on what is dropped */
        const uint64_t end = ends[i] & ~ST_DROPPED, is_kept = ends[i] == end;
        starts[kept] = start;
        ends[kept] = start = end;
        kept += is_kept;
    }
    if (kept)
        ST_TRY(st_encode_pieces(c->encoder->vocab, c->context.workspace, c->encoder->engine, p->text + p->piece,
                                p->size - p->piece, starts, ends, (size_t)kept, 1, c->context.out));
    p->piece += (size_t)start;
    return ST_OK;
}

/* The end of the step that begins at `from`: a border between characters, at most `limit`. */
static size_t end_of_step(const uint8_t *text, size_t from, size_t limit)
{
    if (limit - from <= STEP)
        return limit;
    size_t end = from + STEP;
    while (end < limit && st_utf8_is_continuation(text[end]))
        end++;
    return end;
}

static st_status scan_until(feed_context *c, progress *p, size_t limit)
{
    while (p->read < limit) {
        const size_t end = end_of_step(p->text, p->read, limit);
        size_t used, count = st_scan_feed(c->encoder->pattern, &c->encoder->scan, p->text + p->read, end - p->read, &used,
                                          c->context.workspace->ends, ST_BATCH);
        p->read += used;
        if (p->read < limit)
            ST_TRY(st_go_on(used));
        ST_TRY(encode_ended(c, p, c->context.workspace->ends, count));
    }
    return ST_OK;
}

/* Encodes the open piece when the text ends where the scanner stands: at its end, or in front of a special token. */
static st_status end_text(feed_context *c, progress *p)
{
    size_t count = st_scan_finish(c->encoder->pattern, &c->encoder->scan, c->context.workspace->ends);
    return encode_ended(c, p, c->context.workspace->ends, count);
}

/* ---- special tokens ---- */

static st_status encode_text(feed_context *c, progress *p, int final)
{
    const st_special *allowed = c->encoder->allowed;
    while (p->read < p->size) {
        st_special_match match = {p->size, p->size, 0, 0};
        st_special_result result = ST_SPECIAL_NONE;
        if (allowed)
            result = st_special_find(allowed, &p->names, p->text, SIZE_MAX, p->size, final, &match);
        ST_TRY(scan_until(c, p, result == ST_SPECIAL_NONE ? p->size : match.start));
        if (result != ST_SPECIAL_FOUND)
            break;
        ST_TRY(end_text(c, p));
        ST_TRY(st_ids_reserve(c->context.out, 1));
        c->context.out->data[c->context.out->size++] = match.id;
        p->piece = p->read = match.end;
    }
    c->encoder->name = p->names.node;
    return final ? end_text(c, p) : ST_OK;
}

/* ---- from chunk to chunk ---- */

static st_status append_in_steps(st_bytes *bytes, const uint8_t *text, size_t n)
{
    ST_TRY(st_bytes_reserve(bytes, n));
    for (size_t at = 0, end; at < n; at = end) {
        end = n - at > STEP ? at + STEP : n;
        ST_TRY(st_bytes_append(bytes, text + at, end - at));
        if (end < n)
            ST_TRY(st_go_on((end - at) / 8)); /* far less work than others do for as many bytes */
    }
    return ST_OK;
}

/* What is not encoded of the text waits in the carry. A long open piece is first encoded as far as it is certain,
 * but by the reference engine, which merges whole pieces only. */
static st_status keep_tail(feed_context *c, progress *p)
{
    st_encoder *e = c->encoder;
    if (e->engine == ST_ENGINE_FAST && (p->read - p->piece > e->vocab->model->holds || e->open.tail.active)) {
        uint64_t sure = st_scan_sure(e->pattern, &e->scan) - e->open.taken;
        size_t took = 0;
        if (st_scan_open_is_dropped(e->pattern, &e->scan)) {
            took = (size_t)sure;
            e->open.taken += sure;
        } else {
            ST_TRY(st_open_piece_take(&e->open, &c->context, p->text + p->piece, (size_t)sure, c->final, &took));
        }
        p->piece += took;
    }
    if (p->text == e->carry.bytes.data) {
        e->carry.start = p->piece;
        return ST_OK;
    }
    e->carry.start = e->carry.bytes.size;
    if (p->piece == p->size)
        return ST_OK;
    return append_in_steps(&e->carry.bytes, p->text + p->piece, p->size - p->piece);
}

/* How far the carry was scanned: to the end of the open piece, or 0 if the piece is to be read again from its start. */
static size_t held_and_read(st_encoder *e, size_t n)
{
    if (n >= READ_AGAIN_FROM && e->scan.length <= READ_AGAIN_UP_TO && !e->open.taken && e->pattern.family != ST_SPLIT_TABLE)
        st_scan_init(&e->scan);
    return (size_t)(e->scan.length - e->open.taken);
}

/* Appends bytes of text[0..n) to the carry and encodes, until the open piece lies in `text` alone. Then *direct says where
 * encoding goes on in `text`. If all of the text was used, *direct is left as it was (text = NULL). */
static st_status cross_border(feed_context *c, const uint8_t *text, size_t n, int final, progress *direct)
{
    st_carry *carry = &c->encoder->carry;
    size_t old = carry->bytes.size, used = 0, bridge = n <= ST_SHORT_TEXT ? n : BRIDGE;
    progress p = {NULL, 0, carry->start, 0, {0, old, 0, c->encoder->name}};
    p.read = carry->start + held_and_read(c->encoder, n);
    do {
        size_t part = n - used < bridge ? n - used : bridge;
        bridge *= 2;
        while (used + part < n && st_utf8_is_continuation(text[used + part]))
            part++; /* the scanner takes whole characters */
        ST_TRY(append_in_steps(&carry->bytes, text + used, part));
        used += part;
        p.text = carry->bytes.data ? carry->bytes.data : text; /* without memory it is empty, too */
        p.size = carry->bytes.size;
        ST_TRY(encode_text(c, &p, final && used == n));
        ST_TRY(keep_tail(c, &p));
        if (p.piece >= old && used < n) {
            *direct = (progress){text, n, p.piece - old, p.read - old, {0, p.names.at - old, 0, p.names.node}};
            carry->start = carry->bytes.size;
            return ST_OK;
        }
    } while (used < n);
    return ST_OK;
}

/* Encodes valid UTF-8 that follows directly on the text before. */
static st_status encode_segment(feed_context *c, const uint8_t *text, size_t n, int final)
{
    st_encoder *e = c->encoder;
    progress direct = {text, n, 0, 0, {0, 0, 0, 0}};
    if (e->carry.start < e->carry.bytes.size || e->open.taken) {
        direct.text = NULL;
        ST_TRY(cross_border(c, text, n, final, &direct));
        if (!direct.text)
            return ST_OK;
    }
    ST_TRY(encode_text(c, &direct, final));
    return keep_tail(c, &direct);
}

/* ---- one feed ---- */

/* What is restored when a feed fails. The carry's bytes stay in place until the feed has succeeded. */
typedef struct snapshot {
    st_scan scan;
    uint64_t taken;
    size_t carry_start, carry_size, out_size;
    uint32_t active, name;
    st_watch watch;
    st_front_marks *front; /* NULL: the encoder has no front */
} snapshot;

static st_status take_snapshot(st_encoder *e, const st_ids *out, st_front_marks *front, snapshot *s)
{
    s->front = front;
    s->scan = e->scan;
    s->taken = e->open.taken;
    s->carry_start = e->carry.start;
    s->carry_size = e->carry.bytes.size;
    s->out_size = out->size;
    s->active = e->open.tail.active;
    s->name = e->name;
    s->watch = e->watch;
    if (front)
        st_front_mark(&e->front, front);
    return e->open.tail.active ? st_open_copy(&e->open.saved_tail, &e->open.tail) : ST_OK;
}

static void roll_back(st_encoder *e, st_ids *out, const snapshot *s)
{
    e->scan = s->scan;
    e->open.taken = s->taken;
    e->carry.start = s->carry_start;
    e->carry.bytes.size = s->carry_size;
    out->size = s->out_size;
    if (s->active) {
        st_open broken = e->open.tail;
        e->open.tail = e->open.saved_tail;
        e->open.saved_tail = broken;
    }
    e->open.tail.active = s->active;
    e->name = s->name;
    e->watch = s->watch;
    if (s->front)
        st_front_roll_back(&e->front, s->front);
}

static void commit(st_encoder *e, const st_segments *s, size_t n, int final)
{
    if (final) {
        st_encoder_reset(e);
        return;
    }
    st_text_stage_commit(&e->text, s, n);
    if (e->front.is_on)
        st_front_commit(&e->front);
    if (e->carry.start == e->carry.bytes.size) {
        e->carry.start = e->carry.bytes.size = 0;
    } else if (e->carry.start >= e->carry.bytes.size - e->carry.start) { /* moves no more than it frees: linear */
        st_bytes_drop(&e->carry.bytes, e->carry.start);
        e->carry.start = 0;
    }
}

/* ---- text that comes from the front ---- */

/* Whether parts can be gathered from here on, where none is open. */
static int can_gather(const st_encoder *e)
{
    return e->pattern.family == ST_SPLIT_NONE && e->engine == ST_ENGINE_FAST && e->front.is_on && !e->allowed;
}

/* Encodes what was gathered, and the open part as far as it is certain; what follows of this one is not gathered. */
static st_status end_gathering(feed_context *c)
{
    st_gather *g = &c->encoder->gather;
    ST_TRY(st_gather_flush(g, &c->context));
    if (!g->text.size)
        return ST_OK;
    c->gathers = 0;
    ST_TRY(encode_segment(c, g->text.data, g->text.size, 0));
    st_gather_reset(g);
    return ST_OK;
}

static st_status take_normal(void *context, const uint8_t *text, size_t n)
{
    feed_context *c = context;
    st_gather *g = &c->encoder->gather;
    if (!c->gathers)
        return encode_segment(c, text, n, 0);
    ST_TRY(st_gather_add(g, text, n));
    return g->text.size - g->ended >= ST_GATHER_MOST ? end_gathering(c) : ST_OK;
}

static st_status take_end(void *context)
{
    static const uint8_t nothing[1];
    feed_context *c = context;
    if (c->gathers)
        return st_gather_end(&c->encoder->gather, &c->context);
    c->gathers = can_gather(c->encoder);
    return encode_segment(c, nothing, 0, 1);
}

static st_status take_name(void *context, uint32_t id, const uint8_t *text)
{
    feed_context *c = context;
    (void)text;
    if (c->gathers)
        return st_gather_name(&c->encoder->gather, &c->context, id);
    ST_TRY(st_ids_reserve(c->context.out, 1));
    c->context.out->data[c->context.out->size++] = id;
    return ST_OK;
}

static st_status take_text(feed_context *c, const uint8_t *text, size_t n, int final)
{
    const st_cutter_sink sink = {take_normal, take_end, take_name, c};
    return c->encoder->front.is_on ? st_front_feed(&c->encoder->front, text, n, final, &sink) : encode_segment(c, text, n, final);
}

static st_status encode_segments(feed_context *c, const st_segments *s, int final)
{
    if (s->joined_size)
        ST_TRY(take_text(c, s->joined, s->joined_size, final && !s->n));
    if (s->n || (final && !s->joined_size))
        ST_TRY(take_text(c, s->text, s->n, final));
    return end_gathering(c);
}

static st_status run_feed(st_encoder *e, const st_segments *s, int final, st_ids *out, st_feed_error *error)
{
    ST_TRY(st_watch_chunk(&e->watch, &e->text, s, final, &error->offset, &error->id));
    st_workspace *workspace = e->workspace ? e->workspace : st_workspace_borrow(e->vocab);
    if (!workspace)
        return ST_NO_MEMORY;
    feed_context c = {e, {e->vocab, workspace, out}, final, can_gather(e) && e->carry.start == e->carry.bytes.size && !e->open.taken};
    st_gather_reset(&e->gather);
    st_status status = encode_segments(&c, s, final);
    if (!e->workspace)
        st_workspace_return(e->vocab, workspace);
    return status;
}

/* A longer copy is freed when the feed is done. */
#define COPY_KEPT ((size_t)1 << 20)

static st_status feed_marked(st_encoder *e, const uint8_t *text, size_t n, int flags, st_front_marks *front, st_ids *out,
                             st_feed_error *error)
{
    st_segments s;
    snapshot before;
    int final = flags & ST_FEED_FINAL;
    st_status status = st_text_stage_take(&e->text, text, n, flags & ST_FEED_TRUSTED, final, &s, &error->text);
    if (status == ST_INVALID_UTF8)
        error->offset = e->text.offset - e->text.partial_size + error->text.start;
    if (status)
        return status;
    ST_TRY(take_snapshot(e, out, front, &before));
    status = run_feed(e, &s, final, out, error);
    if (!status && e->vocab->model->spell)
        status = e->vocab->model->spell(e->vocab, out, before.out_size);
    /* A call above may have returned early, interrupted; in a short feed only the building of a table at first need can have. */
    if (!status)
        status = n + before.carry_size + before.taken >= ST_HOLD_WHOLE ? st_interrupt_last() : st_go_on(0);
    else if (st_go_on(0))
        status = ST_INTERRUPTED; /* also if a function that was ended early reported something else */
    if (status)
        roll_back(e, out, &before);
    else
        commit(e, &s, n, final);
    return status;
}

/* A function of its own, because the marks take more than a page of the stack. */
static ST_NOT_INLINE st_status feed_behind_front(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error)
{
    st_front_marks marks;
    return feed_marked(e, text, n, flags, &marks, out, error);
}

static st_status feed(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error)
{
    return e->front.is_on ? feed_behind_front(e, text, n, flags, out, error) : feed_marked(e, text, n, flags, NULL, out, error);
}

st_status st_encoder_feed(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error)
{
    static const uint8_t nothing[1];
    if (!(flags & ST_FEED_SHARED))
        return feed(e, text ? text : nothing, n, flags, out, error);
    e->copy.size = 0;
    ST_TRY(st_bytes_append(&e->copy, text, n));
    const st_status status = feed(e, n ? e->copy.data : nothing, n, flags, out, error);
    if (e->copy.capacity > COPY_KEPT)
        st_bytes_free(&e->copy);
    return status;
}

uint64_t st_encoder_pending(const st_encoder *e)
{
    const uint64_t waiting = e->carry.bytes.size - e->carry.start + e->text.partial_size;
    return waiting + (e->open.tail.active ? st_open_pending(&e->open.tail) : 0) + st_front_held(&e->front);
}
