/* The tier NEON. */
#include "base/tier.h"

#if defined(ST_ARM)
#define ST_TIER neon
#include "base/vector_neon.h"

#include "text/utf8_valid_template.h"

#include "text/str_to_utf8_neon.h"
#include "text/str_to_utf8_template.h"

#include "split/block_places.h"
#include "split/block_rows.h"
#include "split/block_template.h"

#include "split/dfa_symbols.h"
#include "split/dfa_hot_template.h"

#include "normal/quick_template.h"

#include "cut/stretch_template.h"

#include "merge/words_neon.h"
#include "merge/words_template.h"

#include "lookup/first_look.h"

const st_tier_row st_tier_neon = {
    .name = "neon",
    .hot_states = ST_MAP_SIZE,
    .text_valid = st_text_valid_neon,
    .code_points = st_code_points_neon,
    .split_blocks = st_split_blocks_neon,
    .dfa_hot = st_dfa_hot_neon,
    .normal_quick = st_normal_quick_neon,
    .cuts_of_pieces = st_cuts_of_pieces_neon,
    .merge_words = st_merge_words_neon,
    .add_pieces = st_add_pieces_portable,
    .add_apart = st_add_apart_portable,
    .add_spans = st_add_spans_portable,
    .first_look = st_first_look_portable,
};
#endif
