/* Runs the table of a compiled pattern. */
#include "split/dfa.h"

#include "split/dfa_class.h"
#include "split/dfa_hot.h"

#include <string.h>

/* A feed under way. Offsets count from the start of the piece that was open at the call. */
typedef struct progress {
    const st_dfa *dfa;
    const uint8_t *text;
    size_t n, at;
    uint64_t origin; /* the offset of text[0] */
    uint64_t back;   /* the offset of the character before text[at] */
    uint32_t row;    /* of the state */
    uint64_t *ends, *to;
    const uint64_t *full; /* a step may write ends up to here */
    uint64_t from[ST_FROM_COUNT]; /* the marks, and room for the two others */
} progress;

static uint64_t open_start(const progress *p)
{
    return p->to > p->ends ? p->to[-1] & ~ST_DROPPED : 0;
}

/* A step that is more than two flags. An end that a wrong table gives outside of the open piece is left out. */
static void step_with_effect(progress *p, size_t entry, uint64_t here)
{
    const st_dfa *dfa = p->dfa;
    const st_dfa_effect *e = &dfa->effects[dfa->effect_of[entry]];
    uint64_t next[ST_SCAN_MARKS], start = open_start(p);
    p->from[ST_FROM_BACK] = p->back;
    p->from[ST_FROM_HERE] = here;
    for (unsigned k = 0; k < e->end_count; k++) {
        const uint64_t end = p->from[e->ends[k] & ~ST_END_DROPS];
        if (end <= start || end > here)
            continue;
        *p->to++ = end | (e->ends[k] & ST_END_DROPS ? ST_DROPPED : 0);
        start = end;
    }
    for (unsigned a = 0; a < dfa->mark_count; a++)
        next[a] = p->from[e->marks[a]];
    memcpy(p->from, next, dfa->mark_count * sizeof *next);
}

/* Steps from character to character, up to text[limit] or until there is no room. Ends are written without a branch, and count if
 * the flag is set. */
ST_FORCE_INLINE void run_plain(progress *p, size_t limit, int drops)
{
    const st_dfa *const dfa = p->dfa;
    const uint8_t *const text = p->text;
    const uint32_t *const entries = dfa->entries;
    uint64_t *to = p->to, back = p->back;
    uint32_t row = p->row;
    size_t at = p->at;
    unsigned size;
    for (; at < limit && to <= p->full; at += size) {
        const uint64_t here = p->origin + at;
        const size_t place = row + (size_t)st_dfa_class_at(dfa, text + at, &size);
        const uint32_t entry = entries[place];
        if (entry & ST_DFA_SLOW) {
            p->to = to;
            p->back = back;
            step_with_effect(p, place, here);
            to = p->to;
        } else {
            const uint64_t dropped = drops ? (uint64_t)(entry & ST_DFA_DROP) << (63 - 28) : 0;
            *to = back | dropped;
            to += entry >> 30 & 1;
            *to = here | dropped;
            to += entry >> 31;
        }
        row = entry & ST_DFA_ROW;
        back = here;
    }
    p->to = to;
    p->back = back;
    p->row = row;
    p->at = at;
}

static void run_to(progress *p, size_t limit)
{
    if (p->dfa->drops)
        run_plain(p, limit, 1);
    else
        run_plain(p, limit, 0);
}

/* Makes steps in a register; returns how many bytes they read. */
static size_t run_hot(progress *p, st_dfa_hot_function *hot, const uint64_t *full)
{
    const unsigned state = p->dfa->hot_of[p->row];
    if (state == ST_DFA_HOT)
        return 0;
    st_dfa_place place = {p->text + p->at, p->text + p->n, state, p->origin + p->at, p->back, p->to, full};
    hot(p->dfa, &place);
    const size_t used = (size_t)(place.at - p->text) - p->at;
    p->at += used;
    p->to = place.to;
    p->back = place.back;
    p->row = p->dfa->hot_rows[place.state];
    return used;
}

/* After fewer bytes than this in a register, so many are read by plain steps before it is tried again: hostile text would stop it
 * every few bytes. */
#define SOON 6
#define DETOUR 16

static void run_all(progress *p, st_dfa_hot_function *hot, size_t capacity)
{
    const uint64_t *const full = p->ends + capacity - ST_HOT_ROOM;
    while (p->n - p->at >= ST_HOT_BYTES && p->to <= full) {
        const size_t used = run_hot(p, hot, full);
        const size_t left = p->n - p->at, plain = used < SOON ? DETOUR : 1;
        run_to(p, p->at + (left < plain ? left : plain));
    }
}

