/* The smallest candidate of a word (words_template.h), on the vectors of a tier (base/vector.h). */
#include "merge/words.h"

/* The smallest of rows * ST_ROW numbers. */
static inline uint32_t smallest(const uint32_t *candidates, uint32_t rows)
{
    st_lanes least = st_lanes_load(candidates);
    for (uint32_t i = ST_LANES; i < ST_ROW; i += ST_LANES)
        least = st_lanes_min(least, st_lanes_load(candidates + i));
    for (uint32_t row = 1; row < rows; row++)
        for (uint32_t i = 0; i < ST_ROW; i += ST_LANES)
            least = st_lanes_min(least, st_lanes_load(candidates + row * ST_ROW + i));
    return st_lanes_least(least);
}
