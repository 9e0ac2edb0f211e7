/* job.h - what a launch works on: the vocabulary's tables and the arrays of one text, as they lie on the device.
 *
 * All fields are eight bytes, so that the host fills a job as an array of 64-bit numbers (streamtok/gpu/_job.py names them
 * in this order). An array is indexed by the unit that its comment names first:
 *
 *     byte      of text
 *     block     64 bytes, as in split/block.h: a word of a bit mask
 *     segment   segment_blocks blocks: what one thread splits
 *     stretch   ST_STRETCH bytes: what one warp looks up and gathers
 *     tile      ST_TILE stretches: a unit of the scan
 *
 * A text is one PASSAGE, or many: documents, and the text between special tokens. Each passage begins with a block of its own.
 * With many passages `marks` tells for each block how many bytes of text it holds and whether a passage begins with it. The rest
 * of a passage's last block is ST_PAD bytes. A block whose mark is ST_MARK_ID holds ST_ID and the four bytes of a token's id
 * instead of text. Neither ST_PAD nor ST_ID occurs in UTF-8. */
#ifndef ST_CUDA_JOB_H
#define ST_CUDA_JOB_H

#include "split/block_starts.h"
#include "split/pattern.h"
#include "cut/cut_rule.h"
#include "longest/cell.h"
#include "vocab/fragment_ids.h"
#include "vocab/piece_entry.h"
#include "special/special_tokens_node.h"

#define ST_MARK_BEGIN 0x80u /* a passage begins with this block; the low bits are the bytes of text in it */
#define ST_MARK_ID 0xFFu
#define ST_PAD 0xFEu
#define ST_ID 0xFFu

#define ST_SYNC_BLOCKS 4    /* blocks searched backwards for a sync point; a segment without one is left to resume_split.cu */
#define ST_LONGEST_GAP ((uint64_t)1 << 18) /* one thread reads it in 0.15 s, in which a core of the CPU encodes 30 MB */
#define ST_GAPS 4           /* in a segment; the last one extends to its end */

#ifndef ST_STRETCH_BLOCKS
#define ST_STRETCH_BLOCKS 16 /* fewer for short texts, so that more warps have a stretch */
#endif
#define ST_STRETCH (ST_STRETCH_BLOCKS * 64)
#define ST_STRETCH_WORDS (ST_STRETCH / 32) /* numbers of 32 bits; at most one for each lane */
#define ST_TILE 256

/* A slot holds an id, or one of these. Indices of tokens have 21 bits. */
#define ST_HOLE 0xFFFFFFFFu /* nothing: a deferred piece gave fewer tokens than it has bytes */
#define ST_HUGE 0x80000000u /* + number: a piece that the host merges; one token stands in its place */

/* Atoms to merge are listed by class, and those of one class merged side by side: fewer classes would leave more lanes waiting
 * for the longest. Atoms that fit a key are SHORT, by their characters: up to 4, 6, 8, 10, 15. The others by the symbols
 * that they begin as: up to 16, 32, 64, ST_LONGEST. */
#define ST_SHORT_CLASSES 5
#define ST_CLASSES 9
#define ST_LONGEST 512

#define ST_FORM_OF_CHARACTERS 5 /* each character stays or changes by itself; behind all st_forms */

/* Flags: why a result must not be used. */
#define ST_FLAG_LISTS 1u  /* a list had too little room */
#define ST_FLAG_UTF8 2u   /* the text is not UTF-8 */
#define ST_FLAG_FULL 4u   /* more tokens than the output has room for */
#define ST_FLAG_WORD 8u   /* a merge gave an impossible number of tokens */
#define ST_FLAG_GAP 16u   /* a gap is longer than ST_LONGEST_GAP */
#define ST_FLAG_WORK 32u  /* one walk of longest match went on for too long */
#define ST_FLAG_FORM 64u  /* the text may not be in its normal form */

typedef struct st_counts {
    uint64_t tokens; /* written to the output so far */
    uint32_t flags;
    uint32_t hard, gaps;        /* entries of `hard` and `gaps` */
    uint32_t huge;              /* entries of `huge_starts` */
    uint32_t next;              /* work items of the merge that were taken */
    uint32_t deferred[2];       /* atoms in `deferred`: those that fit a key, and the longer ones */
    uint32_t lists[ST_CLASSES]; /* atoms in each list */
    uint32_t specials;          /* names found, including those for which `found` had no room */
    uint32_t doubts;            /* blocks that may not be in their normal form, including those for which `doubts` had no room */
    uint32_t heads[3];          /* stretches of longest match that are to be walked anew (cuda/longest/mend.cu), a check each */
    uint32_t learned;           /* words learned by all calls, at the end of this slice; may exceed the capacity */
    uint32_t arrived;           /* thread blocks that have arrived at st_meet, for short texts */
    uint32_t done;              /* 0; in `report` 1 once all that a short text's launch writes can be read by the host */
} st_counts;

