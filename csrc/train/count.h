/* count.h - text to pieces, each counted: the first stage of training.
 *
 * A counter takes texts that split independently: whole documents, or slices of one (threads/safe_cuts.h). Special tokens are cut
 * out: the text in front of one and the text behind it split independently, too.
 * Thread rule: a counter belongs to one thread at a time; several of them, one a thread, share the work. */
#ifndef ST_TRAIN_COUNT_H
#define ST_TRAIN_COUNT_H

#include "special/special_tokens.h"
#include "split/scan.h"
#include "text/utf8_check.h"
#include "train/table.h"

/* Pieces found before they are counted: enough for look-ups to overlap, few enough to stay in the cache. */
#define ST_TRAIN_BATCH 512

typedef struct st_train_counter {
    st_train_table table;
    uint64_t factor;        /* what each piece counts: 1, or the weight of the text */
    uint64_t pieces, bytes; /* seen so far, repeated ones too; any thread may read them by st_number_read() */
    uint64_t ends[ST_TRAIN_BATCH];
    st_key keys[ST_TRAIN_BATCH];
    uint64_t hashes[ST_TRAIN_BATCH];
} st_train_counter;

void st_train_counter_init(st_train_counter *counter);
void st_train_counter_free(st_train_counter *counter);

/* Counts the pieces of text[0..n). special: the names to cut out, or NULL. trusted: the text is valid UTF-8.
 * ST_INVALID_UTF8: *error says where, and nothing was counted. ST_NO_MEMORY, ST_INTERRUPTED: the counter can only be freed. */
st_status st_train_count_text(st_train_counter *counter, st_pattern pattern, const st_special *special,
                              const uint8_t *text, size_t n, int trusted, st_text_error *error);

/* Counts text[a..b) for each of the `count` rows (a, b), which lie inside the text; empty ones are skipped. */
st_status st_train_count_spans(st_train_counter *counter, const uint8_t *text, const int64_t *spans, size_t count);

#endif
