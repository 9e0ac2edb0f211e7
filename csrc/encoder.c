#include "encoder.h"

#include "open_piece.h"
#include "utf8.h"

/* A held piece is completed in the carry, this many bytes of the new text at a time; then reading goes on in the text. */
#define BRIDGE 256

/* A stretch of text that lies in one place, and how far it is done: everything before `piece` is encoded, the open
 * piece begins there (less encoder->taken), and the scanner has read up to `read`. */
typedef struct run {
    const uint8_t *text;
    size_t size, piece, read;
} run;

typedef struct feed_context {
    st_encoder *encoder;
    st_workspace *workspace;
    st_ids *out;
} feed_context;

void st_encoder_init(st_encoder *e, st_vocab *vocab, st_split_family family)
{
    memset(e, 0, sizeof *e);
    e->vocab = vocab;
    e->family = family;
    st_scan_init(&e->scan);
}

void st_encoder_free(st_encoder *e)
{
    st_bytes_free(&e->carry.bytes);
    st_bytes_free(&e->watch);
    st_bytes_free(&e->scratch);
    st_long_piece_free(&e->open);
    st_long_piece_free(&e->saved_open);
}

void st_encoder_reset(st_encoder *e)
{
    st_scan_init(&e->scan);
    e->carry.bytes.size = e->carry.start = 0;
    e->watch.size = 0;
    e->taken = e->offset = 0;
    e->open.active = 0;
    e->partial_size = 0;
}

/* ---- pieces ---- */

/* Encodes the pieces that end at `ends`, counted from the start of the open piece. */
static st_status encode_ended(feed_context *c, run *r, uint64_t *ends, size_t count)
{
    st_encoder *e = c->encoder;
    size_t first = 0;
    if (count && e->taken) { /* the open piece began before what lies here */
        size_t rest = (size_t)(ends[0] - e->taken);
        if (st_open_piece_close(e, c->workspace, r->text + r->piece, rest, c->out))
            return ST_NO_MEMORY;
        for (size_t i = 1; i < count; i++)
            ends[i] -= ends[0];
        e->taken = 0;
        r->piece += rest;
        first = 1;
    }
    if (count == first)
        return ST_OK;
    st_status status = st_encode_pieces(e->vocab, c->workspace, e->engine, r->text + r->piece, r->size - r->piece,
                                        ends + first, count - first, c->out);
    r->piece += (size_t)ends[count - 1];
    return status;
}

static st_status scan_until(feed_context *c, run *r, size_t limit)
{
    while (r->read < limit) {
        size_t used, count = st_scan_feed(c->encoder->family, &c->encoder->scan, r->text + r->read, limit - r->read,
                                          &used, c->workspace->ends, ST_BATCH);
        r->read += used;
        if (encode_ended(c, r, c->workspace->ends, count))
            return ST_NO_MEMORY;
    }
    return ST_OK;
}

/* The text ends where the scanner stands: at its very end, or in front of a special token. */
static st_status end_text(feed_context *c, run *r)
{
    size_t count = st_scan_finish(c->encoder->family, &c->encoder->scan, c->workspace->ends);
    return encode_ended(c, r, c->workspace->ends, count);
}

/* ---- special tokens ---- */

static st_status encode_run(feed_context *c, run *r, int final)
{
    const st_special *allowed = c->encoder->allowed;
    while (r->read < r->size) {
        st_special_match match = {r->size, r->size, 0};
        st_special_result result = ST_SPECIAL_NONE;
        if (allowed)
            result = st_special_find(allowed, r->text, r->read, r->size, r->size, final, &match);
        if (scan_until(c, r, result == ST_SPECIAL_NONE ? r->size : match.start))
            return ST_NO_MEMORY;
        if (result != ST_SPECIAL_FOUND)
            break;
        if (end_text(c, r) || st_ids_reserve(c->out, 1))
            return ST_NO_MEMORY;
        c->out->data[c->out->size++] = match.id;
        r->piece = r->read = match.end;
    }
    return final ? end_text(c, r) : ST_OK;
}