/* A set of names as special/special_tokens.h has it. */
typedef struct st_name_set {
    const st_special_node *nodes;
    const uint32_t *depth, *place, *name;
    const uint32_t *inner; /* NULL: no name lies inside another */
    const uint32_t *first;
    st_special_edges edges;
    uint64_t before; /* names in the sets in front of it */
} st_name_set;

typedef struct st_job {
    /* tables: short pieces and pairs hashed for one load a look-up (cuda/encode/tables.cu), and those of the vocabulary's
     * image (image/image.h) */
    const uint4 *first;
    uint64_t first_shift;
    const st_piece_entry *entries;
    uint64_t piece_shift, piece_mask;
    const uint32_t *more; /* ids of entries that have too many */
    const uint64_t *pairs;
    uint64_t pair_mask;
    const uint32_t *dense; /* [left * dense_side + right]: merged + 1 of two early tokens */
    uint64_t dense_side;
    const uint32_t *byte_tokens;
    const uint32_t *ids;
    const uint8_t *token_bytes;
    const uint32_t *token_starts;
    const uint64_t *long_tokens;
    uint64_t long_mask;
    const uint32_t *filter;    /* of the long tokens (cuda/encode/tables.cu) */
    const st_cut_tables *cuts; /* NULL: do not cut */
    uint64_t characters;       /* may atoms begin as whole characters (st_whole_character)? */
    uint64_t ordered;          /* does every token come after the two that it is made of? */
    uint64_t identity;         /* is each token its own id? */
    const st_dfa *dfa;         /* the table of the pattern; NULL without a pattern */
    const uint32_t *kinds;     /* of characters, where they alone decide what words are (split_words.cu); two bits each, by code point */
    uint64_t most;             /* characters of a word of WordPiece (cuda/encode/word_piece.cu), else 0; */
    uint64_t unknown;          /* the id of another word; */
    uint64_t prefix, prefix_size; /* what tokens begin with that go on in a word, at most eight bytes, the first one lowest */
    uint4 *learned;            /* words that were merged before (cuda/encode/learned.cu), two uint4 each */
    uint64_t learned_capacity;     /* words; 0: none are learned */
    uint32_t *learned_count;

    /* the text */
    const uint4 *source;  /* where a short text is copied from; NULL: it is in `text` already */
    uint64_t source_size; /* bytes that are copied: the text, or all blocks with the marks and rows behind them */
    const uint8_t *text;  /* at a multiple of 16 */
    uint64_t size;        /* bytes; with marks those of all blocks */
    uint64_t blocks;
    const uint8_t *marks; /* block: see above; NULL: one passage */

    /* where pieces start (split.cu, resume_split.cu, scan_gaps.cu), and atoms of them (cuda/encode/cuts.cu): a bit a byte */
    uint64_t segment_blocks;  /* many are less work (a thread looks one block back), few take less time in short texts */
    uint64_t *starts, *atoms; /* block */
    uint8_t *unsynced;        /* segment: 1 if it is not known where its first piece starts */
    uint8_t *high;            /* segment: 1 if it may hold characters beyond ASCII */
    uint64_t *hard;           /* bytes from which a segment's starts are unknown, for resume_split.cu: at most one a segment */
    uint64_t *gaps;           /* bytes where gaps end, for scan_gaps.cu: at most ST_GAPS a segment */

    /* a slice: the stretches first_stretch .. first_stretch + stretches - 1 */
    uint64_t first_stretch, stretches;
    uint32_t *slots;       /* byte of the slice: tokens, in order, with holes */
    uint32_t *spans;       /* stretch: first slot << 16 | slots in use */
    uint32_t *tokens;      /* stretch: how many */
    uint32_t *row_slots;   /* block of the slice in which a passage begins: its first slot, counted from its stretch's */
    uint64_t *deferred;    /* records of the atoms that the first look did not find: those that fit a key, then longer ones */
    uint64_t deferred_capacities[2];
    uint64_t *lists;       /* records of the atoms to merge, class by class */
    uint64_t list_starts[ST_CLASSES + 1];

    /* pieces for the host, by number */
    uint64_t *huge_starts, *huge_ends; /* bytes of the text */
    uint64_t *huge_tokens;             /* tokens before the one that stands in its place */
    uint64_t huge_capacity;

    /* the output */
    uint64_t *tile_starts;  /* tile: tokens before it in the whole text */
    uint32_t *offsets;      /* stretch: tokens before it in its tile */
    void *out;
    uint64_t out_capacity;
    uint64_t id_bytes;      /* 2, 4 or 8 */
    const uint64_t *rows;   /* row: the block it begins with, ascending */
    uint64_t *row_starts;   /* row: tokens before it */
    uint64_t row_count;

    /* names of special tokens to look for (check.cu) */
    const st_name_set *names;
    uint64_t name_count;     /* sets of names */
    uint64_t name_firsts[4]; /* a bit for each byte with which a name begins */
    uint64_t *found;         /* byte of the text << 16 | name */
    uint64_t found_capacity;
    uint64_t trusted;        /* is it known to be UTF-8? */

    /* a normal form that the text is to be in already (form.cu) */
    uint64_t form;           /* 1 + an st_form; ST_FORM_OF_CHARACTERS; 0: none */
    uint64_t form_firsts;    /* a bit for the low six bits of each first byte of what the form may change */
    const uint64_t *changes; /* of a form of characters: a bit for each code point that it changes, */
    uint64_t low_changes[2]; /* and for ASCII characters that it changes to anything but one ASCII character; */
    const uint8_t *map;      /* and what it makes of each byte of ASCII, of 256; NULL: itself */
    uint64_t *doubts;        /* blocks; memory of the host */
    uint64_t doubts_capacity;

    /* longest match (cuda/longest) */
    const st_cell *cells;
    uint64_t longest_token;  /* bytes of the longest token; also of WordPiece */
    uint64_t bounded;        /* do tokens end at `starts`? */
    uint64_t known;          /* is it known where the stretches are entered? */
    uint32_t *fronts;        /* byte of the slice: ids of a lane in front of those in `slots` */
    uint32_t *stretch_entries, *stretch_exits; /* stretch of the text: bytes behind its beginning, and behind its end, where a token begins */
    uint32_t *heads;         /* stretches to be walked anew, */
    uint8_t *is_head;        /* and a flag for each stretch of the text */
    uint64_t check;          /* which check it is */
    uint32_t *maps;          /* stretch of the slice, entry: exit */
    uint32_t *group_maps;    /* group of stretches, entry: exit */
    uint32_t *group_entries; /* group of stretches */

    st_counts *counts;
    st_counts *report;       /* memory of the host, for the counts after the scan */
} st_job;

