#include "merge/words.h"

#include "base/tier.h"

void st_merge_words(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count, void *room)
{
    if (count)
        st_tier()->merge_words(v, cuts, words, count, room);
}
