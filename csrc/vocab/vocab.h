/* The immutable vocabulary: token bytes <-> index <-> id, the pair table, and the facts about it that merging rests on.
 *
 * Tokens are numbered by INDEX, in the order in which they merge; the id is what callers see. In a vocabulary of ranks the id is
 * the rank, so ids ascend. In one of a list of merges (vocab/merge_list.h) ids may stand in any order, and some tokens may be
 * SILENT: no text becomes them, and their bytes may be those of another token. They are decoded only.
 *
 * The MODEL of the vocabulary (vocab/model.h) says how a piece becomes tokens. Where it does not merge there are no pairs, ids may
 * stand in any order, and a token is reachable that its own bytes become as a piece.
 * Thread rule: immutable once built, any number of readers; the lazily built parts (st_vocab_cuts, st_vocab_slots and
 * others) are published atomically (vocab/attached.h). */
#ifndef ST_VOCAB_VOCAB_H
#define ST_VOCAB_VOCAB_H

#include "base/string_table.h"
#include "pairs/pair_table.h"
#include "vocab/attached.h"
#include "vocab/fragment_ids.h"
#include "vocab/model.h"
#include "vocab/piece_table.h"

/* The automaton (endless/automaton.h) has 16 bits for a depth, and 28 for the number of a node. */
#define ST_MAX_TOKEN_BYTES 65535
#define ST_MAX_TOTAL_BYTES (1u << 27)

#define ST_POOL_SIZE 64

typedef struct st_vocab {
    uint32_t count;      /* tokens, special ones aside */
    uint32_t max_length; /* bytes of the longest token */
    uint8_t *bytes;      /* all tokens, one behind the other, by index */
    uint32_t *starts;    /* count + 1 offsets into bytes */
    uint32_t *ids;       /* index -> id; ST_INLINE_IDS of them can be read at each */
    uint32_t *left;      /* index -> left token of its pair, ST_NONE for single bytes, unreachable and silent tokens; the token itself
                            where nothing merges */
    uint32_t *right;     /* ST_NONE for single bytes and unreachable tokens, ST_NO_TOKEN for silent ones */
    uint32_t *sorted_ids; /* NULL where ids ascend; else the ids, ascending, */
    uint32_t *by_id;      /* and the index of each */
    st_pairs pairs;
    uint32_t unreachable; /* tokens that the model does not make of their own bytes */
    int monotone;         /* every merged token comes after both its parts */
    uint64_t *unsound;    /* NULL where monotone is set; else a bit for each token that st_token_is_sound is to deny */
    int identity;         /* ids[i] == i for all i */
    const st_model *model;
    const void *own;      /* what the model keeps with the vocabulary, */
    size_t own_size;      /* so many bytes; 0: nothing */
    uint32_t fragments;   /* tokens with ids from ST_FIRST_FRAGMENT on */
    size_t piece_room;     /* entries that `pieces` was made for */
    st_piece_table pieces; /* tokens of up to ST_KEY_BYTES bytes, and frequent words (image/frequent_words.h) */
    st_string_table longs; /* longer ones, by st_hash_bytes */
    st_string_table whole; /* unreachable tokens, by st_hash_span: a piece with the bytes of one becomes it where the model keeps
                            * tokens (ST_MODEL_KEEPS_TOKENS), but not by the model's rule. They are in neither of the tables above,
                            * so what is looked up there is what the model gives, also for a part of a piece. No slots where there is
                            * no such token */
    const void *image;           /* image/image.h; not NULL: the arrays above lie in it, but for ids if they are the identity */
    void *own_image;             /* memory of the image that is freed with the vocabulary; NULL: it is somebody else's */
    st_attached *machine;            /* the model's: endless/automaton.h, longest/matcher.h */
    st_attached *cuts;               /* cut/cuts.h */
    st_attached *sure_pairs;         /* merge/sure_pairs.h, */
    uint64_t merged_without;         /* and the words merged without them */
    st_attached *slots;              /* vocab/slots.h, */
    uint64_t spent_decoding;         /* and what was decoded without them */
    st_attached *pool[ST_POOL_SIZE]; /* lookup/workspace.h: workspaces not in use */
} st_vocab;

/* The split of a silent token. */
#define ST_SILENT UINT32_MAX

/* Tokens as the caller hands them over: bytes concatenated, n lengths, n distinct ids, and either NULL or n split lengths (bytes of
 * the left part of each token's last merge, 0 = none, ST_SILENT), which spare the merging of each token. Ids ascend strictly, unless
 * any_order is set. */