/* A record of an atom whose tokens are still to be found: slot (32 bits), distance from the slot to the atom's first byte (11),
 * bytes (10), characters of a short one that were counted (10), and whether the image's tables may hold it (1). */
#define ST_RECORD(slot, distance, bytes, characters, listed) \
    ((uint64_t)(slot) << 32 | (uint64_t)(distance) << 21 | (uint64_t)(bytes) << 11 | (uint64_t)(characters) << 1 | (listed))

/* ---- memory ---- */

/* Prefetches the memory at `at`. */
ST_FORCE_INLINE void st_send_for(const void *at)
{
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L1 [%0];" ::"l"(at));
#else
    (void)at;
#endif
}

/* ---- warps ---- */

/* Exclusive prefix sum of the lanes' values; *total receives the sum of all. */
ST_FORCE_INLINE uint32_t st_prefix(uint32_t value, unsigned lane, uint32_t *total)
{
    uint32_t sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(0xFFFFFFFFu, sum, (unsigned)step);
        sum += lane >= (unsigned)step ? other : 0;
    }
    *total = __shfl_sync(0xFFFFFFFFu, sum, 31);
    return sum - value;
}

/* ---- passages ---- */

ST_FORCE_INLINE uint64_t st_segments(const st_job *job)
{
    return (job->blocks + job->segment_blocks - 1) / job->segment_blocks;
}

ST_INLINE unsigned st_passage_begins(const st_job *job, uint64_t block)
{
    return block == 0 || (job->marks && job->marks[block] & ST_MARK_BEGIN);
}

ST_INLINE unsigned st_passage_ends(const st_job *job, uint64_t block)
{
    return block + 1 == job->blocks || (job->marks && job->marks[block + 1] & ST_MARK_BEGIN);
}

/* Bytes of text in the block: 1 to 64. */
ST_INLINE unsigned st_fill(const st_job *job, uint64_t block)
{
    if (job->marks)
        return job->marks[block] & ~ST_MARK_BEGIN;
    return block + 1 < job->blocks ? 64 : (unsigned)(job->size - 64 * block);
}

#endif
