/* tier.h - which instructions the inner loops use. A TIER is a vector type (vector.h) and a row of functions, one for each STAGE:
 * what is written once over that type, or for this tier alone. The rows are in tiers/, one file each; all rooms call a stage by
 * its name, st_tier()->split_blocks(...).
 *
 * A tier is chosen once in a process, at the first call: the widest that this machine runs, or the one that the environment variable
 * STREAMTOK_TIER names ("portable", "neon", "avx2", "avx512"); a name that does not run here is passed over. All tiers give the
 * same ids. */
#ifndef ST_BASE_TIER_H
#define ST_BASE_TIER_H

#include "base/atomic.h"

/* The one guard of code for a kind of machine: ST_X86 or ST_ARM, where the compiler has its intrinsics.
 *
 * Microsoft's compiler, if new enough, accepts the intrinsics of every tier without an option. Its names for ARM vectors differ,
 * so on ARM it builds the portable tier alone. */
#if defined(__x86_64__) && defined(__GNUC__)
#define ST_X86 1
#elif defined(_M_X64) && !defined(_M_ARM64EC) && _MSC_VER >= 1930
#define ST_X86 1
#elif defined(__aarch64__) && defined(__ARM_NEON) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
#define ST_ARM 1
#endif

/* What the processor has and the system lets programs use: all instructions of the tier of that name. */
#define ST_HAS_AVX2 UINT64_C(1)
#define ST_HAS_AVX512 UINT64_C(2)
#define ST_ASKED UINT64_C(4) /* for tier.c */

struct st_cuts;
struct st_dfa_run;
struct st_hot;
struct st_spans;
struct st_split_progress;
struct st_vocab;
struct st_word;

/* The file named in front of a stage says what it does. NULL: the tier does without, and the caller has another way. */
typedef struct st_tier_row {
    const char *name;
    uint64_t needs;      /* what the processor must have */
    unsigned hot_states; /* how many states of a compiled pattern are hot: 16 or 32 (split/dfa_hot.h) */

    /* text/utf8_valid.h, text/str_to_utf8.h, checksum/crc32.h */
    size_t (*text_valid)(const uint8_t *text, size_t n);
    size_t (*code_points)(const void *characters, size_t n, unsigned width, uint8_t *to);
    size_t (*crc32_fold)(const uint8_t *data, size_t n, uint32_t before, uint8_t *rest);

    /* split/blocks.h, by the number of a row of traits; split/dfa_hot.h; normal/quick.h, by the number of a form */
    struct st_split_progress (*split_blocks)(unsigned family, const uint8_t *text, size_t n, uint64_t base, uint64_t *ends,
                                             size_t capacity);
    void (*dfa_hot)(struct st_dfa_run *run);
    size_t (*normal_quick)(unsigned form, const uint8_t *text, size_t n);

    /* cut/cuts.h, merge/words.h */
    size_t (*cuts_of_pieces)(const struct st_cuts *cuts, const uint8_t *text, size_t at, const uint64_t *ends, size_t count,
                             uint32_t *spans, size_t *pieces);
    void (*merge_words)(const struct st_vocab *vocab, const struct st_cuts *cuts, struct st_word *words, size_t count, void *buffer);

    /* lookup/first_look.h */
    size_t (*add_pieces)(struct st_spans *s, const struct st_hot *hot, const uint8_t *text, size_t readable, size_t at,
                         const uint64_t *ends, size_t count);
    size_t (*add_apart)(struct st_spans *s, const struct st_hot *hot, const uint8_t *text, size_t readable,
                        const uint64_t *starts, const uint64_t *ends, size_t count);
    void (*add_spans)(struct st_spans *s, const struct st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends,
                      size_t count);
    void (*first_look)(struct st_spans *s, const struct st_hot *hot);
} st_tier_row;

/* The rows of this kind of machine, the narrowest first; NULL behind the last one. In tiers/tiers.c. */
extern const st_tier_row *const st_tiers[];

int st_processor_has(uint64_t features);

/* Chooses the tier; st_tier does that at its first call. */
const st_tier_row *st_tier_choose(void);

/* NULL: not chosen yet. The first thread to come chooses; any other would choose the same. */
extern void *st_tier_chosen;

static inline const st_tier_row *st_tier(void)
{
    const st_tier_row *row = (const st_tier_row *)st_acquire(&st_tier_chosen);
    return row ? row : st_tier_choose();
}

const char *st_tier_name(void);

/* The name of a function that a header makes for the tier of the file that includes it, which defines ST_TIER. */
#define ST_JOIN_(a, b) a##b
#define ST_JOIN(a, b) ST_JOIN_(a, b)
#define ST_OF_TIER(name) ST_JOIN(name##_, ST_TIER)

#endif
