/* dfa_steps.h - runs a table (dfa.h) from character to character; one source for the CPU and the GPU. */
#ifndef ST_SPLIT_DFA_STEPS_H
#define ST_SPLIT_DFA_STEPS_H

#include "split/dfa_class.h"

/* A feed under way. Offsets count from the start of the piece that was open at the call. */
typedef struct st_dfa_run {
    const st_dfa *dfa;
    const uint8_t *text;
    size_t n, at;
    uint64_t origin; /* the offset of text[0] */
    uint64_t back;   /* the offset of the character before text[at] */
    uint32_t row;    /* of the state */
    uint64_t *ends, *to;
    const uint64_t *full; /* a step may write ends up to here */
    uint64_t from[ST_FROM_COUNT]; /* the marks, and room for the two others */
} st_dfa_run;

ST_INLINE uint64_t st_dfa_open_start(const st_dfa_run *p)
{
    return p->to > p->ends ? p->to[-1] & ~ST_DROPPED : 0;
}

/* A step that is more than two flags. An end that a wrong table gives outside of the open piece is left out. */
ST_INLINE void st_dfa_step_with_effect(st_dfa_run *p, size_t entry, uint64_t here)
{
    const st_dfa *dfa = p->dfa;
    const st_dfa_effect *e = &dfa->effects[dfa->effect_of[entry]];
    uint64_t next[ST_SCAN_MARKS], start = st_dfa_open_start(p);
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
    for (unsigned a = 0; a < dfa->mark_count; a++)
        p->from[a] = next[a];
}

/* Steps from character to character, up to text[limit] or until there is no room. Ends are written without a branch, and count if
 * the flag is set. */
ST_FORCE_INLINE void st_dfa_run_plain(st_dfa_run *p, size_t limit, int drops)
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
            st_dfa_step_with_effect(p, place, here);
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

/* Sets all but `text` and `n`. */
ST_INLINE void st_dfa_resume(st_dfa_run *p, const st_dfa *dfa, const st_scan *scan, uint64_t *ends, size_t capacity)
{
    p->dfa = dfa;
    p->at = 0;
    p->origin = scan->length;
    p->back = scan->length - scan->memo;
    p->row = scan->state * dfa->classes;
    p->ends = p->to = ends;
    p->full = ends + capacity - ST_SCAN_MIN_CAPACITY;
    for (unsigned a = 0; a < ST_SCAN_MARKS; a++)
        p->from[a] = scan->marks[a];
}

/* A piece that nothing can move any more ends. A mark that nothing reads any more is 0, so that equal states are equal byte for byte. */
ST_INLINE void st_dfa_suspend(st_dfa_run *p, st_scan *scan)
{
    const uint64_t here = p->origin + p->at;
    uint32_t state = p->row / p->dfa->classes;
    if (p->dfa->about[state].closed) {
        *p->to++ = here | (p->dfa->about[state].dropped ? ST_DROPPED : 0);
        state = 0;
    }
    const uint64_t start = st_dfa_open_start(p);
    const uint32_t live = p->dfa->about[state].live;
    scan->length = here - start;
    scan->state = state;
    scan->memo = scan->length ? (uint32_t)(here - p->back) : 0;
    for (unsigned a = 0; a < p->dfa->mark_count; a++)
        scan->marks[a] = live >> a & 1 && p->from[a] > start ? p->from[a] - start : 0;
}

/* Writes the ends of the open text where the text ends; returns how many. */
ST_INLINE size_t st_dfa_last_ends(const st_dfa *dfa, const st_scan *scan, uint64_t *ends)
{
    const uint32_t entry = dfa->entries[scan->state * dfa->classes];
    const uint64_t dropped = entry & ST_DFA_DROP ? ST_DROPPED : 0;
    uint64_t *to = ends;
    if (entry & ST_DFA_SLOW) {
        st_dfa_run p;
        st_dfa_resume(&p, dfa, scan, ends, ST_SCAN_MIN_CAPACITY);
        st_dfa_step_with_effect(&p, p.row, scan->length);
        return (size_t)(p.to - ends);
    }
    if (entry & ST_DFA_BACK)
        *to++ = (scan->length - scan->memo) | dropped;
    if (entry & ST_DFA_EMIT)
        *to++ = scan->length | dropped;
    return (size_t)(to - ends);
}

/* st_scan_sure (scan.h). */
ST_INLINE uint64_t st_dfa_sure_bytes(const st_dfa *dfa, const st_scan *scan)
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

#endif
