/* The tier in plain C, on whatever the compiler targets by itself. */
#define ST_TIER portable
#include "base/vector_portable.h"

#include "split/block_places_portable.h"
#include "split/block_rows_portable.h"
#include "split/block_template.h"

#include "merge/words_portable.h"
#include "merge/words_template.h"

#include "lookup/first_look.h"

const st_tier_row st_tier_portable = {
    .name = "portable",
    .hot_states = 16,
    .split_blocks = st_split_blocks_portable,
    .merge_words = st_merge_words_portable,
    .add_pieces = st_add_pieces_portable,
    .add_apart = st_add_apart_portable,
    .add_spans = st_add_spans_portable,
    .first_look = st_first_look_portable,
};
