/* What an encoder needs only while it runs: the cache of pieces, the memo of compatible pairs, scratch. Workspaces are
 * pooled per vocabulary and borrowed for a call, so that ten thousand idle streams hold none, and a short call finds
 * a warm one. Fixed size: nothing here grows with the input. */
#ifndef ST_LOOKUP_WORKSPACE_H
#define ST_LOOKUP_WORKSPACE_H

#include "cut/cut_account.h"
#include "endless/long_piece.h"
#include "lookup/round.h"
#include "lookup/wide_cache.h"
#include "merge/words.h"
#include "pairs/merge_reference.h"
#include "pairs/merge_short.h"
#include "vocab/vocab.h"

/* 2^16 entries of one cache line each: 4 MB. Against 2^14, multilingual text gains 6 to 10 % and the first call of a
 * process loses about a millisecond (docs/stages.md). */
#define ST_CACHE_BITS 16
#define ST_CACHED_BYTES 28
#define ST_CACHED_IDS 8
#define ST_CACHED_WIDE 255 /* in place of the number of ids: they are in the wide cache, if still there */

/* The ids of one piece that is no token, or of an atom: always the result of merging. */
typedef struct st_cache_entry {
    uint8_t length; /* 0 = free */
    uint8_t count;
    uint16_t tag; /* further bits of the hash, so that most misses end without a comparison of bytes */
    uint8_t bytes[ST_CACHED_BYTES];
    uint32_t ids[ST_CACHED_IDS];
} st_cache_entry;

/* Pieces are looked up a batch at a time, so that the tables' cache lines travel while other keys are computed, and so
 * that there are enough misses to merge side by side. */
#define ST_BATCH 2048

/* The cache, the hot table and what spans begin with lie in whole lines of memory. */
typedef struct st_workspace {
    st_attached attached;
    uint8_t padding[64 - sizeof(st_attached)]; /* so that an entry of the cache is one line */
    st_cache_entry cache[1u << ST_CACHE_BITS];
    st_wide_cache wide;
    st_hot hot;
    st_spans spans;
    st_long_scratch scratch;
    uint64_t ends[ST_BATCH + 4];
    st_cut_account cutting; /* whether it pays */
    st_word words[ST_SPANS]; /* those to be merged */
    uint32_t tokens[ST_SHORT_MERGE];
    st_long_piece long_piece; /* for pieces whose end is known */
    st_reference_scratch reference;
} st_workspace;

/* A workspace for the calling thread, its cache as warm as its last user left it; NULL when memory is short. */
st_workspace *st_workspace_borrow(st_vocab *vocab);
void st_workspace_return(st_vocab *vocab, st_workspace *workspace);

#endif