static void begin(progress *p, const st_dfa *dfa, const st_scan *scan, uint64_t *ends, size_t capacity)
{
    p->dfa = dfa;
    p->at = 0;
    p->origin = scan->length;
    p->back = scan->length - scan->memo;
    p->row = scan->state * dfa->classes;
    p->ends = p->to = ends;
    p->full = ends + capacity - ST_SCAN_MIN_CAPACITY;
    memcpy(p->from, scan->marks, sizeof scan->marks);
}

/* A mark that nothing reads any more is 0, so that equal states are equal byte for byte. */
static void suspend(const progress *p, st_scan *scan)
{
    const uint64_t start = open_start(p), here = p->origin + p->at;
    const uint32_t state = p->row / p->dfa->classes, live = p->dfa->about[state].live;
    scan->length = here - start;
    scan->point = 0;
    scan->state = state;
    scan->memo = scan->length ? (uint32_t)(here - p->back) : 0;
    for (unsigned a = 0; a < p->dfa->mark_count; a++)
        scan->marks[a] = live >> a & 1 && p->from[a] > start ? p->from[a] - start : 0;
}

size_t st_dfa_feed(const st_dfa *dfa, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed, uint64_t *ends,
                   size_t capacity)
{
    progress p;
    *consumed = 0;
    if (capacity < ST_SCAN_MIN_CAPACITY || n == 0)
        return 0;
    begin(&p, dfa, scan, ends, capacity);
    p.text = text;
    p.n = n;
    st_dfa_hot_function *const hot = st_dfa_hot();
    if (n >= ST_HOT_BYTES && capacity >= 2 * ST_HOT_ROOM && hot)
        run_all(&p, hot, capacity);
    if (n - p.at < ST_HOT_BYTES || p.at == 0)
        run_to(&p, n);
    suspend(&p, scan);
    *consumed = p.at;
    return (size_t)(p.to - ends);
}

size_t st_dfa_finish(const st_dfa *dfa, st_scan *scan, uint64_t *ends)
{
    progress p;
    begin(&p, dfa, scan, ends, ST_SCAN_MIN_CAPACITY);
    const uint32_t entry = dfa->entries[p.row];
    if (entry & ST_DFA_SLOW) {
        step_with_effect(&p, p.row, scan->length);
    } else {
        const uint64_t dropped = entry & ST_DFA_DROP ? ST_DROPPED : 0;
        if (entry & ST_DFA_BACK)
            *p.to++ = p.back | dropped;
        if (entry & ST_DFA_EMIT)
            *p.to++ = scan->length | dropped;
    }
    memset(scan, 0, sizeof *scan);
    return (size_t)(p.to - ends);
}

/* ---- functions of a state alone ---- */

uint64_t st_dfa_sure(const st_dfa *dfa, const st_scan *scan)
{
    const st_dfa_state *about = &dfa->about[scan->state];
    uint64_t sure = about->firsts >> ST_FROM_BACK & 1 ? scan->length - scan->memo : scan->length;
    if (about->kept && about->dropped)
        return 0;
    for (unsigned a = 0; a < dfa->mark_count; a++)
        if (about->firsts >> a & 1 && scan->marks[a] < sure)
            sure = scan->marks[a];
    return sure;
}

int st_dfa_open_is_dropped(const st_dfa *dfa, const st_scan *scan)
{
    return dfa->about[scan->state].dropped && !dfa->about[scan->state].kept;
}

int st_dfa_valid(const st_dfa *dfa, const st_scan *scan)
{
    if (scan->state >= dfa->states || scan->point || (scan->state == 0) != (scan->length == 0))
        return 0;
    const st_dfa_state *about = &dfa->about[scan->state];
    if (scan->length ? scan->memo < 1 || scan->memo > 4 || scan->memo > scan->length : scan->memo != 0)
        return 0;
    if (about->open == 2 && scan->memo == scan->length)
        return 0;
    for (unsigned a = 0; a < ST_SCAN_MARKS; a++)
        if (scan->marks[a] > (about->live >> a & 1 ? scan->length : 0))
            return 0;
    return 1;
}

size_t st_dfa_last_sync_point(const st_dfa *dfa, const uint8_t *text, size_t n)
{
    unsigned size, y = 0;
    for (size_t at = n, before; at > 0; at = before) {
        before = at - st_utf8_size_before(text, at);
        const unsigned x = st_dfa_class_at(dfa, text + before, &size);
        if (at < n && dfa->sync[(size_t)x * (ST_DFA_CLASSES / 64) + y / 64] >> y % 64 & 1)
            return at;
        y = x;
    }
    return 0;
}
