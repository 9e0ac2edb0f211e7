#include "decoders/rules.h"

#include <string.h>

#include "base/atomic.h"
#include "base/search.h"
#include "base/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD"

void st_rules_free(st_rules *rules)
{
    st_free(rules->later.starts);
    st_free(rules->first.starts);
    st_free(rules->first.ids);
    st_free(rules->late);
    st_free(rules->tails);
}

void st_rule_place_reset(st_rule_place *place, const st_rules *rules)
{
    const st_bytes run = {place->run.data, 0, place->run.capacity};
    *place = (st_rule_place){.left = rules->most, .run = run};
}

void st_rule_place_free(st_rule_place *place)
{
    st_bytes_free(&place->run);
}

st_status st_rule_place_copy(st_rule_place *target, const st_rule_place *source)
{
    st_bytes run = target->run;
    run.size = 0;
    ST_TRY(st_bytes_append(&run, source->run.data, source->run.size));
    *target = *source;
    target->run = run;
    return ST_OK;
}

/* ---- what a token becomes ---- */

static int find(const st_rule_table *table, uint32_t id, size_t *at)
{
    *at = table->ids ? st_find_sorted(table->ids, table->count, id) : id;
    return *at < table->count;
}

static unsigned piece_of(const st_rules *rules, uint32_t id, int is_first, st_span *piece)
{
    size_t at;
    const st_rule_table *table = is_first && find(&rules->first, id, &at) ? &rules->first : &rules->later;
    if (!find(table, id, &at))
        return ST_PIECE_NONE;
    *piece = (st_span){table->bytes + table->starts[at], table->starts[at + 1] - table->starts[at]};
    return table->kinds[at];
}

static st_rule_tail tail_of(const st_rules *rules, uint32_t id)
{
    size_t low = 0, high = rules->tail_count;
    ST_BISECT(low, high, at, rules->tails[at].id < id)
    const st_rule_tail none = {.id = id};
    return low < rules->tail_count && rules->tails[low].id == id ? rules->tails[low] : none;
}

/* The next token: what stands in front of it because of the one before, and its own bytes. */
typedef struct next_piece {
    st_span before, piece;
    unsigned kind;
} next_piece;

static st_status take_next(const st_rules *rules, st_rule_place *place, uint32_t id, next_piece *next)
{
    next->before = (st_span){NULL, 0};
    next->kind = piece_of(rules, id, !place->begun, &next->piece);
    if (next->kind == ST_PIECE_NONE)
        return ST_UNKNOWN_TOKEN;
    if (place->begun && rules->flags & ST_RULES_ONCE && place->last == id)
        next->piece.n = 0;
    else if (place->begun && rules->flags & ST_RULES_ENDED)
        next->before = tail_of(rules, place->last).going_on;
    place->begun |= !(rules->flags & ST_RULES_OPENS) || next->before.n + next->piece.n > 0;
    place->last = id;
    return ST_OK;
}

/* ---- runs of bytes ---- */

static st_status add_unknown(st_bytes *out, size_t count)
{
    for (; count; count--)
        ST_TRY(st_bytes_append(out, REPLACEMENT, 3));
    return ST_OK;
}

/* Replaces a pattern in out->data[from..size). */
static st_status replace(st_bytes *out, size_t from, st_span pattern, st_span content)
{
    const size_t end = out->size;
    size_t at = from;
    if (!pattern.n)
        return ST_OK;
    while (at < end) { /* what is made is appended, and then takes the place of the old */
        const int is_here = end - at >= pattern.n && !memcmp(out->data + at, pattern.bytes, pattern.n);
        if (is_here) {
            ST_TRY(st_bytes_append(out, content.bytes, content.n));
        } else {
            ST_TRY(st_bytes_reserve(out, 1));
            out->data[out->size++] = out->data[at];
        }
        at += is_here ? pattern.n : 1;
    }
    memmove(out->data + from, out->data + end, out->size - end);
    out->size -= end - from;
    return ST_OK;
}

