/* clusters.h - where grapheme clusters end, by the rules of UAX #29 for extended ones. The only reader of cluster_tables.h. */
#ifndef ST_NORMAL_CLUSTERS_H
#define ST_NORMAL_CLUSTERS_H

#include "base/utf8.h"
#include "normal/cluster_tables.h"

/* Classes, in the order of tools/gen_clusters.py; the two kinds of Hangul syllables stand behind. */
enum {
    ST_CLUSTER_OTHER,
    ST_CLUSTER_CR,
    ST_CLUSTER_LF,
    ST_CLUSTER_CONTROL,
    ST_CLUSTER_EXTEND,
    ST_CLUSTER_ZWJ,
    ST_CLUSTER_REGIONAL,
    ST_CLUSTER_PREPEND,
    ST_CLUSTER_SPACING,
    ST_CLUSTER_L,
    ST_CLUSTER_V,
    ST_CLUSTER_T,
    ST_CLUSTER_PICTURE,
    ST_CLUSTER_LV,
    ST_CLUSTER_LVT
};

/* Bits beside a class: a consonant of an Indic conjunct, what links two, what may stand between. */
enum { ST_CONJUNCT_CONSONANT = 16, ST_CONJUNCT_LINKER = 32, ST_CONJUNCT_EXTENDS = 64 };

/* What is known of a cluster whose last character has the class in the low four bits: */
enum {
    ST_CLUSTER_AFTER_CONSONANT = 1 << 4, /* a consonant, and what may stand between, */
    ST_CLUSTER_AFTER_LINKER = 1 << 5,    /* with a linker among that */
    ST_CLUSTER_AFTER_PICTURE = 1 << 6,   /* a picture and extending characters, */
    ST_CLUSTER_JOINS_PICTURE = 1 << 7,   /* and a joiner behind these */
    ST_CLUSTER_ODD = 1 << 8,             /* an odd number of regional indicators */
    ST_CLUSTER_STATES = 1 << 9
};

static inline unsigned st_cluster_class(uint32_t point)
{
    if (point - 0xAC00u < 11172u)
        return (point - 0xAC00u) % 28 ? ST_CLUSTER_LVT : ST_CLUSTER_LV;
    return st_cluster_rows[(unsigned)st_cluster_middle[point >> 6] * 64 + (point & 63)];
}

/* Whether a character of that class goes on in the cluster. */
static inline int st_cluster_goes_on(unsigned state, unsigned class)
{
    const unsigned last = state & 15, next = class & 15;
    if (last == ST_CLUSTER_CR || last == ST_CLUSTER_LF || last == ST_CLUSTER_CONTROL)
        return last == ST_CLUSTER_CR && next == ST_CLUSTER_LF;
    if (next == ST_CLUSTER_CR || next == ST_CLUSTER_LF || next == ST_CLUSTER_CONTROL)
        return 0;
    if (next == ST_CLUSTER_EXTEND || next == ST_CLUSTER_ZWJ || next == ST_CLUSTER_SPACING || last == ST_CLUSTER_PREPEND)
        return 1;
    if (last == ST_CLUSTER_L)
        return next == ST_CLUSTER_L || next == ST_CLUSTER_V || next == ST_CLUSTER_LV || next == ST_CLUSTER_LVT;
    if (last == ST_CLUSTER_LV || last == ST_CLUSTER_V)
        return next == ST_CLUSTER_V || next == ST_CLUSTER_T;
    if (last == ST_CLUSTER_LVT || last == ST_CLUSTER_T)
        return next == ST_CLUSTER_T;
    if (class & ST_CONJUNCT_CONSONANT && state & ST_CLUSTER_AFTER_LINKER)
        return 1;
    return (next == ST_CLUSTER_PICTURE && state & ST_CLUSTER_JOINS_PICTURE) ||
           (next == ST_CLUSTER_REGIONAL && state & ST_CLUSTER_ODD);
}

/* The state of a cluster of that state behind a character that goes on in it; state 0: it is the first one. */
static inline unsigned st_cluster_state(unsigned state, unsigned class)
{
    const unsigned next = class & 15;
    unsigned made = next;
    if (class & ST_CONJUNCT_CONSONANT)
        made |= ST_CLUSTER_AFTER_CONSONANT;
    else if (state & ST_CLUSTER_AFTER_CONSONANT && class & (ST_CONJUNCT_LINKER | ST_CONJUNCT_EXTENDS))
        made |= ST_CLUSTER_AFTER_CONSONANT | (state & ST_CLUSTER_AFTER_LINKER) |
                (class & ST_CONJUNCT_LINKER ? ST_CLUSTER_AFTER_LINKER : 0);
    if (next == ST_CLUSTER_PICTURE || (state & ST_CLUSTER_AFTER_PICTURE && next == ST_CLUSTER_EXTEND))
        made |= ST_CLUSTER_AFTER_PICTURE;
    else if (state & ST_CLUSTER_AFTER_PICTURE && next == ST_CLUSTER_ZWJ)
        made |= ST_CLUSTER_JOINS_PICTURE;
    if (next == ST_CLUSTER_REGIONAL && !(state & ST_CLUSTER_ODD))
        made |= ST_CLUSTER_ODD;
    return made;
}

#endif
