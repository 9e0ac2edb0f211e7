/* words_template.h - the merging of words.h, for the tier of the file that includes it (base/vector.h) after defining
 *
 *     find_in_bucket(bucket, key)     what st_bucket_find does (pairs/pair_table.h)
 *     find_two(buckets, keys)         the same for two keys at once
 *     smallest(candidates, rows)      the smallest of rows * ST_ROW numbers (smallest.h)
 *
 * A merge step has one branch that depends on the text: the one that ends the word. Where a symbol has no neighbour, a stand-in
 * takes its place, with which nothing merges. */
#include "base/tier.h"
#include "base/prefetch.h"
#include "base/utf8.h"
#include "merge/sure_pairs.h"
#include "merge/words.h"

/* The symbols have the places from 1 on. In front of the first and behind the last is a stand-in. */
#define BEFORE 0
#define FIRST 1
#define BEYOND (ST_WORD_BYTES + 1)

#define ROWS ((ST_WORD_BYTES + 2 + ST_ROW - 1) / ST_ROW)

/* One word being merged. A symbol is named by its place among the symbols that the word began with. */
typedef struct merging {
    uint32_t candidates[ROWS * ST_ROW];
    uint32_t rows;
    uint32_t tokens[ST_WORD_BYTES + 2];
    uint64_t alive;             /* a bit a symbol; those of the stand-ins stay set */
    uint32_t changed[2];        /* symbols whose pair with the next one was prefetched */
    uint64_t keys[2];           /* those pairs */
    const uint64_t *buckets[2]; /* the buckets of those pairs */
    st_word *word;
    uint32_t merges; /* merges that it may still make */
    int fresh;       /* 1: its pairs are still to be looked up */
} merging;

static inline uint32_t candidate(uint32_t found, uint32_t place)
{
    return (found - 1) << 8 | place;
}

/* The symbols that a word begins with: whole characters where the rule says so (cut/cut_rule.h), else bytes. */
static uint32_t split_characters(const st_vocab *v, const st_cuts *cuts, const st_word *word, uint32_t *tokens)
{
    const uint8_t *text = word->text;
    uint32_t count = 0;
    unsigned open_before = 0; /* the border in front of this character, as st_cut_shapes gives it */
    for (size_t at = 0, end; at < word->n; at = end) {
        unsigned size;
        const uint32_t code_point = st_utf8_decode(text + at, &size);
        end = at + size;
        const unsigned open_behind = end < word->n ? st_cut_shapes(cuts->tables, text[end - 1], text[end]) : 0;
        const uint32_t whole = st_whole_character(cuts->tables, code_point, open_before | open_behind);
        if (whole != ST_NONE)
            tokens[count++] = whole;
        else
            for (size_t i = at; i < end; i++)
                tokens[count++] = v->pairs.byte_token[text[i]];
        open_before = open_behind;
    }
    return count;
}

static uint32_t split_bytes(const st_vocab *v, const st_word *word, uint32_t *tokens)
{
    for (uint32_t i = 0; i < word->n; i++)
        tokens[i] = v->pairs.byte_token[word->text[i]];
    return word->n;
}

/* The symbols of a word that begins as bytes, and as pairs of them that surely merge. */
static uint32_t split_pairs(const st_vocab *v, const st_sure_pairs *sure, const st_word *word, uint32_t *tokens)
{
    const uint8_t *text = word->text;
    const uint32_t last = word->n - 1;
    uint64_t before = ST_SURE_NOTHING, entry = last ? st_sure_entry(sure, text[0], text[1]) : ST_SURE_NOTHING;
    uint32_t count = 0;
    int taken = 0; /* 1: the byte is the second one of a pair */
    for (uint32_t i = 0; i < last; i++) {
        const uint64_t behind = i + 1 < last ? st_sure_entry(sure, text[i + 1], text[i + 2]) : ST_SURE_NOTHING;
        const int is_sure = st_sure_is(before, entry, behind);
        const uint32_t single = v->pairs.byte_token[text[i]];
        tokens[count] = is_sure ? st_sure_merged(entry) : single;
        count += !taken;
        taken = is_sure;
        before = entry;
        entry = behind;
    }
    tokens[count] = v->pairs.byte_token[text[last]];
    return count + !taken;
}

/* Begins a word. Prefetches its pairs; look_up_all reads them one round later. */
static void begin(const st_vocab *v, const st_cuts *cuts, merging *l, st_word *word, uint32_t enough)
{
    const st_sure_pairs *sure = st_vocab_sure_pairs_built(v);
    const int by_characters = cuts && st_has_high_bytes(word->text, word->n);
    const uint32_t n = by_characters ? split_characters(v, cuts, word, l->tokens + FIRST)
                       : sure        ? split_pairs(v, sure, word, l->tokens + FIRST)
                                     : split_bytes(v, word, l->tokens + FIRST);
    l->word = word;
    l->merges = n > enough ? n - enough : 0;
    l->fresh = 1;
    l->alive = (((uint64_t)2 << n) - 1) | (uint64_t)1 << BEYOND;
    l->tokens[BEFORE] = l->tokens[BEYOND] = ST_NO_TOKEN;
    l->rows = n / ST_ROW + 1;
    for (uint32_t i = 0; i < l->rows * ST_ROW; i++)
        l->candidates[i] = ST_NO_CANDIDATE;
    for (uint32_t i = FIRST; i < n && (by_characters || sure); i++)
        st_prefetch(st_pairs_place(&v->pairs, l->tokens[i], l->tokens[i + 1]));
}

