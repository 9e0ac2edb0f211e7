#include "merge/compatible.h"

#include <string.h>

#include "base/buffer.h"
#include "pairs/merge_reference.h"
#include "pairs/merge_short.h"

/* Only for sound tokens (vocab.h): otherwise the latest merge need not be the one of largest index. What merges across the border
 * need not be sound. */
static int compatible_by_undoing(const st_vocab *v, uint32_t left, uint32_t right)
{
    return !st_pairs_cross(&v->pairs, v->left, v->right, left, right, ST_NONE);
}

static int compatible_by_merging(const st_vocab *v, uint32_t left, uint32_t right)
{
    st_bytes text = {0};
    st_ids tokens = {0};
    st_reference_scratch scratch = {0};
    int answer = -1;
    if (st_pairs_find(&v->pairs, left, right) != ST_NONE)
        return 0; /* the two tokens themselves merge */
    if (!st_bytes_append(&text, st_token_bytes(v, left), st_token_length(v, left)) &&
        !st_bytes_append(&text, st_token_bytes(v, right), st_token_length(v, right)) &&
        !st_reference_merge(&v->pairs, text.data, text.size, &scratch, &tokens))
        answer = tokens.size == 2 && tokens.data[0] == left && tokens.data[1] == right;
    st_reference_scratch_free(&scratch);
    st_ids_free(&tokens);
    st_bytes_free(&text);
    return answer;
}

int st_compatible(const st_vocab *v, uint64_t *memo, uint32_t left, uint32_t right)
{
    uint64_t pair = ((uint64_t)left << ST_INDEX_BITS | right) + 1;
    uint64_t *entry = &memo[(pair * ST_GOLDEN) >> (64 - ST_MEMO_BITS)];
    if (*entry >> 1 == pair)
        return (int)(*entry & 1);
    const int sound = st_token_is_sound(v, left) && st_token_is_sound(v, right);
    int answer = sound ? compatible_by_undoing(v, left, right) : compatible_by_merging(v, left, right);
    if (answer >= 0)
        *entry = pair << 1 | (uint64_t)answer;
    return answer;
}
