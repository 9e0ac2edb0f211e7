#include "stream/saved_state.h"

#include "base/atomic.h"
#include "base/utf8.h"

static st_status put(st_bytes *out, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    return st_bytes_append(out, bytes, sizeof bytes);
}

static st_status put_block(st_bytes *out, const uint8_t *data, size_t n)
{
    return put(out, n) || st_bytes_append(out, data, n) ? ST_NO_MEMORY : ST_OK;
}

static st_status put_cutter(st_bytes *out, const st_cutter *c)
{
    const st_cutter_state *s = &c->state;
    const size_t held = st_cutter_held(c);
    const uint64_t named = s->node ? c->names->depth[s->node] : 0;
    if (put(out, named) || put(out, s->searched) || put(out, s->blank) || put(out, (uint64_t)s->skips << 1 | (uint64_t)s->in_word))
        return ST_NO_MEMORY;
    return put_block(out, held ? c->held.data + s->start : NULL, held);
}

static st_status put_flow(st_bytes *out, const st_flow *flow)
{
    ST_TRY(put(out, (uint64_t)(flow->at > 0) << 1 | (uint64_t)flow->later));
    for (size_t i = 0; i < st_flow_steps(flow); i++) {
        const st_step_holds holds = st_flow_holds(flow, i);
        const size_t matched = holds.scan ? 0 : holds.matched; /* the scan says it */
        const uint64_t numbers = (uint64_t)holds.first << 32 | (uint64_t)matched << 1 | (uint64_t)holds.begun;
        if (put(out, numbers) || put_block(out, holds.text, holds.n))
            return ST_NO_MEMORY;
        if (!holds.scan)
            continue;
        ST_TRY(put(out, holds.scan->length));
        ST_TRY(put(out, (uint64_t)holds.scan->state << 32 | holds.scan->memo));
        for (size_t a = 0; a < ST_SCAN_MARKS; a++)
            ST_TRY(put(out, holds.scan->marks[a]));
    }
    return ST_OK;
}

/* What cutters and steps in front of the splitter wait with. */
static st_status put_front(st_bytes *out, const st_front *front)
{
    ST_TRY(put_cutter(out, &front->names));
    ST_TRY(put_cutter(out, &front->late));
    for (size_t i = 0; i < front->count; i++)
        ST_TRY(put_flow(out, &front->flows[i]));
    return ST_OK;
}

/* What the model keeps of the open piece besides its text: a block, where the model has more to say. */
static st_status put_own(st_bytes *out, const st_encoder *e)
{
    const size_t at = out->size;
    if (!e->vocab->model->save)
        return ST_OK;
    ST_TRY(put(out, 0));
    if (e->open.tail.active)
        ST_TRY(e->vocab->model->save(&e->open.tail, out));
    const uint64_t size = out->size - at - 8;
    for (int i = 0; i < 8; i++)
        out->data[at + i] = (uint8_t)(size >> (8 * i));
    return ST_OK;
}

st_status st_encoder_save(const st_encoder *e, st_bytes *out)
{
    const st_bytes *carry = &e->carry.bytes;
    const uint8_t *waiting = carry->size ? carry->data + e->carry.start : NULL;
    size_t watched = 0;
    const uint8_t *watch = e->watch.node ? st_special_bytes(e->watch.names, e->watch.node, &watched) : NULL;
    uint32_t previous = e->open.tail.active ? st_open_previous(&e->open.tail, e->vocab) : ST_NONE;
    const size_t marks = st_pattern_marks(e->pattern);
    if (e->pattern.dfa && put(out, st_pattern_identity(e->pattern)))
        return ST_NO_MEMORY;
    for (size_t a = 0; a < marks; a++)
        if (put(out, e->scan.marks[a]))
            return ST_NO_MEMORY;
    if (put(out, e->scan.length) || put(out, (uint64_t)e->scan.state << 32 | e->scan.memo) ||
        put(out, e->open.taken) || put(out, e->text.offset) || put_block(out, e->text.partial, e->text.partial_size) ||
        put(out, e->watch.offset) || put_block(out, watch, watched) || put_block(out, waiting, carry->size - e->carry.start) ||
        put(out, (uint64_t)e->open.tail.active << 1 | (e->open.tail.active && e->open.tail.merged_only)) || put(out, previous))
        return ST_NO_MEMORY;
    ST_TRY(put_block(out, e->open.tail.text.data, e->open.tail.active ? e->open.tail.text.size : 0));
    ST_TRY(put_own(out, e));
    return e->front.is_on ? put_front(out, &e->front) : ST_OK;
}

/* Reads what put() wrote. Behind the end it reads zeros and sets `bad`. */
typedef struct reader {
    const uint8_t *at;
    size_t left;
    int bad;
} reader;

