#include "merge_words.h"

#include "prefetch.h"
#include "utf8.h"

#define NO_CANDIDATE INT32_MAX
#define NOWHERE UINT32_MAX

/* The smallest candidate is searched four at a time; the list is filled up to a multiple of that. */
#define STRIDE 4

/* One word being merged. A part is named by its place among the parts that the word began with. */
typedef struct lane {
    int32_t candidates[ST_GROUP_BYTES + STRIDE]; /* merged << 8 | place */
    uint32_t tokens[ST_GROUP_BYTES + 1];
    uint8_t next[ST_GROUP_BYTES + 1], previous[ST_GROUP_BYTES + 1];
    uint32_t n, last;
    uint32_t awaited[2]; /* parts whose pair with the next one is on its way from memory */
    uint64_t slots[2];   /* where it will be */
    st_word *word;
} lane;

static int32_t pack(uint32_t merged, uint32_t place)
{
    return merged == ST_NONE ? NO_CANDIDATE : (int32_t)(merged << 8 | place);
}

/* Parts to begin with: bytes, but characters that are a token and that no token can break into begin whole. Their own
 * merges come before any merge with a neighbour, because a token always comes after its parts (monotone). */
static uint32_t split_characters(const st_vocab *v, const st_cuts *cuts, const st_word *word, uint32_t *tokens)
{
    const uint8_t *text = word->text;
    uint32_t count = 0;
    int open_before = 0; /* some token may reach over the border in front of this character */
    for (size_t at = 0, end; at < word->n; at = end) {
        unsigned size;
        end = at + st_utf8_size(text[at]);
        int open_behind = end < word->n && st_cuts_partial(cuts, text, at, end, end + st_utf8_size(text[end]));
        uint32_t whole = ST_NONE;
        if (end - at > 1 && end - at < 4 && !open_before && !open_behind)
            whole = cuts->characters[st_utf8_decode(text + at, &size)];
        if (whole != ST_NONE)
            tokens[count++] = whole;
        else
            for (size_t i = at; i < end; i++)
                tokens[count++] = v->pairs.byte_token[text[i]];
        open_before = open_behind;
    }
    return count;
}

static void begin(const st_vocab *v, const st_cuts *cuts, lane *l, st_word *word)
{
    l->word = word;
    l->awaited[0] = l->awaited[1] = NOWHERE;
    if (cuts && v->monotone && st_has_high_bytes(word->text, word->n)) {
        l->n = split_characters(v, cuts, word, l->tokens);
    } else {
        l->n = word->n;
        for (uint32_t i = 0; i < l->n; i++)
            l->tokens[i] = v->pairs.byte_token[word->text[i]];
    }
    l->last = l->n - 1;
    for (uint32_t i = 0; i < l->n; i++) {
        l->next[i] = (uint8_t)(i + 1);
        l->previous[i] = (uint8_t)(i - 1);
    }
    for (uint32_t i = 0; i < l->last; i++)
        l->candidates[i] = pack(st_pairs_find(&v->pairs, l->tokens[i], l->tokens[i + 1]), i);
    for (uint32_t i = l->last; i < l->n + STRIDE; i++)
        l->candidates[i] = NO_CANDIDATE;
}

/* The pair of the part at `place` changed: looks it up in the grid at once, or sends for its slot. */
static inline void renew(const st_pairs *pairs, lane *l, int which, uint32_t place)
{
    uint32_t left = l->tokens[place], right = l->tokens[l->next[place]], side = pairs->dense_side;
    if (left < side && right < side) {
        l->candidates[place] = pack(pairs->dense[(size_t)left * side + right] - 1, place);
        return;
    }
    l->candidates[place] = NO_CANDIDATE;
    l->awaited[which] = place;
    l->slots[which] = st_pair_slot(pairs, (uint64_t)left << ST_INDEX_BITS | right);
    st_prefetch(&pairs->slots[l->slots[which]]);
}

static inline void receive(const st_pairs *pairs, lane *l, int which)
{
    uint32_t place = l->awaited[which];
    if (place == NOWHERE)
        return;
    l->awaited[which] = NOWHERE;
    l->candidates[place] =
        pack(st_pairs_find_from(pairs, l->slots[which], l->tokens[place], l->tokens[l->next[place]]), place);
}

static inline int32_t smallest(const lane *l)
{
    int32_t best[STRIDE] = {NO_CANDIDATE, NO_CANDIDATE, NO_CANDIDATE, NO_CANDIDATE};
    for (uint32_t i = 0; i < l->n; i += STRIDE)
        for (uint32_t k = 0; k < STRIDE; k++)
            best[k] = l->candidates[i + k] < best[k] ? l->candidates[i + k] : best[k];
    int32_t a = best[0] < best[1] ? best[0] : best[1], b = best[2] < best[3] ? best[2] : best[3];
    return a < b ? a : b;
}

/* Takes in the awaited pairs, makes the next merge, and sends for the two pairs that it changed. 0: nothing left. */
static inline int step(const st_pairs *pairs, lane *l)
{
    receive(pairs, l, 0);
    receive(pairs, l, 1);
    int32_t best = smallest(l);
    if (best == NO_CANDIDATE)
        return 0;
    uint32_t place = (uint32_t)best & 255, gone = l->next[place];
    l->tokens[place] = (uint32_t)best >> 8;
    l->candidates[place] = NO_CANDIDATE;
    if (gone == l->last) {
        l->last = place;
    } else {
        uint32_t after = l->next[gone];
        l->candidates[gone] = NO_CANDIDATE;
        l->next[place] = (uint8_t)after;
        l->previous[after] = (uint8_t)place;
        renew(pairs, l, 0, place);
    }
    if (place)
        renew(pairs, l, 1, l->previous[place]);
    return 1;
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

void st_merge_words(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count)
{
    lane lanes[ST_GROUP];
    lane *running[ST_GROUP];
    size_t started = 0, live = 0;
    for (; live < ST_GROUP && started < count; live++) {
        running[live] = &lanes[live];
        begin(v, cuts, running[live], &words[started++]);
    }
    while (live) {
        for (size_t i = 0; i < live;) {
            if (step(&v->pairs, running[i])) {
                i++;
                continue;
            }
            finish(running[i]);
            if (started < count)
                begin(v, cuts, running[i++], &words[started++]);
            else
                running[i] = running[--live];
        }
    }
}
