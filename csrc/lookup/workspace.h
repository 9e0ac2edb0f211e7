/* What an encoder needs only while it runs: the cache of pieces, and the model's scratch. Each vocabulary has a
 * pool of workspaces. A call borrows one, so ten thousand idle streams hold none, and a short call gets a warm one. Its size is
 * fixed: nothing here grows with the input. */
#ifndef ST_LOOKUP_WORKSPACE_H
#define ST_LOOKUP_WORKSPACE_H

#include "cut/cut_account.h"
#include "lookup/round.h"
#include "lookup/wide_cache.h"
#include "vocab/vocab.h"

/* 2^16 entries of one cache line each: 4 MB. Compared with 2^14, multilingual text is 6 to 10 % faster and the first call of a
 * process about a millisecond slower (docs/stages.md). */
#define ST_CACHE_BITS 16
#define ST_CACHED_BYTES 28
#define ST_CACHED_IDS 8
#define ST_CACHED_WIDE 255 /* as the number of ids: look in the wide cache, which may have dropped them */

/* The ids of one piece that is no token, or of an atom: always the result of merging. */
typedef struct st_cache_entry {
    uint8_t length; /* 0 = free */
    uint8_t count;
    uint16_t tag; /* further bits of the hash, so that most misses end without a comparison of bytes */
    uint8_t bytes[ST_CACHED_BYTES];
    uint32_t ids[ST_CACHED_IDS];
} st_cache_entry;

/* Pieces of a batch. They are looked up together, so that the tables' cache lines arrive while other keys are computed, and so
 * that there are enough misses to merge side by side. */
#define ST_BATCH 2048

/* The cache, the hot table and the first fields of the spans are aligned to cache lines. */
typedef struct st_workspace {
    st_attached attached;
    void *block;           /* in which it lies, */
    void *scratch;         /* with that of the model, */
    const st_model *model; /* which is this */
    uint8_t padding[64 - sizeof(st_attached) - 3 * sizeof(void *)]; /* so that an entry of the cache is one line */
    st_cache_entry cache[1u << ST_CACHE_BITS];
    st_wide_cache wide;
    st_hot hot;
    st_spans spans;
    uint64_t ends[ST_BATCH + 4], starts[ST_BATCH + 4]; /* of pieces; starts where some text is dropped */
    st_cut_account cutting; /* whether it pays */
    st_word words[ST_SPANS]; /* those to be encoded */
} st_workspace;

/* A workspace for the calling thread, with the cache that its last user left; NULL when memory is short. */
st_workspace *st_workspace_borrow(st_vocab *vocab);
void st_workspace_return(st_vocab *vocab, st_workspace *workspace);

#endif