/* Looks for disallowed names in text[0..n), and in the border to what came before; moves the watch on. */
static st_status check_disallowed(st_encoder *e, const uint8_t *text, size_t n, uint64_t offset, int final,
                                  st_feed_error *error)
{
    const st_special *names = e->disallowed;
    st_special_match match;
    if (!names || (n == 0 && !e->watch.size))
        return ST_OK;
    size_t old = e->watch.size, held = 0;
    if (old) {
        size_t joined = n < names->longest ? n : names->longest;
        if (st_bytes_append(&e->watch, text, joined))
            return ST_NO_MEMORY;
        st_special_result result = st_special_find(names, e->watch.data, 0, old, old + joined, final && joined == n, &match);
        if (result == ST_SPECIAL_FOUND || (result == ST_SPECIAL_HELD && match.id != ST_NO_SPECIAL)) {
            error->offset = offset - old + match.start;
            error->id = match.id;
            return ST_DISALLOWED_SPECIAL;
        }
        if (result == ST_SPECIAL_HELD) {
            st_bytes_drop(&e->watch, match.start);
            return ST_OK;
        }
        e->watch.size = 0;
    }
    st_special_result result = st_special_find(names, text, 0, n, n, final, &match);
    if (result == ST_SPECIAL_FOUND || (result == ST_SPECIAL_HELD && match.id != ST_NO_SPECIAL)) {
        error->offset = offset + match.start;
        error->id = match.id;
        return ST_DISALLOWED_SPECIAL;
    }
    held = result == ST_SPECIAL_HELD ? n - match.start : 0;
    return st_bytes_append(&e->watch, text + n - held, held);
}

/* ---- from chunk to chunk ---- */

/* What is not done of the run waits in the carry. A long open piece is first encoded as far as it is certain. */
static st_status keep_tail(feed_context *c, run *r)
{
    st_encoder *e = c->encoder;
    if (r->read - r->piece > ST_HOLD_WHOLE && e->engine == ST_ENGINE_FAST) {
        uint64_t sure = st_scan_sure(e->family, &e->scan) - e->taken;
        size_t took = 0;
        if (st_open_piece_take(e, c->workspace, r->text + r->piece, (size_t)sure, &took, c->out))
            return ST_NO_MEMORY;
        e->taken += took;
        r->piece += took;
    }
    if (r->text == e->carry.bytes.data) {
        e->carry.start = r->piece;
        return ST_OK;
    }
    e->carry.start = e->carry.bytes.size;
    return st_bytes_append(&e->carry.bytes, r->text + r->piece, r->size - r->piece);
}

/* Completes what is held with the beginning of text[0..n), until the open piece begins in `text` itself; *direct then
 * says where reading goes on there. Returns with *direct untouched (text = NULL) when all of the text was used. */
static st_status cross_border(feed_context *c, const uint8_t *text, size_t n, int final, run *direct)
{
    st_carry *carry = &c->encoder->carry;
    size_t old = carry->bytes.size, used = 0;
    run r = {NULL, 0, carry->start, 0};
    r.read = carry->start + (size_t)(c->encoder->scan.length - c->encoder->taken);
    do {
        size_t part = n - used < BRIDGE ? n - used : BRIDGE;
        while (used + part < n && st_utf8_is_continuation(text[used + part]))
            part++; /* the scanner takes whole characters */
        if (st_bytes_append(&carry->bytes, text + used, part))
            return ST_NO_MEMORY;
        used += part;
        r.text = carry->bytes.data;
        r.size = carry->bytes.size;
        if (encode_run(c, &r, final && used == n) || keep_tail(c, &r))
            return ST_NO_MEMORY;
        if (r.piece >= old && used < n) {
            *direct = (run){text, n, r.piece - old, r.read - old};
            carry->start = carry->bytes.size;
            return ST_OK;
        }
    } while (used < n);
    return ST_OK;
}

/* Encodes valid UTF-8 that follows directly what was fed before. */
static st_status encode_segment(feed_context *c, const uint8_t *text, size_t n, int final)
{
    st_encoder *e = c->encoder;
    run direct = {text, n, 0, 0};
    if (e->carry.start < e->carry.bytes.size || e->taken) {
        direct.text = NULL;
        if (cross_border(c, text, n, final, &direct))
            return ST_NO_MEMORY;
        if (!direct.text)
            return ST_OK;
    }
    if (encode_run(c, &direct, final))
        return ST_NO_MEMORY;
    return keep_tail(c, &direct);
}

/* ---- one feed ---- */

/* Valid UTF-8 to encode: the character that the last chunk cut, then the rest. */
typedef struct segments {
    uint8_t joined[4];
    size_t joined_size;
    const uint8_t *text;
    size_t n;
    uint8_t partial[4]; /* cut by the end of this chunk */
    uint32_t partial_size;
} segments;