static size_t run_size(const st_rule_place *place)
{
    return place->run.size - place->start;
}

static st_status end_run(const st_rules *rules, st_rule_place *place, st_bytes *out)
{
    const size_t n = run_size(place), from = out->size;
    st_status status = place->cut_size ? add_unknown(out, n) : st_bytes_append(out, n ? place->run.data + place->start : NULL, n);
    for (size_t i = 0; !status && n && !place->cut_size && i < rules->late_count; i++)
        status = replace(out, from, rules->late[i].pattern, place->front ? rules->late[i].first : rules->late[i].content);
    if (n) {
        place->start = place->run.size;
        place->cut_size = 0;
        place->front = 0;
    }
    return status;
}

/* Takes one more byte into the beginning of a character. Whether it is none then. */
static int goes_wrong(st_rule_place *place, uint8_t byte)
{
    st_text_error error;
    if (!place->cut_size && byte < 0x80)
        return 0;
    place->cut[place->cut_size++] = byte;
    if (st_utf8_unfinished(place->cut, place->cut_size) == place->cut_size)
        return 0;
    const int is_whole = st_text_check(place->cut, place->cut_size, &error) == place->cut_size;
    place->cut_size = 0;
    return !is_whole;
}

static st_status take_byte(st_rule_place *place, uint8_t byte, int is_first, st_bytes *out)
{
    if (place->broken)
        return add_unknown(out, 1);
    place->front |= is_first && !run_size(place);
    ST_TRY(st_bytes_append(&place->run, &byte, 1));
    place->broken = goes_wrong(place, byte);
    if (!place->broken)
        return ST_OK;
    const size_t n = run_size(place);
    place->start = place->run.size;
    place->front = 0;
    return add_unknown(out, n);
}

static st_status feed_runs(const st_rules *rules, st_rule_place *place, const uint32_t *ids, size_t count, st_bytes *out, size_t *bad)
{
    const int begun = place->begun;
    next_piece next;
    for (*bad = 0; *bad < count; ++*bad) {
        ST_TRY(take_next(rules, place, st_read_once(ids + *bad), &next));
        if (next.kind == ST_PIECE_BYTE && next.piece.n == 1) {
            ST_TRY(take_byte(place, *next.piece.bytes, !begun && !*bad, out));
            continue;
        }
        ST_TRY(end_run(rules, place, out));
        place->broken = 0;
        ST_TRY(st_bytes_append(out, next.before.bytes, next.before.n));
        ST_TRY(st_bytes_append(out, next.piece.bytes, next.piece.n));
    }
    return ST_OK;
}

/* ---- plain bytes ---- */

static const uint8_t nothing[1];

/* Appends the text of bytes behind those that were cut; holds a character that is not whole. */
static st_status add_text(st_rule_place *place, const st_bytes *bytes, int final, st_bytes *out)
{
    st_text_stage stage = {.errors = ST_ERRORS_REPLACE, .partial_size = place->cut_size};
    st_segments s;
    st_text_error error;
    memcpy(stage.partial, place->cut, sizeof place->cut);
    st_status status = st_text_stage_take(&stage, bytes->size ? bytes->data : nothing, bytes->size, 0, final, &s, &error);
    if (!status)
        status = st_bytes_append(out, s.joined, s.joined_size);
    if (!status)
        status = st_bytes_append(out, s.text, s.n);
    if (!status) {
        memcpy(place->cut, s.partial, sizeof place->cut);
        place->cut_size = s.partial_size;
    }
    st_text_stage_free(&stage);
    return status;
}

