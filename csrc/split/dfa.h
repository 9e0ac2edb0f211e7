/* dfa.h - splits by the table of a compiled pattern (streamtok/patterns/compiled.py), which reads each character once.
 *
 * For a state and the class of the next character, an entry of the table says which state comes next and where pieces end: in front
 * of this character ("here"), in front of the one before it ("back"), or at a mark, a register that holds an offset.
 *
 * A table comes from outside. st_dfa_new refuses what is no table, and derives from the entries alone what the text behind depends
 * on: which marks are read again, how much of the open piece is sure, where a text may be cut. So a table that is wrong gives wrong
 * pieces, and nothing else: pieces are never empty, lie side by side, and cover the text.
 *
 * Thread rule: a st_dfa never changes, any number of threads may read it. */
#ifndef ST_SPLIT_DFA_H
#define ST_SPLIT_DFA_H

#include "base/status.h"
#include "split/pattern.h"

/* The table of a CompiledPattern; numbers of several bytes are little-endian. */
typedef struct st_dfa_table {
    uint32_t classes, states;
    const uint8_t *index;  /* 2 * 0x110000 / 128 bytes */
    const uint8_t *blocks; /* block_count * 128 bytes */
    size_t block_count;
    const uint8_t *entries; /* 4 * states * classes bytes */
    const uint8_t *ops;     /* 2 * op_count bytes */
    size_t op_count;
} st_dfa_table;

/* ST_BAD_TABLE: it is no table. The table is copied. */
st_status st_dfa_new(const st_dfa_table *table, st_dfa **dfa);
void st_dfa_free(st_dfa *dfa);

/* The table of r50k, cl100k or o200k, which need not be compiled. ST_BAD_TABLE: the family is none of these. */
st_status st_dfa_of_row(st_split_family family, st_dfa **dfa);

/* As st_scan_feed, ... of scan.h. */
size_t st_dfa_feed(const st_dfa *dfa, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed, uint64_t *ends,
                   size_t capacity);
size_t st_dfa_finish(const st_dfa *dfa, st_scan *scan, uint64_t *ends);
uint64_t st_dfa_sure(const st_dfa *dfa, const st_scan *scan);
int st_dfa_valid(const st_dfa *dfa, const st_scan *scan);

/* Whether a scan that st_dfa_valid took can have come to its state by reading text[0..n): all of the open piece but its first `taken`
 * bytes. */
int st_dfa_can_follow(const st_dfa *dfa, const st_scan *scan, uint64_t taken, const uint8_t *text, size_t n);
size_t st_dfa_last_sync_point(const st_dfa *dfa, const uint8_t *text, size_t n);

/* Writes the table as the GPU reads it (dfa_steps.h) if the bytes lie at `address`, a multiple of 64, in its memory. Returns how many
 * bytes that are. to: NULL: only that. */
size_t st_dfa_image(const st_dfa *dfa, uint64_t address, uint8_t *to);

/* Whether the open piece is one that is dropped, whatever follows. */
int st_dfa_open_is_dropped(const st_dfa *dfa, const st_scan *scan);

#endif
