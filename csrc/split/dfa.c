/* Runs the table of a compiled pattern. */
#include "split/dfa.h"

#include "split/dfa_hot.h"
#include "split/dfa_steps.h"

#include <string.h>

static void run_to(st_dfa_run *p, size_t limit)
{
    if (p->dfa->drops)
        st_dfa_run_plain(p, limit, 1);
    else
        st_dfa_run_plain(p, limit, 0);
}

/* Makes steps in a register; returns how many bytes they read. */
static size_t run_hot(st_dfa_run *p, st_dfa_hot_function *hot, const uint64_t *full)
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

static void run_all(st_dfa_run *p, st_dfa_hot_function *hot, size_t capacity)
{
    const uint64_t *const full = p->ends + capacity - ST_HOT_ROOM;
    while (p->n - p->at >= ST_HOT_BYTES && p->to <= full) {
        const size_t used = run_hot(p, hot, full);
        const size_t left = p->n - p->at, plain = used < SOON ? DETOUR : 1;
        run_to(p, p->at + (left < plain ? left : plain));
    }
}

size_t st_dfa_feed(const st_dfa *dfa, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed, uint64_t *ends,
                   size_t capacity)
{
    st_dfa_run p;
    *consumed = 0;
    if (capacity < ST_SCAN_MIN_CAPACITY || n == 0)
        return 0;
    st_dfa_resume(&p, dfa, scan, ends, capacity);
    p.text = text;
    p.n = n;
    st_dfa_hot_function *const hot = st_dfa_hot();
    if (n >= ST_HOT_BYTES && capacity >= 2 * ST_HOT_ROOM && hot)
        run_all(&p, hot, capacity);
    if (n - p.at < ST_HOT_BYTES || p.at == 0)
        run_to(&p, n);
    st_dfa_suspend(&p, scan);
    *consumed = p.at;
    return (size_t)(p.to - ends);
}

size_t st_dfa_finish(const st_dfa *dfa, st_scan *scan, uint64_t *ends)
{
    const size_t count = st_dfa_last_ends(dfa, scan, ends);
    memset(scan, 0, sizeof *scan);
    return count;
}

/* ---- functions of a state alone ---- */

uint64_t st_dfa_sure(const st_dfa *dfa, const st_scan *scan)
{
    return st_dfa_sure_bytes(dfa, scan);
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