static void set_partial(segments *s, const uint8_t *text, size_t n)
{
    s->partial_size = (uint32_t)n;
    if (n)
        memcpy(s->partial, text, n);
}

/* Invalid bytes, with what was held of a cut character in front: refuse them, or repair all of the text. */
static st_status repair(st_encoder *e, const uint8_t *text, size_t n, int final, segments *s, st_feed_error *error)
{
    size_t held = e->partial_size;
    e->scratch.size = 0;
    if (st_bytes_reserve(&e->scratch, 2 * (held + n)) || st_bytes_append(&e->scratch, e->partial, held) ||
        st_bytes_append(&e->scratch, text, n))
        return ST_NO_MEMORY;
    size_t cut = final ? 0 : st_utf8_unfinished(e->scratch.data, held + n), whole = held + n - cut;
    if (st_text_check(e->scratch.data, whole, &error->text) < whole && e->errors == ST_ERRORS_STRICT) {
        error->offset = e->offset - held + error->text.start;
        return ST_INVALID_UTF8;
    }
    set_partial(s, e->scratch.data + whole, cut);
    st_bytes repaired = {0};
    st_status status = st_text_repair(e->scratch.data, whole, e->errors, &repaired);
    st_bytes_free(&e->scratch);
    e->scratch = repaired;
    s->joined_size = 0;
    s->text = repaired.data;
    s->n = repaired.size;
    return status;
}

/* Finishes the character that the last chunk cut. 1: done, or still cut; 0: the bytes do not continue it. */
static int join_partial(const st_encoder *e, const uint8_t **text, size_t *n, segments *s)
{
    size_t held = e->partial_size, size = st_utf8_size(e->partial[0]), more = size - held;
    st_text_error error;
    memcpy(s->joined, e->partial, held);
    if (more > *n) {
        memcpy(s->joined + held, *text, *n);
        if (st_utf8_unfinished(s->joined, held + *n) != held + *n)
            return 0;
        set_partial(s, s->joined, held + *n);
        *n = 0;
        return 1;
    }
    memcpy(s->joined + held, *text, more);
    if (st_text_check(s->joined, size, &error) != size)
        return 0;
    s->joined_size = size;
    *text += more;
    *n -= more;
    return 1;
}

/* Continues the cut character that the last chunk left. 1: `s` tells all there is; 0: go on with *text; -1: repair. */
static int take_partial(const st_encoder *e, const uint8_t **text, size_t *n, int flags, segments *s)
{
    int final = flags & ST_FEED_FINAL;
    if (*n == 0) {
        set_partial(s, e->partial, e->partial_size);
        return final ? -1 : 1;
    }
    if (flags & ST_FEED_TRUSTED) /* whole characters do not continue a cut one */
        return -1;
    if (!join_partial(e, text, n, s))
        return -1;
    if (!s->partial_size)
        return 0;
    return final ? -1 : 1;
}

static st_status prepare_segments(st_encoder *e, const uint8_t *text, size_t n, int flags, segments *s,
                                  st_feed_error *error)
{
    const uint8_t *rest = text;
    size_t left = n;
    int final = flags & ST_FEED_FINAL;
    memset(s, 0, sizeof *s);
    if (e->partial_size) {
        int answer = take_partial(e, &rest, &left, flags, s);
        if (answer)
            return answer < 0 ? repair(e, text, n, final, s, error) : ST_OK;
    }
    s->text = rest;
    s->n = left;
    if (flags & ST_FEED_TRUSTED)
        return ST_OK;
    size_t cut = final ? 0 : st_utf8_unfinished(rest, left);
    if (st_text_check(rest, left - cut, &error->text) < left - cut)
        return repair(e, text, n, final, s, error);
    s->n = left - cut;
    set_partial(s, rest + left - cut, cut);
    return ST_OK;
}

/* What must be put back when a feed fails; the carry's bytes and the watch's stay in place until it has succeeded. */
typedef struct snapshot {
    st_scan scan;
    uint64_t taken;
    size_t carry_start, carry_size, out_size;
    uint32_t active;
    st_bytes watch;
} snapshot;

static st_status take_snapshot(st_encoder *e, const st_ids *out, snapshot *s)
{
    *s = (snapshot){e->scan, e->taken, e->carry.start, e->carry.bytes.size, out->size, e->open.active, {0}};
    if (e->watch.size && st_bytes_append(&s->watch, e->watch.data, e->watch.size))
        return ST_NO_MEMORY;
    if (e->open.active && st_long_piece_copy(&e->saved_open, &e->open)) {
        st_bytes_free(&s->watch);
        return ST_NO_MEMORY;
    }
    return ST_OK;
}

