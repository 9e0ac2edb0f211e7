/* trainer.h - the merges of byte-level BPE, learned from distinct pieces and their counts.
 *
 *     st_trainer_init(&trainer, ...);
 *     st_train_text_measure, _lay_out, _place, _finish on &trainer.text;
 *     st_trainer_begin(&trainer);
 *     while (!trainer.done) st_trainer_run(&trainer, merges, work);    as far as wanted, as often as wanted
 *     trainer.tokens: from the 257th on, the learned ones in order
 *
 * A merge joins all places of the pair with the greatest count, from left to right in each piece. Places count where they
 * overlap too: "aaa" holds the pair (a, a) twice. Among pairs with the same count the rule for ties chooses.
 *
 * The cost of a merge depends on how often its pair stands in distinct pieces, not on the length of the text: neighbours are summed
 * up in two arrays by their token, and each distinct one is looked up once.
 *
 * The state between two runs is text.tokens and trainer.tokens. A training can be resumed from these two.
 * Thread rule: one thread at a time. After a failure a trainer can only be freed. */
#ifndef ST_TRAIN_TRAINER_H
#define ST_TRAIN_TRAINER_H

#include "train/index.h"

/* What is known of one neighbour while a pair is merged. */
typedef struct st_train_side {
    uint64_t sum;   /* how often it stands there */
    uint64_t place; /* where in the lists its next place goes, or ST_TRAIN_NO_LIST */
    uint32_t n;     /* in how many places */
} st_train_side;

#define ST_TRAIN_NO_LIST UINT64_MAX

/* The neighbours of one kind: to the left of the merged pair, or to its right. */
typedef struct st_train_sides {
    st_train_side *by_token;
    uint32_t *seen; /* tokens with n > 0 */
    size_t seen_count;
} st_train_sides;

typedef struct st_trainer {
    st_train_text text;
    st_train_tokens tokens;
    st_train_index index;
    st_train_sides left, right;
    size_t wanted;     /* tokens in all */
    int is_stale;      /* the index has to be built before the next merge */
    int done;          /* as many tokens as wanted, or no pair is frequent enough */
    uint64_t work;     /* places looked at so far */
    uint64_t last_count; /* of the last merge: how often its pair was seen */
    uint64_t size;     /* tokens of the text, each as often as its piece was seen, from st_trainer_measure on */
} st_trainer;

typedef struct st_train_options {
    const uint8_t *alphabet; /* the 256 bytes in the order of their tokens */
    size_t wanted;           /* tokens, those of the alphabet included */
    st_train_ties ties;
    uint32_t max_token_bytes;   /* see st_train_may_merge */
    uint64_t frequency; /* pairs seen less often are not merged */
    size_t most_lists;  /* see st_train_index */
} st_train_options;

st_status st_trainer_init(st_trainer *trainer, const st_train_options *options);
void st_trainer_free(st_trainer *trainer);

/* To be called when the text is finished. least: trainer.index.least of the state to resume from, or 0. */
void st_trainer_begin(st_trainer *trainer, uint64_t least);

/* Counts the tokens of the text. */
void st_trainer_measure(st_trainer *trainer);

/* Makes up to `merges` merges, and fewer once about `work` places have been looked at. */
st_status st_trainer_run(st_trainer *trainer, size_t merges, uint64_t work);

/* The pair that the next merge would join, and its count; ST_TRAIN_NO_PAIR: none is left. */
st_status st_trainer_best(st_trainer *trainer, st_train_key *pair, uint64_t *count);

/* Makes the merge of any pair of tokens, which another trainer has chosen, as the next one; there must be room for its token. The
 * least of the index has to be 1 (st_trainer_begin), so that all pairs of the text are known. */
st_status st_trainer_merge(st_trainer *trainer, st_train_key pair);

#endif
