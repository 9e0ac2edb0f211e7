/* A list of merges as the caller hands it over (merge_list.h). */
#ifndef ST_VOCAB_MERGE_SOURCE_H
#define ST_VOCAB_MERGE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/portable.h"
#include "base/status.h"

/* What a token can be. */
enum st_token_kind {
    ST_TOKEN_MADE,  /* of merges; where no merge makes it, it is found as a whole piece, if at all */
    ST_TOKEN_START, /* a symbol that text begins as: a single byte */
    ST_TOKEN_SILENT /* no text becomes it; it is decoded */
};

/* Tokens are named by their places 0..count, in any order. */
typedef struct st_merge_list {
    const uint8_t *bytes; /* of all tokens, one behind the other */
    const uint32_t *lengths;
    const uint32_t *ids;  /* distinct */
    const uint8_t *kinds; /* st_token_kind */
    size_t count;
    const uint32_t *left, *right, *made; /* the tokens of each merge; the bytes of `made` are those of the other two */
    size_t merges;
} st_merge_list;

#endif