static void roll_back(st_encoder *e, st_ids *out, snapshot *s)
{
    e->scan = s->scan;
    e->taken = s->taken;
    e->carry.start = s->carry_start;
    e->carry.bytes.size = s->carry_size;
    out->size = s->out_size;
    if (s->active) {
        st_long_piece broken = e->open;
        e->open = e->saved_open;
        e->saved_open = broken;
    }
    e->open.active = s->active;
    st_bytes_free(&e->watch);
    e->watch = s->watch;
    s->watch = (st_bytes){0};
}

static void commit(st_encoder *e, const segments *s, size_t n, int final)
{
    if (final) {
        st_encoder_reset(e);
        return;
    }
    e->offset += n;
    memcpy(e->partial, s->partial, sizeof e->partial);
    e->partial_size = s->partial_size;
    if (e->carry.start == e->carry.bytes.size) {
        e->carry.start = e->carry.bytes.size = 0;
    } else if (e->carry.start >= e->carry.bytes.size - e->carry.start) { /* moves at most what it frees: linear */
        st_bytes_drop(&e->carry.bytes, e->carry.start);
        e->carry.start = 0;
    }
}

static st_status encode_segments(feed_context *c, const segments *s, int final, st_feed_error *error)
{
    static const uint8_t nothing[1];
    st_encoder *e = c->encoder;
    uint64_t offset = e->offset - e->partial_size;
    const uint8_t *text = s->text ? s->text : nothing;
    st_status status = ST_OK;
    if (s->joined_size)
        status = check_disallowed(e, s->joined, s->joined_size, offset, final && !s->n, error);
    if (!status)
        status = check_disallowed(e, text, s->n, offset + s->joined_size, final, error);
    if (!status && s->joined_size)
        status = encode_segment(c, s->joined, s->joined_size, final && !s->n);
    if (!status && (s->n || (final && !s->joined_size)))
        status = encode_segment(c, text, s->n, final);
    return status;
}

st_status st_encoder_feed(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error)
{
    segments s;
    snapshot before;
    st_status status = prepare_segments(e, text, n, flags, &s, error);
    if (status)
        return status;
    status = take_snapshot(e, out, &before);
    if (status)
        return status;
    feed_context c = {e, st_workspace_borrow(e->vocab), out};
    status = ST_NO_MEMORY;
    if (c.workspace) {
        status = encode_segments(&c, &s, flags & ST_FEED_FINAL, error);
        st_workspace_return(e->vocab, c.workspace);
    }
    if (status)
        roll_back(e, out, &before);
    else
        commit(e, &s, n, flags & ST_FEED_FINAL);
    st_bytes_free(&before.watch);
    return status;
}

st_status st_encoder_spans(st_encoder *e, const uint8_t *text, const int64_t *spans, size_t count, st_ids *out)
{
    st_workspace *w = st_workspace_borrow(e->vocab);
    size_t before = out->size;
    st_status status = w ? ST_OK : ST_NO_MEMORY;
    for (size_t i = 0; i < count && !status; i++)
        status = st_encode_span(e->vocab, w, e->engine, text + spans[2 * i], (size_t)(spans[2 * i + 1] - spans[2 * i]),
                                1, out);
    if (w)
        st_workspace_return(e->vocab, w);
    if (status)
        out->size = before;
    return status;
}

uint64_t st_encoder_pending(const st_encoder *e)
{
    return e->carry.bytes.size - e->carry.start + e->partial_size + (e->open.active ? st_long_piece_pending(&e->open) : 0);
}

st_status st_encoder_copy(st_encoder *target, const st_encoder *source)
{
    const st_bytes *carry = &source->carry.bytes;
    st_encoder_reset(target);
    if (st_bytes_append(&target->carry.bytes, carry->data + source->carry.start, carry->size - source->carry.start) ||
        st_bytes_append(&target->watch, source->watch.data, source->watch.size) ||
        (source->open.active && st_long_piece_copy(&target->open, &source->open))) {
        st_encoder_reset(target);
        return ST_NO_MEMORY;
    }
    target->scan = source->scan;
    target->taken = source->taken;
    target->offset = source->offset;
    memcpy(target->partial, source->partial, sizeof target->partial);
    target->partial_size = source->partial_size;
    return ST_OK;
}
