#include "vocab/whole_tokens.h"

st_status st_whole_tokens_init(st_whole_tokens *whole, size_t count)
{
    size_t slots = 16;
    while (slots < 4 * count) /* nearly every look-up is one of something else, and ends at a free slot */
        slots *= 2;
    whole->slots = st_malloc(slots * sizeof *whole->slots);
    whole->mask = slots - 1;
    if (!whole->slots)
        return ST_NO_MEMORY;
    memset(whole->slots, 0xff, slots * sizeof *whole->slots);
    return ST_OK;
}

void st_whole_tokens_free(st_whole_tokens *whole)
{
    st_free(whole->slots);
    whole->slots = NULL;
}

void st_whole_tokens_add(st_whole_tokens *whole, uint64_t hash, uint32_t index)
{
    uint64_t at = hash & whole->mask;
    while (whole->slots[at] != UINT64_MAX)
        at = (at + 1) & whole->mask;
    whole->slots[at] = hash >> 32 << 32 | index;
}
