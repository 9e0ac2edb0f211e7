/* Works out what follows from the entries of a compiled pattern's table. Nothing of this is taken from outside, so that a table that
 * is wrong cannot make the text behind it be read wrongly. */
#include "base/alloc.h"
#include "split/dfa_build.h"

#include <string.h>

#define MARKS ((1u << ST_SCAN_MARKS) - 1)

/* ---- how many characters are open ---- */

/* One, if the state is reached from the start or behind an end that lies here; else two at least, because every step reads one. An
 * end that lies back, or at a mark, leaves the character before and this one. */
static void find_open(st_dfa *dfa)
{
    for (uint32_t s = 1; s < dfa->states; s++)
        dfa->about[s].open = 2;
    for (size_t at = 0; at < (size_t)dfa->states * dfa->classes; at++) {
        const uint32_t next = st_dfa_next_at(dfa, at);
        const st_dfa_effect e = st_dfa_effect_at(dfa, at);
        unsigned here = 0;
        for (unsigned k = 0; k < e.end_count; k++)
            here |= (e.ends[k] & ~ST_END_DROPS) == ST_FROM_HERE;
        if (next && (at < dfa->classes || here))
            dfa->about[next].open = 1;
    }
}

/* Ends by flags are written without a test, so they have to lie behind the start of the open piece. The end of the text has to end
 * the open piece. */
static int ends_fit(const st_dfa *dfa)
{
    for (size_t at = 0; at < (size_t)dfa->states * dfa->classes; at++) {
        const uint32_t state = (uint32_t)(at / dfa->classes);
        const st_dfa_effect e = st_dfa_effect_at(dfa, at);
        if (state == 0 && e.end_count)
            return 0;
        if (dfa->entries[at] & ST_DFA_BACK && dfa->about[state].open < 2)
            return 0;
        if (state && at % dfa->classes == 0 && (!e.end_count || (e.ends[e.end_count - 1] & ~ST_END_DROPS) != ST_FROM_HERE))
            return 0;
    }
    return 1;
}

/* ---- facts that flow backwards: a state has those of the states that it can reach ---- */

typedef struct facts {
    uint32_t firsts, live;
    unsigned kept, dropped;
} facts;

/* The facts that one entry of a state gives it; `next` is the entry's next state. */
static facts facts_through(const st_dfa *dfa, size_t at, const st_dfa_state *next)
{
    const st_dfa_effect e = st_dfa_effect_at(dfa, at);
    facts f = {0, 0, 0, 0};
    for (unsigned k = 0; k < e.end_count; k++)
        f.live |= 1u << (e.ends[k] & ~ST_END_DROPS) & MARKS;
    for (unsigned a = 0; a < ST_SCAN_MARKS; a++)
        if (next->live >> a & 1)
            f.live |= 1u << e.marks[a] & MARKS;
    if (e.end_count) {
        f.firsts = 1u << (e.ends[0] & ~ST_END_DROPS);
        f.dropped = e.ends[0] & ST_END_DROPS ? 1 : 0;
        f.kept = !f.dropped;
        return f;
    }
    for (unsigned a = 0; a < ST_SCAN_MARKS; a++)
        if (next->firsts >> a & 1)
            f.firsts |= 1u << e.marks[a];
    if (next->firsts >> ST_FROM_BACK)
        f.firsts |= 1u << ST_FROM_HERE; /* what is back for the next state is here for this step */
    f.kept = next->kept;
    f.dropped = next->dropped;
    return f;
}

/* Adds them; returns whether that changed the state. */
static int add_facts(st_dfa_state *state, facts f)
{
    const st_dfa_state old = *state;
    state->firsts |= (uint16_t)f.firsts;
    state->live |= (uint16_t)f.live;
    state->kept |= (uint8_t)f.kept;
    state->dropped |= (uint8_t)f.dropped;
    return old.firsts != state->firsts || old.live != state->live || old.kept != state->kept || old.dropped != state->dropped;
}

/* States whose facts have changed wait in `queue`, each once; `into` lists the entries that lead to each. */
typedef struct search {
    uint32_t *first, *into, *queue; /* first: [states + 1]; into: [states * classes]; queue: [states] */
    uint8_t *waits;                 /* [states] */
    size_t taken, count;            /* of the queue, a ring */
} search;

static void enqueue(const st_dfa *dfa, search *s, uint32_t state)
{
    if (s->waits[state])
        return;
    s->waits[state] = 1;
    s->queue[(s->taken + s->count++) % dfa->states] = state;
}

static void list_entries(const st_dfa *dfa, search *s)
{
    const size_t entries = (size_t)dfa->states * dfa->classes;
    for (size_t at = 0; at < entries; at++)
        s->first[st_dfa_next_at(dfa, at)]++;
    for (uint32_t state = 0, sum = 0; state <= dfa->states; state++) {
        sum += state < dfa->states ? s->first[state] : 0;
        s->first[state] = sum; /* where they end; filled from there down */
    }
    for (size_t at = 0; at < entries; at++)
        s->into[--s->first[st_dfa_next_at(dfa, at)]] = (uint32_t)at;
}

