/* Merging side by side, on whatever the compiler targets by itself. */
#include "merge/words.h"

static inline uint32_t smallest(const uint32_t *candidates, uint32_t rows)
{
    uint32_t least = candidates[0];
    for (uint32_t i = 1; i < rows * ST_ROW; i++)
        least = candidates[i] < least ? candidates[i] : least;
    return least;
}

#define find_in_bucket st_bucket_find
#define ST_TIER portable
#include "merge/words_template.h"
