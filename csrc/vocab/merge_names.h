/* From the spelling of merges to tokens: a hash table of tokens by their bytes, and the look-up of many merges in it. */
#ifndef ST_VOCAB_MERGE_NAMES_H
#define ST_VOCAB_MERGE_NAMES_H

#include "base/string_table.h"

typedef struct st_merge_names {
    const uint8_t *bytes;  /* of all tokens, one behind the other */
    uint32_t *starts;      /* count + 1 offsets */
    st_string_table table;
} st_merge_names;

/* Enters the tokens of which skip[t] is 0. `bytes` must outlive the table. ST_DUPLICATE_TOKEN: *bad has the bytes of an earlier one. */
st_status st_merge_names_init(st_merge_names *names, const uint8_t *bytes, const uint32_t *lengths, const uint8_t *skip,
                              size_t count, size_t *bad);
void st_merge_names_free(st_merge_names *names);

/* The tokens of `count` merges. `bytes` has the left and the right part of each, lengths two numbers a merge. A part of no bytes,
 * and one that is no token, are ST_NONE. */
st_status st_merge_names_find(const st_merge_names *names, const uint8_t *bytes, const uint32_t *lengths, size_t count,
                              uint32_t *left, uint32_t *right, uint32_t *made);

#endif
