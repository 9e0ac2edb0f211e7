#include "merge/words.h"

#include "base/dispatch.h"

ST_STAGE(st_merge_words_function, merge_in_use, st_merge_words_portable, st_merge_words_neon, st_merge_words_avx2,
         st_merge_words_avx512)

void st_merge_words(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count, void *room)
{
    if (count)
        merge_in_use()(v, cuts, words, count, room);
}
