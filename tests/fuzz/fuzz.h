/* What the fuzz programs share: random choices, vocabularies, texts, guarded memory, and the report of a failure.
 *
 *     fuzz_feed.c    cut texts against whole ones, engine against engine, special names, copies, failing allocations
 *     fuzz_state.c   saved states of an encoder: true ones go on, damaged ones are refused or harmless
 *     fuzz_special_tokens.c   special names of any bytes, against a search that compares names
 *     fuzz_cutter.c  added tokens with flags, against their definition
 *     fuzz_decode.c  ids to bytes
 *     fuzz_merge.c   words merged side by side, tier against reference
 *     fuzz_vocab.c   hostile vocabularies
 *     fuzz_lists.c   lists of merges, against their definition
 *     fuzz_listing.c the long lists of model files, written in every way, and damaged
 *     fuzz_image.c   tables as one block, damaged
 *     fuzz_words.c   packed lists of words, and words entered in a vocabulary
 *     fuzz_train.c   training against its definition, damaged records, saved states, failing allocations
 *     fuzz_job.c     many threads on one vocabulary and in one job
 *     fuzz_split.c   the splitter in blocks against the table that defines the pieces
 *     fuzz_normal.c  normalizers, in parts and whole
 *     fuzz_table.c   tables of patterns, by chance
 *     fuzz_rows.c    padded and packed rows, against what each place must hold
 *     fuzz_longest.c longest match and the words of WordPiece, against tokens that are looked for one by one
 *
 * Each defines the two functions below. libFuzzer calls the first, or driver.c does, where there is no libFuzzer: what an
 * input does follows from its bytes alone (and from the files named in STREAMTOK_FUZZ_VOCAB). tools/fuzz.py builds and
 * runs them. */
#ifndef FUZZ_H
#define FUZZ_H

#include "models/models.h"
#include "split/dfa.h"
#include "stream/encoder.h"
#include "stream/saved_state.h"
#include "vocab/decode.h"

/* ---- a harness ---- */

/* Runs the test of one input. A difference or a broken promise ends the process with abort(). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Frees what is kept between inputs, and prints in one line what was done. */
void harness_close(void);

/* ---- chance (support.c) ---- */

/* Choices are read from the bytes of an input, so that a fuzzer steers them; when these are used up, they come from a
 * generator, whose seed is the first eight bytes. */
typedef struct rng {
    uint64_t state;
    const uint8_t *given;
    size_t left;
} rng;

rng rng_of(const uint8_t *data, size_t n);
uint64_t rng_next(rng *r);
size_t rng_below(rng *r, size_t n); /* in [0, n); n > 0 */
int rng_one_in(rng *r, size_t n);
size_t rng_size(rng *r, size_t most); /* in [0, most], every number of bits equally likely */
const uint8_t *rng_rest(rng *r, size_t *n); /* the bytes that are not used up, as they are */

/* ---- tables of patterns (tables.c) ---- */

st_dfa *table_random(rng *r); /* to be freed with st_dfa_free */

/* The pattern of a bundled encoding, or ST_SPLIT_NONE. Made once, by patterns_open at the latest; not while allocations are to fail. */
void patterns_open(void);
st_pattern pattern_of(st_split_family family);
st_pattern pattern_random(rng *r); /* one of these four */
void patterns_close(void);

/* ---- the run (support.c) ---- */

/* Published vocabularies (.stv), named in STREAMTOK_FUZZ_VOCAB with ':' between them. */
#define FILES_MOST 8
extern const char *vocab_files[FILES_MOST];
size_t vocab_files_read(void); /* how many; the same at each call */

/* What a failure prints besides its place; set it once. */
extern void (*describe_failure)(void);

_Noreturn void fail(const char *file, int line, const char *what);
#define CHECK(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, #condition))

void print_bytes(const char *name, const uint8_t *data, size_t n);

/* malloc that fails the run instead of returning NULL; outside the core's counters. */
void *take(size_t size);

/* For loops that let one allocation after another fail: the next number for st_alloc_fail_after. Each of the first 64,
 * then ever fewer, since a call with n allocations is begun again for every one of them. */
int64_t next_failure(int64_t number);

/* One merge as BPE defines it: of the tokens of text, which end at ends[0..count), the two neighbours are joined that make
 * the token of the lowest rank, the leftmost first. Returns where the left one ended; 0: no two make a token. */
size_t merge_first_lowest(const st_vocab *v, const uint8_t *text, size_t *ends, size_t *count);

/* memcmp() == 0 that takes NULL for no bytes. */
static inline int same_bytes(const void *a, const void *b, size_t n)
{
    return n == 0 || !memcmp(a, b, n);
}

/* ---- memory with unreadable pages on both sides (support.c) ---- */

/* A copy of data[0..n) that ends (or, at_start, begins) where the readable memory does. Valid until the next call. */
const uint8_t *guarded(const uint8_t *data, size_t n, int at_start);
void guarded_scribble(void); /* overwrites the last copy, so that a kept pointer reads wrong bytes */
#define GUARDED_MOST ((size_t)1 << 20)

/* ---- vocabularies (vocabularies.c) ---- */

typedef struct source {
    uint8_t *bytes;
    uint32_t *lengths, *ids, *splits; /* splits may be NULL */
    size_t count;
    int longest; /* of longest match */
} source;

void source_free(source *s);
source source_read(const char *path); /* an .stv file: streamtok/bundled/packed.py describes it */

/* Tokens over a few characters, merged from each other in the order of their ranks: most are reachable. */
source source_grown(rng *r);
/* The first `count` tokens of another. Single bytes that it would lose come behind them. */
source source_head(const source *from, size_t count);
/* Drops tokens, swaps ranks, adds tokens that nothing merges to, leaves gaps between ids. So some tokens become unreachable,
 * and some come before their parts. Splits are lost. */
void source_damage(source *s, rng *r);

st_status source_build(const source *s, uint32_t dense_side, st_vocab **vocab, size_t *bad);
st_vocab *source_vocab(const source *s, uint32_t dense_side); /* fails the run if the core refuses it */

/* ---- texts (texts.c) ---- */

/* Special tokens as bits of a mask: names that begin with each other, or with one byte, or hold odd characters. */
#define SPECIAL_COUNT 9
#define SPECIAL_FIRST_ID 5000000u
extern const st_names special_names; /* all of them: names[i] has the id SPECIAL_FIRST_ID + i */
st_special *special_build(unsigned mask); /* NULL for 0 */
void special_free(st_special *special);
/* The first name of the mask in text[from..n), the longest of those at one place; its index, or -1. */
int special_first(unsigned mask, const uint8_t *text, size_t from, size_t n, size_t *start, size_t *end);

/* Replaces *text by one of at least `least` bytes (a little more) that is hard to encode: all kinds of characters, runs, pieces
 * of tokens and of special tokens, bytes that are no UTF-8. */
void text_random(rng *r, const st_vocab *vocab, size_t least, st_bytes *text);

/* One character over and over: pieces without an end, whose pending bytes must stay few. */
void text_endless(rng *r, size_t least, st_bytes *text);

#endif