static st_status join(const st_rules *rules, st_rule_place *place, const uint32_t *ids, size_t count, st_bytes *bytes, size_t *bad)
{
    next_piece next;
    for (*bad = 0; *bad < count; ++*bad) {
        ST_TRY(take_next(rules, place, st_read_once(ids + *bad), &next));
        ST_TRY(st_bytes_append(bytes, next.before.bytes, next.before.n));
        ST_TRY(st_bytes_append(bytes, next.piece.bytes, next.piece.n));
    }
    return ST_OK;
}

/* What the last token has at the end of a text. */
static st_status add_tail(const st_rules *rules, const st_rule_place *place, st_bytes *bytes)
{
    if (!place->begun || !(rules->flags & ST_RULES_ENDED))
        return ST_OK;
    const st_span last = tail_of(rules, place->last).last;
    return st_bytes_append(bytes, last.bytes, last.n);
}

static st_status feed_plain(const st_rules *rules, st_rule_place *place, const uint32_t *ids, size_t count, st_bytes *out, size_t *bad)
{
    st_bytes bytes = {0};
    st_status status = join(rules, place, ids, count, &bytes, bad);
    if (!status && bytes.size)
        status = add_text(place, &bytes, 0, out);
    st_bytes_free(&bytes);
    return status;
}

/* ---- the beginning, and calls ---- */

/* Takes what goes from the beginning of the text out of out->data[from..size). */
static void without_front(const st_rules *rules, st_rule_place *place, st_bytes *out, size_t from)
{
    const st_span cut = rules->cut;
    size_t at = from;
    while (place->left && at < out->size) {
        if (!cut.n || out->size - at < cut.n || memcmp(out->data + at, cut.bytes, cut.n)) {
            place->left = 0;
            break;
        }
        at += cut.n;
        place->left--;
    }
    if (at > from) {
        memmove(out->data + from, out->data + at, out->size - at);
        out->size -= at - from;
    }
}

/* Puts back what a call has changed that failed; where it did not, forgets runs that have ended. */
static st_status settle(st_status status, st_rule_place *place, const st_rule_place *before, st_bytes *out, size_t size)
{
    if (status) {
        const st_bytes run = {place->run.data, before->run.size, place->run.capacity};
        *place = *before;
        place->run = run;
        out->size = size;
        return status;
    }
    st_bytes_drop(&place->run, place->start);
    place->start = 0;
    return ST_OK;
}

st_status st_rules_feed(const st_rules *rules, st_rule_place *place, const uint32_t *ids, size_t count, st_bytes *out, size_t *bad)
{
    const st_rule_place before = *place;
    const size_t size = out->size;
    const st_status status = rules->flags & ST_RULES_RUNS ? feed_runs(rules, place, ids, count, out, bad)
                                                          : feed_plain(rules, place, ids, count, out, bad);
    if (!status)
        without_front(rules, place, out, size);
    return settle(status, place, &before, out, size);
}

st_status st_rules_end(const st_rules *rules, st_rule_place *place, st_bytes *out)
{
    const st_rule_place before = *place;
    const size_t size = out->size;
    st_bytes tail = {0};
    st_status status = ST_OK;
    if (rules->flags & ST_RULES_RUNS) {
        status = end_run(rules, place, out);
    } else {
        status = add_tail(rules, place, &tail);
        if (!status)
            status = add_text(place, &tail, 1, out);
        st_bytes_free(&tail);
    }
    if (!status)
        without_front(rules, place, out, size);
    ST_TRY(settle(status, place, &before, out, size));
    st_rule_place_reset(place, rules);
    return ST_OK;
}

st_status st_rules_bytes(const st_rules *rules, st_rule_place *place, const uint32_t *ids, size_t count, int how, st_bytes *out,
                         size_t *bad)
{
    const st_rule_place before = *place;
    const size_t size = out->size;
    st_status status = join(rules, place, ids, count, out, bad);
    if (!status && how & ST_RULES_LAST)
        status = add_tail(rules, place, out);
    if (!status && !(how & ST_RULES_FRONT_STAYS))
        without_front(rules, place, out, size);
    return settle(status, place, &before, out, size);
}