typedef struct st_vocab_source {
    const uint8_t *bytes;
    const uint32_t *lengths;
    const uint32_t *ids;
    const uint32_t *splits;
    size_t count;
    size_t words; /* room to leave in the piece table for frequent words (image/frequent_words.h) */
    int any_order;
    const st_model *model; /* where it does not merge, of the splits only ST_SILENT counts */
    const void *own;
    size_t own_size;
} st_vocab_source;

/* Finds fragments, works out which tokens are not sound, and enters unreachable ones: for a vocabulary whose arrays are there.
 * ST_BAD_IMAGE: there are more or fewer of these than vocab->unreachable. ST_DUPLICATE_TOKEN: *bad is one that is there twice. */
st_status st_vocab_complete(st_vocab *vocab, size_t *bad);
uint32_t st_vocab_count_unreachable(const st_vocab *vocab);

/* Builds a vocabulary. On failure *vocab is NULL and *bad the index (or the missing byte) that is to blame. */
st_status st_vocab_new(const st_vocab_source *source, uint32_t dense_side, st_vocab **vocab, size_t *bad);
void st_vocab_free(st_vocab *vocab);

/* Index of the token with these bytes, or ST_NONE. Silent tokens are not found. */
uint32_t st_vocab_find(const st_vocab *vocab, const uint8_t *bytes, size_t n);
/* The same without unreachable tokens. */
uint32_t st_vocab_find_reachable(const st_vocab *vocab, const uint8_t *bytes, size_t n);
/* Index of the token with this id, or ST_NONE. */
uint32_t st_vocab_index(const st_vocab *vocab, uint32_t id);

static inline int st_vocab_has(const st_vocab *vocab, enum st_model_facts fact)
{
    return (vocab->model->facts & (unsigned)fact) != 0;
}

static inline size_t st_token_length(const st_vocab *vocab, uint32_t index)
{
    return vocab->starts[index + 1] - vocab->starts[index];
}

static inline const uint8_t *st_token_bytes(const st_vocab *vocab, uint32_t index)
{
    return vocab->bytes + vocab->starts[index];
}

static inline int st_token_is_silent(const st_vocab *vocab, uint32_t index)
{
    return vocab->right[index] == ST_NO_TOKEN;
}

/* Whether the model makes this token of its own bytes. */
static inline int st_token_reachable(const st_vocab *vocab, uint32_t index)
{
    return vocab->left[index] != ST_NONE || (st_token_length(vocab, index) == 1 && !st_token_is_silent(vocab, index));
}

/* Whether it is found as a whole piece only. */
static inline int st_token_is_whole_only(const st_vocab *vocab, uint32_t index)
{
    return !st_token_reachable(vocab, index) && !st_token_is_silent(vocab, index);
}

/* Whether tokens come of merges, and a piece with the bytes of one need not become it. Then the tables of pieces hold no token, and
 * all are found in `whole`. */
static inline int st_vocab_keeps_apart(const st_vocab *vocab)
{
    return st_vocab_has(vocab, ST_MODEL_MERGES) && !st_vocab_has(vocab, ST_MODEL_KEEPS_TOKENS);
}

/* Whether it is found in `whole`. */
static inline int st_token_is_apart(const st_vocab *vocab, uint32_t index)
{
    return st_token_is_whole_only(vocab, index) || (st_vocab_keeps_apart(vocab) && !st_token_is_silent(vocab, index));
}

/* Whether this token and all that it is made of come after their parts. Then merging its bytes makes these in the order of their
 * indices: compatible() and cut_rule.h rest on it. A single byte exists from the start, whatever its index. */
static inline int st_token_is_sound(const st_vocab *vocab, uint32_t index)
{
    return !vocab->unsound || !(vocab->unsound[index / 64] >> index % 64 & 1);
}

/* The largest id that callers see. */
static inline uint32_t st_vocab_highest(const st_vocab *vocab)
{
    return (vocab->sorted_ids ? vocab->sorted_ids : vocab->ids)[vocab->count - vocab->fragments - 1];
}

/* Puts the ids of their bytes in the place of fragments, in ids->data[from..size). ST_NO_MEMORY leaves them as they were,
 * and so does ST_MISSING_BYTE: the text holds a byte that is no token. */
st_status st_vocab_spell(const st_vocab *vocab, st_ids *ids, size_t from);

/* ST_MISSING_BYTE if a fragment is among ids->data[from..size). */
st_status st_vocab_refuse_fragments(const st_vocab *vocab, st_ids *ids, size_t from);

#endif
