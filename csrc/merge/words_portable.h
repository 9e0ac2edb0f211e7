/* What words_template.h wants, in plain C. */
#include "merge/words.h"

static inline uint32_t smallest(const uint32_t *candidates, uint32_t rows)
{
    uint32_t least = candidates[0];
    for (uint32_t i = 1; i < rows * ST_ROW; i++)
        least = candidates[i] < least ? candidates[i] : least;
    return least;
}

#define find_in_bucket st_bucket_find

static inline st_two_found find_two(const uint64_t *const buckets[2], const uint64_t keys[2])
{
    const st_two_found two = {find_in_bucket(buckets[0], keys[0]), find_in_bucket(buckets[1], keys[1])};
    return two;
}
