#include "pairs/merge_short.h"

#define NOTHING_MERGES INT32_MAX

/* merged << 8 | position orders candidates as BPE wants them: smallest token first, leftmost of equal ones first. */
static int32_t candidate_of(const st_pairs *pairs, uint32_t left, uint32_t right, size_t position)
{
    uint32_t merged = st_pairs_find(pairs, left, right);
    return merged == ST_NONE ? NOTHING_MERGES : (int32_t)(merged << 8 | (uint32_t)position);
}

/* Candidates come in groups, and the smallest of each group is kept. A merge changes at most three groups. */
#define GROUP 16

static int32_t smallest_of_group(const int32_t *candidates)
{
    int32_t best = NOTHING_MERGES;
    for (size_t i = 0; i < GROUP; i++)
        best = candidates[i] < best ? candidates[i] : best;
    return best;
}

static int32_t smallest(const int32_t *of_groups, size_t groups)
{
    int32_t best = NOTHING_MERGES;
    for (size_t i = 0; i < groups; i++)
        best = of_groups[i] < best ? of_groups[i] : best;
    return best;
}

size_t st_merge_short(const st_pairs *pairs, const uint8_t *text, size_t n, uint32_t *tokens)
{
    int32_t candidates[ST_SHORT_MERGE], of_groups[ST_SHORT_MERGE / GROUP];
    const size_t groups = (n + GROUP - 1) / GROUP;
    uint8_t next[ST_SHORT_MERGE], previous[ST_SHORT_MERGE]; /* positions of live symbols; that behind the last one is not read */
    for (size_t i = 0; i < n; i++) {
        tokens[i] = pairs->byte_token[text[i]];
        next[i] = (uint8_t)(i + 1);
        previous[i] = (uint8_t)(i - 1);
    }
    for (size_t i = 0; i + 1 < n; i++)
        candidates[i] = candidate_of(pairs, tokens[i], tokens[i + 1], i);
    for (size_t i = n - 1; i < groups * GROUP; i++)
        candidates[i] = NOTHING_MERGES;
    for (size_t i = 0; i < groups; i++)
        of_groups[i] = smallest_of_group(candidates + i * GROUP);
    size_t last = n - 1; /* position of the last symbol */
    for (;;) {
        int32_t best = smallest(of_groups, groups);
        if (best == NOTHING_MERGES)
            break;
        const size_t at = (size_t)(best & 255), gone = next[at], before = at ? previous[at] : at;
        tokens[at] = (uint32_t)best >> 8;
        candidates[at] = NOTHING_MERGES;
        if (gone == last) {
            last = at;
        } else {
            size_t after = next[gone];
            candidates[gone] = NOTHING_MERGES;
            next[at] = (uint8_t)after;
            previous[after] = (uint8_t)at;
            candidates[at] = candidate_of(pairs, tokens[at], tokens[after], at);
        }
        if (at)
            candidates[before] = candidate_of(pairs, tokens[before], tokens[at], before);
        of_groups[at / GROUP] = smallest_of_group(candidates + at / GROUP * GROUP);
        if (gone / GROUP != at / GROUP)
            of_groups[gone / GROUP] = smallest_of_group(candidates + gone / GROUP * GROUP);
        if (before / GROUP != at / GROUP)
            of_groups[before / GROUP] = smallest_of_group(candidates + before / GROUP * GROUP);
    }
    size_t count = 0;
    for (size_t i = 0;; i = next[i]) {
        tokens[count++] = tokens[i];
        if (i == last)
            return count;
    }
}
