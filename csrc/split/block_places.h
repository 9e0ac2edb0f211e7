/* block_places.h - the places of the set bits of a mask, for tiers whose processors count bits, and find the first one, in one
 * instruction each. */
#ifndef ST_SPLIT_BLOCK_PLACES_H
#define ST_SPLIT_BLOCK_PLACES_H

/* Takes four bits at a time, so that the branch at the end of the loop is mostly predicted. Values written behind the last place
 * are not read. */
static inline size_t st_put_places(uint64_t mask, uint64_t base, uint64_t *to)
{
    const size_t count = (size_t)st_mask_count(mask);
    for (size_t i = 0; i < count; i += 4)
        for (size_t k = 0; k < 4; k++) {
            to[i + k] = base + st_mask_first(mask);
            mask &= mask - 1;
        }
    return count;
}

#endif
