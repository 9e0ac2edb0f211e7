/* Runs the table of a compiled pattern. */
#include "split/dfa.h"

#include "base/tier.h"
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

/* After fewer bytes than this in a register, so many are read by plain steps before it is tried again: hostile text would stop it
 * every few bytes. */
#define SOON 6
#define DETOUR 16

static void run_all(st_dfa_run *p, void (*hot)(st_dfa_run *run))
{
    while (p->n - p->at >= ST_HOT_LEAST && p->to <= p->full - (ST_HOT_ROOM - ST_SCAN_MIN_CAPACITY)) {
        const size_t from = p->at;
        hot(p);
        const size_t left = p->n - p->at, plain = p->at - from < SOON ? DETOUR : 1;
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
    if (n >= ST_HOT_LEAST && capacity >= 2 * ST_HOT_ROOM && st_tier()->dfa_hot)
        run_all(&p, st_tier()->dfa_hot);
    if (n - p.at < ST_HOT_LEAST || p.at == 0)
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
    if (scan->state >= dfa->states || dfa->about[scan->state].closed || (scan->state == 0) != (scan->length == 0))
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

/* Whether the text leads from `state` to the scan. What was open before the text has one of two lengths: if `taken` is not 0, that
 * many bytes and `ended`, and if anything ends, then the last piece does where these `taken` bytes begin; else any, and the last
 * piece that ends does so where the text begins. Marks in what was open are not known: they are put at its first bytes, or where a
 * piece is to end. So is the size of the last character, where it alone was taken. */
static int leads_to(const st_dfa *dfa, uint32_t state, const st_scan *scan, uint64_t taken, uint64_t ended, const uint8_t *text,
                    size_t n)
{
    const uint64_t before = taken ? taken + ended : state ? 16 : 0;
    st_scan s = {.length = before, .state = state, .memo = !before ? 0 : ended && taken <= 4 ? (uint32_t)taken : 1};
    uint64_t ends[64], start = 0;
    for (unsigned a = 0; a < dfa->mark_count; a++)
        s.marks[a] = taken ? ended : state ? 1 : 0;
    for (size_t at = 0, used; at < n; at += used) {
        const size_t count = st_dfa_feed(dfa, &s, text + at, n - at, &used, ends, sizeof ends / sizeof *ends);
        start += count ? ends[count - 1] & ~ST_DROPPED : 0;
    }
    for (unsigned a = 0; a < ST_SCAN_MARKS; a++)
        if (s.marks[a] != scan->marks[a] && (!taken || s.marks[a] || scan->marks[a] > taken))
            return 0;
    return start == (taken ? ended : before) && s.state == scan->state && s.memo == scan->memo;
}

/* More steps than this are not made: a state of a long piece in a large table is taken as it is. */
#define MOST_STEPS ((size_t)1 << 24)

int st_dfa_can_follow(const st_dfa *dfa, const st_scan *scan, uint64_t taken, const uint8_t *text, size_t n)
{
    if (n == 0 || n > MOST_STEPS / dfa->states)
        return 1;
    for (uint32_t state = taken ? 1 : 0; state < dfa->states; state++)
        if (leads_to(dfa, state, scan, taken, 0, text, n) || (taken && leads_to(dfa, state, scan, taken, 16, text, n)))
            return 1;
    return 0;
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
