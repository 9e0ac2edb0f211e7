/* The tier AVX-512, where compares give masks directly: Ice Lake, Zen 4 and later. */
#include "base/tier.h"

#if defined(ST_X86)
#define ST_TIER avx512
#include "base/begin_avx512.h"

#include "text/utf8_valid_template.h"

#include "text/str_to_utf8_avx512.h"
#include "text/str_to_utf8_template.h"

#include "split/block_rows_avx512.h"
#include "split/block_template.h"

#include "split/dfa_symbols_avx512.h"
#include "split/dfa_hot_template.h"

#include "normal/quick_template.h"

#include "cut/stretch_avx512.h"

#include "merge/words_avx512.h"

#include "lookup/first_look_avx512.h"

#include "checksum/crc32.h"

const st_tier_row st_tier_avx512 = {
    .name = "avx512",
    .needs = ST_HAS_AVX512,
    .hot_states = ST_MAP_SIZE,
    .text_valid = st_text_valid_avx512,
    .code_points = st_code_points_avx512,
    .crc32_fold = st_crc32_fold_products,
    .split_blocks = st_split_blocks_avx512,
    .dfa_hot = st_dfa_hot_avx512,
    .normal_quick = st_normal_quick_avx512,
    .cuts_of_pieces = st_cuts_of_pieces_avx512,
    .merge_words = st_merge_words_avx512,
    .add_pieces = st_add_pieces_avx512,
    .add_apart = st_add_apart_avx512,
    .add_spans = st_add_spans_avx512,
    .first_look = st_first_look_avx512,
};
#include "base/target_end.h"
#endif
