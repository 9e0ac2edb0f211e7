#include "merge.h"

#include "prefetch.h"

#define NO_CANDIDATE INT32_MAX
#define NOWHERE ST_GROUP_BYTES

/* One word being merged; positions are those of its bytes. */
typedef struct lane {
    int32_t candidates[ST_GROUP_BYTES];
    uint32_t tokens[ST_GROUP_BYTES + 1];
    uint8_t next[ST_GROUP_BYTES + 1], previous[ST_GROUP_BYTES + 1];
    uint32_t n, last;
    uint32_t stale[2]; /* parts whose pair changed and is on its way from memory; NOWHERE = none */
    st_word *word;
} lane;

static int32_t look_up(const st_pairs *pairs, const lane *l, uint32_t at)
{
    uint32_t merged = st_pairs_find(pairs, l->tokens[at], l->tokens[l->next[at]]);
    return merged == ST_NONE ? NO_CANDIDATE : (int32_t)(merged << 8 | at);
}

static void begin(const st_pairs *pairs, lane *l, st_word *word)
{
    l->word = word;
    l->n = word->n;
    l->last = word->n - 1;
    l->stale[0] = l->stale[1] = NOWHERE;
    for (uint32_t i = 0; i < l->n; i++) {
        l->tokens[i] = pairs->byte_token[word->text[i]];
        l->next[i] = (uint8_t)(i + 1);
        l->previous[i] = (uint8_t)(i - 1);
    }
    for (uint32_t i = 0; i + 1 < l->n; i++)
        l->candidates[i] = look_up(pairs, l, i);
}

static void expect(const st_pairs *pairs, lane *l, int which, uint32_t at)
{
    l->stale[which] = at;
    st_prefetch(st_pairs_place(pairs, l->tokens[at], l->tokens[l->next[at]]));
}

static void finish(lane *l)
{
    uint32_t count = 0;
    for (uint32_t i = 0;; i = l->next[i]) {
        l->word->tokens[count++] = l->tokens[i];
        if (i == l->last)
            break;
    }
    l->word->count = count;
}

/* Takes in the two awaited pairs, makes the next merge, and sends for the two pairs that it changed. 0: nothing left. */
static int step(const st_pairs *pairs, lane *l)
{
    for (int which = 0; which < 2; which++)
        if (l->stale[which] != NOWHERE)
            l->candidates[l->stale[which]] = look_up(pairs, l, l->stale[which]);
    int32_t best = NO_CANDIDATE;
    for (uint32_t i = 0; i + 1 < l->n; i++)
        best = l->candidates[i] < best ? l->candidates[i] : best;
    if (best == NO_CANDIDATE)
        return 0;
    uint32_t at = (uint32_t)best & 255, gone = l->next[at];
    l->tokens[at] = (uint32_t)best >> 8;
    l->candidates[at] = NO_CANDIDATE;
    l->stale[0] = l->stale[1] = NOWHERE;
    if (gone == l->last) {
        l->last = at;
    } else {
        uint32_t after = l->next[gone];
        l->candidates[gone] = NO_CANDIDATE;
        l->next[at] = (uint8_t)after;
        l->previous[after] = (uint8_t)at;
        expect(pairs, l, 0, at);
    }
    if (at)
        expect(pairs, l, 1, l->previous[at]);
    return 1;
}

void st_merge_words(const st_pairs *pairs, st_word *words, size_t count)
{
    lane lanes[ST_GROUP];
    size_t started = 0, running = 0;
    while (running < ST_GROUP && started < count)
        begin(pairs, &lanes[running++], &words[started++]);
    while (running) {
        for (size_t i = 0; i < running;) {
            if (step(pairs, &lanes[i])) {
                i++;
                continue;
            }
            finish(&lanes[i]);
            if (started < count)
                begin(pairs, &lanes[i++], &words[started++]);
            else if (i < --running)
                lanes[i] = lanes[running];
        }
    }
}