/* A state waits again only when one of its 28 facts is new, so this ends soon. */
static void run_search(st_dfa *dfa, search *s)
{
    const st_dfa_state nothing = {0};
    for (size_t at = 0; at < (size_t)dfa->states * dfa->classes; at++)
        if (add_facts(&dfa->about[at / dfa->classes], facts_through(dfa, at, &nothing)))
            enqueue(dfa, s, (uint32_t)(at / dfa->classes));
    while (s->count) {
        const uint32_t state = s->queue[s->taken];
        s->taken = (s->taken + 1) % dfa->states;
        s->count--;
        s->waits[state] = 0;
        for (uint32_t i = s->first[state]; state && i < s->first[state + 1]; i++) {
            const uint32_t from = s->into[i] / dfa->classes;
            if (add_facts(&dfa->about[from], facts_through(dfa, s->into[i], &dfa->about[state])))
                enqueue(dfa, s, from);
        }
    }
}

static st_status search_facts(st_dfa *dfa)
{
    const size_t entries = (size_t)dfa->states * dfa->classes;
    search s = {0};
    s.first = st_calloc(dfa->states + 1, sizeof *s.first);
    s.into = st_malloc(entries * sizeof *s.into);
    s.queue = st_malloc(dfa->states * sizeof *s.queue);
    s.waits = st_calloc(dfa->states, 1);
    const int enough = s.first && s.into && s.queue && s.waits;
    if (enough) {
        list_entries(dfa, &s);
        run_search(dfa, &s);
    }
    st_free(s.first);
    st_free(s.into);
    st_free(s.queue);
    st_free(s.waits);
    return enough ? ST_OK : ST_NO_MEMORY;
}

/* ---- sync points ---- */

/* Whether, in `state`, a piece ends in front of class y, and the text goes on as if it began there: the ends are those that the end
 * of the text gives, the last one lies here, and the next state and its marks are those behind the start. */
static int starts_anew(const st_dfa *dfa, uint32_t state, uint32_t y)
{
    const size_t row = (size_t)state * dfa->classes;
    const uint32_t next = st_dfa_next_at(dfa, row + y);
    if (next != st_dfa_next_at(dfa, y))
        return 0;
    const st_dfa_effect here = st_dfa_effect_at(dfa, row + y), at_end = st_dfa_effect_at(dfa, row), first = st_dfa_effect_at(dfa, y);
    if (!here.end_count || here.end_count != at_end.end_count ||
        memcmp(here.ends, at_end.ends, here.end_count) != 0 ||
        (here.ends[here.end_count - 1] & ~ST_END_DROPS) != ST_FROM_HERE)
        return 0;
    for (unsigned a = 0; a < ST_SCAN_MARKS; a++)
        if (dfa->about[next].live >> a & 1 && (here.marks[a] != ST_FROM_HERE || first.marks[a] != ST_FROM_HERE))
            return 0;
    return 1;
}

#define WORDS (ST_DFA_CLASSES / 64)

/* The row of class x holds what all states behind x have in common. Finds which states are closed, too. */
static st_status find_sync(st_dfa *dfa)
{
    uint64_t *behind = st_calloc((size_t)dfa->states * WORDS, sizeof *behind); /* [states]: the classes that lead to a state */
    if (!behind)
        return ST_NO_MEMORY;
    for (size_t at = 0; at < (size_t)dfa->states * dfa->classes; at++)
        behind[(size_t)st_dfa_next_at(dfa, at) * WORDS + at % dfa->classes / 64] |= (uint64_t)1 << at % dfa->classes % 64;
    memset(dfa->sync, 0xFF, (size_t)dfa->classes * WORDS * sizeof *dfa->sync);
    memset(dfa->sync, 0, WORDS * sizeof *dfa->sync);
    for (uint32_t state = 1; state < dfa->states; state++) {
        uint64_t anew[WORDS] = {0};
        uint32_t count = 0;
        for (uint32_t y = 1; y < dfa->classes; y++) {
            const int yes = starts_anew(dfa, state, y);
            anew[y / 64] |= (uint64_t)yes << y % 64;
            count += (uint32_t)yes;
        }
        dfa->about[state].closed = count == dfa->classes - 1 && st_dfa_effect_at(dfa, (size_t)state * dfa->classes).end_count == 1;
        for (uint32_t x = 1; x < dfa->classes; x++)
            for (unsigned w = 0; behind[(size_t)state * WORDS + x / 64] >> x % 64 & 1 && w < WORDS; w++)
                dfa->sync[(size_t)x * WORDS + w] &= anew[w];
    }
    st_free(behind);
    return ST_OK;
}

st_status st_dfa_find_facts(st_dfa *dfa)
{
    find_open(dfa);
    if (!ends_fit(dfa))
        return ST_BAD_TABLE;
    ST_TRY(search_facts(dfa));
    if (dfa->about[0].live) /* a mark would be read that was never set */
        return ST_BAD_TABLE;
    return find_sync(dfa);
}
