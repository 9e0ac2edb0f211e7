/* The tier AVX2: Haswell, Zen and later. */
#include "base/tier.h"

#if defined(ST_X86)
#define ST_TIER avx2
#include "base/begin_avx2.h"

#include "text/utf8_valid_template.h"

#include "text/str_to_utf8_avx2.h"
#include "text/str_to_utf8_template.h"

#include "split/block_places.h"
#include "split/block_rows.h"
#include "split/block_template.h"

#include "split/dfa_symbols.h"
#include "split/dfa_hot_template.h"

#include "normal/quick_template.h"

#include "cut/stretch_template.h"

#include "merge/words_avx2.h"
#include "merge/words_template.h"

#include "lookup/first_look_avx2.h"

#include "checksum/crc32.h"

void st_shorten_words_avx2(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count, uint32_t enough)
{
    merge_until(v, cuts, words, count, enough);
}

const st_tier_row st_tier_avx2 = {
    .name = "avx2",
    .needs = ST_HAS_AVX2,
    .hot_states = ST_MAP_SIZE,
    .text_valid = st_text_valid_avx2,
    .code_points = st_code_points_avx2,
    .crc32_fold = st_crc32_fold_products,
    .split_blocks = st_split_blocks_avx2,
    .dfa_hot = st_dfa_hot_avx2,
    .normal_quick = st_normal_quick_avx2,
    .cuts_of_pieces = st_cuts_of_pieces_avx2,
    .merge_words = st_merge_words_avx2,
    .add_pieces = st_add_pieces_avx2,
    .add_apart = st_add_apart_portable,
    .add_spans = st_add_spans_avx2,
    .first_look = st_first_look_portable,
};
#include "base/target_end.h"
#endif
