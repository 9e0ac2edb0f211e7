#include "merge/words.h"

#include "base/dispatch.h"
#include "merge/sure_pairs.h"

ST_STAGE(st_merge_words_function, merge_in_use, st_merge_words_portable, st_merge_words_neon, st_merge_words_avx2,
         st_merge_words_avx512)

void st_merge_words(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count, void *room)
{
    if (count)
        merge_in_use()(v, cuts, words, count, room);
}

st_status st_words_to_tokens(st_vocab *v, const st_cuts *cuts, st_word *words, size_t count, void *room)
{
    if (!v->longest) {
        if (count)
            st_sure_pairs_prepare(v, count);
        st_merge_words(v, cuts, words, count, room);
        return ST_OK;
    }
    const st_matcher *matcher = st_vocab_matcher(v);
    if (matcher)
        st_matcher_words(matcher, v, words, count);
    return matcher ? ST_OK : ST_NO_MEMORY;
}