static inline uint32_t find_pair(const st_pairs *pairs, uint32_t left, uint32_t right)
{
    const uint32_t side = pairs->dense_side;
    if (left < side && right < side)
        return pairs->dense[(size_t)left * side + right];
    const uint64_t key = st_pair_key(left, right), *bucket = st_pair_bucket(pairs, key);
    if (bucket[0] & ST_OVERFLOWED) /* seldom */
        return st_pairs_find_further(pairs, bucket, key);
    return find_in_bucket(bucket, key);
}

static void look_up_all(const st_pairs *pairs, merging *l)
{
    const uint32_t n = st_last_bit(l->alive & ~((uint64_t)1 << BEYOND));
    l->fresh = 0;
    for (uint32_t i = FIRST; i < n; i++)
        l->candidates[i] = candidate(find_pair(pairs, l->tokens[i], l->tokens[i + 1]), i);
    for (int i = 0; i < 2; i++) {
        l->changed[i] = BEYOND;
        l->keys[i] = st_pair_key(ST_NO_TOKEN, 0); /* a key that no slot has, not even an empty one */
        l->buckets[i] = st_empty_bucket;
    }
}

/* Reads the pairs that the last step prefetched. */
static inline void receive(const st_pairs *pairs, merging *l)
{
    if (l->fresh)
        look_up_all(pairs, l);
    st_two_found found = find_two(l->buckets, l->keys);
    if ((l->buckets[0][0] | l->buckets[1][0]) & ST_OVERFLOWED) { /* seldom */
        if (l->buckets[0][0] & ST_OVERFLOWED)
            found.first = st_pairs_find_further(pairs, l->buckets[0], l->keys[0]);
        if (l->buckets[1][0] & ST_OVERFLOWED)
            found.second = st_pairs_find_further(pairs, l->buckets[1], l->keys[1]);
    }
    l->candidates[l->changed[0]] = candidate(found.first, l->changed[0]);
    l->candidates[l->changed[1]] = candidate(found.second, l->changed[1]);
}

/* Prefetches the pair of the symbols at `place` and `next`, if both are there. */
static inline void send(const st_pairs *pairs, merging *l, int which, uint32_t place, uint32_t next, int are_there)
{
    const uint64_t key = st_pair_key(l->tokens[place], l->tokens[next]);
    const uintptr_t there = 0 - (uintptr_t)are_there, none = (uintptr_t)st_empty_bucket; /* a branch would be mispredicted */
    l->changed[which] = place;
    l->keys[which] = key;
    l->buckets[which] = (const uint64_t *)(none + (((uintptr_t)st_pair_bucket(pairs, key) - none) & there));
    st_prefetch(l->buckets[which]);
}

/* Makes the next merge and prefetches the two pairs that it changed. 0: there is no merge to make. */
ST_FORCE_INLINE int step(const st_pairs *pairs, merging *l, uint32_t enough)
{
    const uint32_t best = smallest(l->candidates, l->rows);
    if (best >= ST_NO_CANDIDATE || (enough && !l->merges--))
        return 0;
    const uint32_t place = best & 255;
    const uint64_t behind = l->alive & ~(((uint64_t)2 << place) - 1), rest = behind & (behind - 1);
    const uint32_t gone = st_first_bit(behind), next = st_first_bit(rest);
    const uint32_t previous = st_last_bit(l->alive & (((uint64_t)1 << place) - 1));
    l->alive ^= behind ^ rest;
    l->tokens[place] = best >> 8;
    l->candidates[place] = l->candidates[gone] = ST_NO_CANDIDATE;
    send(pairs, l, 0, place, next, next != BEYOND);
    send(pairs, l, 1, previous, place, previous != BEFORE);
    return 1;
}

static void finish(merging *l)
{
    const uint64_t stand_ins = (uint64_t)1 << BEFORE | (uint64_t)1 << BEYOND;
    uint32_t count = 0;
    for (uint64_t alive = l->alive ^ stand_ins; alive; alive &= alive - 1)
        l->word->tokens[count++] = l->tokens[st_first_bit(alive)];
    l->word->count = count;
}

/* Merges words until each has `enough` symbols or fewer, or, with 0, to the end; `enough` must be a constant. A step makes two
 * passes over the words: what the first one writes has reached the cache when the second reads it as vectors. */
ST_FORCE_INLINE void merge_until(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count, uint32_t enough)
{
    merging words_in_turn[ST_WORDS_IN_TURN];
    merging *running[ST_WORDS_IN_TURN];
    size_t started = 0, live = 0;
    for (; live < ST_WORDS_IN_TURN && started < count; live++) {
        running[live] = &words_in_turn[live];
        begin(v, cuts, running[live], &words[started++], enough);
    }
    while (live) {
        for (size_t i = 0; i < live; i++)
            receive(&v->pairs, running[i]);
        for (size_t i = 0; i < live;) {
            if (step(&v->pairs, running[i], enough)) {
                i++;
                continue;
            }
            finish(running[i]);
            if (started < count)
                begin(v, cuts, running[i++], &words[started++], enough);
            else
                running[i] = running[--live];
        }
    }
}

static void ST_OF_TIER(st_merge_words)(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count, void *buffer)
{
    (void)buffer;
    merge_until(v, cuts, words, count, 0);
}