static uint64_t get(reader *r)
{
    uint64_t value = 0;
    if (r->left < 8) {
        r->bad = 1;
        r->left = 0;
        return 0;
    }
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)r->at[i] << (8 * i);
    r->at += 8;
    r->left -= 8;
    return value;
}

static const uint8_t *get_block(reader *r, size_t *n)
{
    uint64_t size = get(r);
    const uint8_t *block = r->at;
    if (size > r->left) {
        r->bad = 1;
        size = r->left = 0;
    }
    *n = (size_t)size;
    r->at += *n;
    r->left -= *n;
    return block;
}

/* Finds the node of `text`, the beginning of a name that an encoder holds. 0: no encoder can have held this text. */
static int take_beginning(const st_special *names, const uint8_t *text, size_t n, uint32_t *node)
{
    *node = names ? st_special_walk(names, text, n) : 0;
    return n == 0 || *node != 0;
}

/* If nothing was taken from the front of the open piece, scanning the carry again must give the same scan state. Not in a table,
 * whose states may remember the character in front of the piece. */
static int scan_is_reproduced(const st_encoder *e, const uint8_t *text, size_t n)
{
    st_scan again;
    uint64_t ends[ST_SCAN_MIN_CAPACITY];
    size_t used = 0;
    st_scan_init(&again);
    if (n && st_scan_feed(e->pattern, &again, text, n, &used, ends, ST_SCAN_MIN_CAPACITY))
        return 0;
    return used == n && st_scan_same(&again, &e->scan);
}

/* Whether the fields agree with each other. The carry is the scanned bytes of the open piece that were not taken, then a held
 * name, whose node is found here. */
static int consistent(st_encoder *e)
{
    const uint8_t *carry = e->carry.bytes.data;
    size_t n = e->carry.bytes.size;
    st_text_error error;
    if (!st_scan_valid(e->pattern, &e->scan) || e->scan.length < e->open.taken || e->scan.length - e->open.taken > n ||
        st_scan_sure(e->pattern, &e->scan) < e->open.taken || (e->open.tail.active && !e->open.taken) ||
        (e->open.taken && e->engine == ST_ENGINE_REFERENCE))
        return 0;
    size_t scanned = (size_t)(e->scan.length - e->open.taken);
    if (n && st_text_check(carry, n, &error) != n)
        return 0;
    if (!take_beginning(e->allowed, n ? carry + scanned : NULL, n - scanned, &e->name))
        return 0;
    if (e->text.partial_size && st_utf8_unfinished(e->text.partial, e->text.partial_size) != e->text.partial_size)
        return 0;
    if (!st_scan_can_follow(e->pattern, &e->scan, e->open.taken, carry, scanned))
        return 0;
    return e->open.taken || e->pattern.family == ST_SPLIT_TABLE || scan_is_reproduced(e, carry, scanned);
}

static st_status load_open(st_encoder *e, uint64_t flags, const st_open_saved *saved)
{
    if (flags >> 1 == 0)
        return flags || saved->previous != ST_NONE || saved->n || saved->own_size ? ST_BAD_STATE : ST_OK;
    if (flags >> 1 != 1 || saved->n > e->open.taken || (saved->previous != ST_NONE && saved->previous >= e->vocab->count))
        return ST_BAD_STATE;
    if (saved->previous != ST_NONE && !st_token_reachable(e->vocab, saved->previous))
        return ST_BAD_STATE;
    st_workspace *w = st_workspace_borrow(e->vocab);
    if (!w)
        return ST_NO_MEMORY;
    st_status status = st_open_restore(&e->open.tail, e->vocab, w->scratch, saved);
    st_workspace_return(e->vocab, w);
    return status;
}

static st_status get_cutter(st_cutter *c, reader *r)
{
    const uint64_t named = get(r), searched = get(r), blank = get(r), flags = get(r);
    size_t n;
    const uint8_t *held = get_block(r, &n);
    st_text_error error;
    if (r->bad || st_text_check(held, n, &error) != n || named > n || searched > n || blank > n || flags > 3)
        return ST_BAD_STATE;
    const st_cutter_state state = {0, 0, 0, (size_t)searched, (size_t)blank, (int)(flags >> 1), (int)(flags & 1)};
    return st_cutter_restore(c, &state, (size_t)named, held, n);
}

/* has_names: some may have been found in front of a part. */
static st_status get_flow(st_flow *flow, reader *r, int has_names)
{
    const uint64_t later = get(r);
    if (later > 3 || (int)(later & 1) > has_names)
        return ST_BAD_STATE;
    flow->later = (int)(later & 1);
    flow->at = (size_t)(later >> 1);
    for (size_t i = 0; i < st_flow_steps(flow) && !r->bad; i++) {
        const uint64_t numbers = get(r);
        st_text_error error;
        st_step_holds holds = {(size_t)(numbers >> 1 & 0x7FFFFFFF), (int)(numbers & 1), NULL, 0, (size_t)(numbers >> 32), NULL};
        st_scan scan;
        holds.text = get_block(r, &holds.n);
        if (st_flow_holds(flow, i).scan) {
            scan.length = get(r);
            const uint64_t state = get(r);
            scan.state = (uint32_t)(state >> 32);
            scan.memo = (uint32_t)state;
            for (size_t a = 0; a < ST_SCAN_MARKS; a++)
                scan.marks[a] = get(r);
            holds.scan = &scan;
            holds.matched = (size_t)scan.length - holds.n;
        }
        if (r->bad || holds.first > holds.n || st_text_check(holds.text, holds.n, &error) != holds.n)
            return ST_BAD_STATE;
        ST_TRY(st_flow_restore(flow, i, &holds));
    }
    return r->bad ? ST_BAD_STATE : ST_OK;
}

static st_status get_front(st_front *front, reader *r)
{
    ST_TRY(get_cutter(&front->names, r));
    ST_TRY(get_cutter(&front->late, r));
    for (size_t i = 0; i < front->count; i++)
        ST_TRY(get_flow(&front->flows[i], r, front->names.names != NULL));
    return ST_OK;
}

static st_status load(st_encoder *e, reader *r)
{
    size_t partial, watch, carry;
    st_open_saved open = {0};
    if (e->pattern.dfa && get(r) != st_pattern_identity(e->pattern))
        return ST_BAD_STATE;
    for (size_t a = 0; a < st_pattern_marks(e->pattern); a++)
        e->scan.marks[a] = get(r);
    e->scan.length = get(r);
    uint64_t state = get(r);
    e->scan.state = (uint32_t)(state >> 32);
    e->scan.memo = (uint32_t)state;
    e->open.taken = get(r);
    st_number_write(&e->text.offset, get(r));
    const uint8_t *partial_bytes = get_block(r, &partial);
    e->watch.offset = get(r);
    const uint8_t *watch_bytes = get_block(r, &watch);
    const uint8_t *carry_bytes = get_block(r, &carry);
    const uint64_t flags = get(r), previous = get(r);
    open.previous = (uint32_t)previous;
    open.merged_only = (int)(flags & 1);
    open.text = get_block(r, &open.n);
    if (e->vocab->model->save)
        open.own = get_block(r, &open.own_size);
    if (e->front.is_on)
        ST_TRY(get_front(&e->front, r));
    if (r->bad || r->left || partial > 3 || previous > ST_NONE)
        return ST_BAD_STATE;
    memcpy(e->text.partial, partial_bytes, partial);
    e->text.partial_size = (uint32_t)partial;
    if (!take_beginning(e->watch.names, watch_bytes, watch, &e->watch.node))
        return ST_BAD_STATE;
    if (st_bytes_append(&e->carry.bytes, carry_bytes, carry))
        return ST_NO_MEMORY;
    st_status status = load_open(e, flags, &open);
    return status ? status : consistent(e) ? ST_OK : ST_BAD_STATE;
}

st_status st_encoder_load(st_encoder *e, const uint8_t *state, size_t n)
{
    reader r = {state, n, 0};
    st_encoder_reset(e);
    st_status status = load(e, &r);
    if (status)
        st_encoder_reset(e);
    return status;
}

/* ---- a copy ---- */

static st_status copy_state(st_encoder *target, const st_encoder *source)
{
    const st_bytes *carry = &source->carry.bytes;
    size_t start = source->carry.start;
    if (carry->size > start)
        ST_TRY(st_bytes_append(&target->carry.bytes, carry->data + start, carry->size - start));
    if (source->open.tail.active)
        ST_TRY(st_open_copy(&target->open.tail, &source->open.tail));
    ST_TRY(st_front_copy(&target->front, &source->front));
    target->watch.node = source->watch.node;
    target->watch.offset = source->watch.offset;
    target->name = source->name;
    target->scan = source->scan;
    target->open.taken = source->open.taken;
    target->text.offset = source->text.offset;
    target->text.partial_size = source->text.partial_size;
    memcpy(target->text.partial, source->text.partial, sizeof target->text.partial);
    return ST_OK;
}

st_status st_encoder_copy(st_encoder *target, const st_encoder *source)
{
    st_encoder_reset(target);
    st_status status = copy_state(target, source);
    if (status)
        st_encoder_reset(target);
    return status;
}
