/* Merging with AVX-512: a word a lane. Sixteen words make a group whose parts lie in columns, so that one instruction does the
 * same to all of them; only pairs are looked up one by one.
 *
 * A pass over a group takes in the answers of the last pass, makes one merge in each word, and sends for the pairs that this
 * changed. Two groups take turns: while the pairs of one are on their way from memory, the other goes on. */
#include "merge_words.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define ST_TARGET "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,bmi,bmi2,popcnt,lzcnt"
#include "target_begin.h"

#include "prefetch.h"
#include "word_parts.h"

#define LANES 16
#ifndef GROUPS
#define GROUPS 2
#endif

/* Places of parts: in order from 1 on, between two stand-ins for neighbours that are not there; a bit of 32 for each. */
#define BEFORE 0
#define FIRST 1
#define BEYOND 31
#define PLACES 32
#define MOST_PARTS (BEYOND - FIRST)

/* A candidate is merged << 8 | place, by the left part of the pair; where nothing merges, merged is all ones. */
#define NO_CANDIDATE 0xFFFFFF00u

/* Questions of a pass: each word asks for two pairs, or, when it begins, for all; whole vectors are written. */
#define QUESTIONS (LANES * MOST_PARTS + LANES)

/* Sixteen words being merged. */
typedef struct group {
    uint32_t candidates[PLACES * LANES]; /* [place][lane]; what stands there counts while the pair is alive */
    uint32_t tokens[PLACES * LANES];
    uint32_t alive[LANES]; /* a bit a part; those of the stand-ins stay set */
    uint32_t places;       /* those in use: no word has parts further on */
    uint32_t count;        /* lanes in use */
    uint32_t asked;
    uint64_t keys[QUESTIONS];    /* the pairs that are on their way, */
    uint32_t buckets[QUESTIONS]; /* where they will be, in bytes, */
    uint32_t cells[QUESTIONS];   /* and which candidate waits for the answer */
    uint32_t found[QUESTIONS];
    st_word *words[LANES];
} group;

/* Words are sorted by length so many at a time. */
#define SLAB 1024

typedef struct queue {
    const st_vocab *vocab;
    const st_cuts *cuts;
    st_word *words;
    uint32_t next, count;
    uint16_t order[SLAB];
} queue;

static inline __m512i load(const uint32_t *from)
{
    return _mm512_loadu_si512(from);
}

static inline void store(uint32_t *to, __m512i value)
{
    _mm512_storeu_si512(to, value);
}

static inline __m512i all(uint32_t value)
{
    return _mm512_set1_epi32((int)value);
}

static inline __m512i numbers(void)
{
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

static inline void scatter(uint32_t *to, __mmask16 mask, __m512i cells, __m512i values)
{
    _mm512_mask_i32scatter_epi32(to, mask, cells, values, 4);
}

static inline __m512i gather(const uint32_t *from, __mmask16 mask, __m512i cells)
{
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, cells, from, 4);
}

/* The place of the highest bit. */
static inline __m512i place_of(__m512i bits)
{
    return _mm512_sub_epi32(all(31), _mm512_lzcnt_epi32(bits));
}

/* Candidates for what a table answers: 1 + merged, or 0. */
static inline __m512i candidates_of(__m512i found, __m512i cells)
{
    const __m512i merged = _mm512_slli_epi32(_mm512_sub_epi32(found, all(1)), 8);
    return _mm512_or_si512(merged, _mm512_srli_epi32(cells, 4));
}

/* Eight pairs: what a slot holds of each, and the bytes in front of its bucket. */
static inline __m512i key_of(__m256i left, __m256i right)
{
    const __m512i high = _mm512_slli_epi64(_mm512_cvtepu32_epi64(left), ST_INDEX_BITS);
    return _mm512_or_si512(high, _mm512_cvtepu32_epi64(right));
}

static inline __m256i bucket_of(const st_pairs *pairs, __m512i key)
{
    const __m512i hash = _mm512_mullo_epi64(key, _mm512_set1_epi64((long long)UINT64_C(0x9E3779B97F4A7C15)));
    const __m512i number = _mm512_srl_epi64(hash, _mm_cvtsi32_si128((int)pairs->shift));
    return _mm512_cvtepi64_epi32(_mm512_slli_epi64(number, 6));
}

/* Adds the pairs of the lanes in the mask to the questions. */
static inline void ask(const st_pairs *pairs, group *g, __mmask16 mask, __m512i left, __m512i right, __m512i cells)
{
    const __m512i low = key_of(_mm512_castsi512_si256(left), _mm512_castsi512_si256(right));
    const __m512i high = key_of(_mm512_extracti64x4_epi64(left, 1), _mm512_extracti64x4_epi64(right, 1));
    const __m512i buckets = _mm512_inserti64x4(_mm512_castsi256_si512(bucket_of(pairs, low)), bucket_of(pairs, high), 1);
    const uint32_t from = g->asked, half = from + (uint32_t)_mm_popcnt_u32(mask & 255);
    _mm512_storeu_si512(g->keys + from, _mm512_maskz_compress_epi64((__mmask8)mask, _mm512_slli_epi64(low, ST_INDEX_BITS + 1)));
    _mm512_storeu_si512(g->keys + half, _mm512_maskz_compress_epi64((__mmask8)(mask >> 8), _mm512_slli_epi64(high, ST_INDEX_BITS + 1)));
    store(g->buckets + from, _mm512_maskz_compress_epi32(mask, buckets));
    store(g->cells + from, _mm512_maskz_compress_epi32(mask, cells));
    g->asked = from + (uint32_t)_mm_popcnt_u32(mask);
}

/* Questions are worked on so many at a time, because a loop whose number of rounds changes is mispredicted. Behind the last
 * stand some that nobody waits for. */
#define AT_ONCE 4

static inline void send(const st_pairs *pairs, group *g)
{
    store(g->buckets + g->asked, _mm512_setzero_si512());
    for (uint32_t i = 0; i < g->asked; i += AT_ONCE)
        for (uint32_t j = i; j < i + AT_ONCE; j++)
            st_prefetch((const char *)pairs->slots + g->buckets[j]);
}

/* What find_in_bucket does elsewhere: the answer, with bits above it that are not part of it. */
static inline uint32_t find_in_bucket(const uint64_t *bucket, uint64_t key)
{
    const __m512i low = _mm512_set1_epi64((long long)(ST_OVERFLOWED | ST_SLOT_MERGED)), slots = _mm512_loadu_si512(bucket);
    const __m512i differs = _mm512_andnot_si512(low, _mm512_xor_si512(slots, _mm512_set1_epi64((long long)key)));
    const __mmask8 same = _mm512_testn_epi64_mask(differs, differs);
    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(_mm512_maskz_compress_epi64(same, slots)));
}

/* Takes in what the last pass sent for. */
static inline void receive(const st_pairs *pairs, group *g)
{
    const uint32_t asked = g->asked;
    for (uint32_t i = 0; i < asked; i += AT_ONCE)
        for (uint32_t j = i; j < i + AT_ONCE; j++) {
            const uint64_t *bucket = (const uint64_t *)(const void *)((const char *)pairs->slots + g->buckets[j]);
            uint32_t found = find_in_bucket(bucket, g->keys[j]);
            if (bucket[0] & ST_OVERFLOWED) /* seldom */
                found = st_pairs_find_further(pairs, bucket, g->keys[j]);
            g->found[j] = found;
        }
    for (uint32_t i = 0; i < asked; i += LANES) {
        const uint32_t left = asked - i;
        const __mmask16 mask = (__mmask16)_bzhi_u32(0xFFFF, left);
        const __m512i cells = load(g->cells + i), found = _mm512_and_si512(load(g->found + i), all(ST_SLOT_MERGED));
        scatter(g->candidates, mask, cells, candidates_of(found, cells));
    }
    g->asked = 0;
}

static inline __m512i smallest(const group *g, __m512i alive)
{
    const __m512i parts = _mm512_and_si512(alive, all((1u << BEYOND) - 1)); /* with BEFORE: no word needs no case of its own */
    const __m512i last = _mm512_srlv_epi32(all(1u << 31), _mm512_lzcnt_epi32(parts)), pairs = _mm512_xor_si512(parts, last);
    __m512i least = all(NO_CANDIDATE), bit = all(1u << FIRST);
    for (uint32_t place = FIRST; place < g->places; place++) {
        const __mmask16 there = _mm512_test_epi32_mask(pairs, bit);
        least = _mm512_mask_min_epu32(least, there, least, load(g->candidates + place * LANES));
        bit = _mm512_slli_epi32(bit, 1);
    }
    return least;
}

/* Makes the next merge of every word, and sends for the two pairs that it changed. Returns the lanes that had one. */
static inline __mmask16 step(const st_pairs *pairs, group *g)
{
    const __m512i one = all(1), lane = numbers(), alive = load(g->alive), best = smallest(g, alive);
    const __mmask16 merging = _mm512_cmplt_epu32_mask(best, all(NO_CANDIDATE));
    const __m512i place = _mm512_and_si512(best, all(255)), merged = _mm512_srli_epi32(best, 8);
    const __m512i bit = _mm512_sllv_epi32(one, place);
    const __m512i behind = _mm512_and_si512(alive, _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(bit, 1)));
    const __m512i rest = _mm512_and_si512(behind, _mm512_sub_epi32(behind, one)), gone = _mm512_xor_si512(behind, rest);
    const __m512i next = place_of(_mm512_andnot_si512(_mm512_sub_epi32(rest, one), rest));
    const __m512i previous = place_of(_mm512_and_si512(alive, _mm512_sub_epi32(bit, one)));
    const __m512i cell = _mm512_or_si512(_mm512_slli_epi32(place, 4), lane);
    const __m512i cell_next = _mm512_or_si512(_mm512_slli_epi32(next, 4), lane);
    const __m512i cell_previous = _mm512_or_si512(_mm512_slli_epi32(previous, 4), lane);
    const __mmask16 has_next = _mm512_mask_cmpneq_epi32_mask(merging, next, all(BEYOND));
    const __mmask16 has_previous = _mm512_mask_test_epi32_mask(merging, previous, previous);
    store(g->alive, _mm512_mask_xor_epi32(alive, merging, alive, gone));
    scatter(g->tokens, merging, cell, merged);
    ask(pairs, g, has_next, merged, gather(g->tokens, has_next, cell_next), cell);
    ask(pairs, g, has_previous, gather(g->tokens, has_previous, cell_previous), merged, cell_previous);
    send(pairs, g);
    return merging;
}

/* The tokens of the word in a lane. */
static void finish(const group *g, uint32_t lane)
{
    st_word *word = g->words[lane];
    const uint32_t parts = g->alive[lane] & ~(1u << BEFORE | 1u << BEYOND);
    uint32_t count = 0;
    for (uint32_t from = 0; from < g->places; from += LANES) {
        const __mmask16 mask = (__mmask16)(parts >> from);
        const __m512i cells = _mm512_add_epi32(_mm512_slli_epi32(numbers(), 4), all(from * LANES + lane));
        const __m512i tokens = _mm512_maskz_compress_epi32(mask, gather(g->tokens, mask, cells));
        const uint32_t more = (uint32_t)_mm_popcnt_u32(mask);
        _mm512_mask_storeu_epi32(word->tokens + count, (__mmask16)_bzhi_u32(0xFFFF, more), tokens);
        count += more;
    }
    word->count = count;
}

static uint32_t split_bytes(const st_pairs *pairs, const st_word *word, uint32_t *tokens)
{
    for (uint32_t at = 0; at < word->n; at += LANES) {
        const __m128i bytes = _mm_maskz_loadu_epi8((__mmask16)_bzhi_u32(0xFFFF, word->n - at), word->text + at);
        store(tokens + at, gather(pairs->byte_token, 0xFFFF, _mm512_cvtepu8_epi32(bytes)));
    }
    return word->n;
}

/* Looks up the pairs that the words begin with: in the grid at once, the others a pass later. */
static void look_up_all(const st_pairs *pairs, group *g)
{
    const __m512i alive = load(g->alive), side = all(pairs->dense_side);
    __m512i left = load(g->tokens + FIRST * LANES);
    for (uint32_t place = FIRST; place + 1 < g->places; place++) {
        const __m512i right = load(g->tokens + (place + 1) * LANES), cells = _mm512_add_epi32(numbers(), all(place * LANES));
        const __mmask16 there = _mm512_test_epi32_mask(alive, all(2u << place));
        const __mmask16 dense = _mm512_mask_cmplt_epu32_mask(there, _mm512_max_epu32(left, right), side);
        const __m512i found = gather(pairs->dense, dense, _mm512_add_epi32(_mm512_mullo_epi32(left, side), right));
        store(g->candidates + place * LANES, candidates_of(found, cells));
        if (there ^ dense)
            ask(pairs, g, there ^ dense, left, right, cells);
        left = right;
    }
    send(pairs, g);
}

/* Staging for the parts of a word: whole vectors are written. */
#define ROOM (ST_GROUP_BYTES / LANES * LANES + LANES)

/* Takes on the next words. */
static void begin(queue *q, group *g)
{
    uint32_t parts[LANES * ROOM], most = 0;
    const uint32_t count = q->count - q->next < LANES ? q->count - q->next : LANES;
    store(g->alive, all(1u << BEFORE | 1u << BEYOND));
    for (uint32_t lane = 0; lane < count; lane++) {
        st_word *word = g->words[lane] = &q->words[q->order[q->next++]];
        const uint32_t n = st_begins_as_characters(q->vocab, q->cuts, word)
                               ? st_split_characters(q->vocab, q->cuts, word, parts + ROOM * lane)
                               : split_bytes(&q->vocab->pairs, word, parts + ROOM * lane);
        if (n > MOST_PARTS)
            continue; /* seldom; its end will find it without parts */
        g->alive[lane] |= ((uint32_t)2 << n) - 1;
        most = most < n ? n : most;
    }
    g->count = count;
    g->places = FIRST + most;
    g->asked = 0;
    const __m512i rows = _mm512_mullo_epi32(numbers(), all(ROOM));
    for (uint32_t i = 0; i < most; i++)
        store(g->tokens + (FIRST + i) * LANES, gather(parts + i, 0xFFFF, rows));
    look_up_all(&q->vocab->pairs, g);
}

static void end(const queue *q, group *g)
{
    for (uint32_t lane = 0; lane < g->count; lane++)
        if (g->alive[lane] == (1u << BEFORE | 1u << BEYOND))
            st_merge_words_avx2(q->vocab, q->cuts, g->words[lane], 1);
        else
            finish(g, lane);
}

/* Sorts the words by length, the longest first: those of a group should take equally many merges. */
static void sort(queue *q)
{
    uint32_t starts[ST_GROUP_BYTES + 2] = {0};
    for (uint32_t i = 0; i < q->count; i++)
        starts[ST_GROUP_BYTES - q->words[i].n + 1]++;
    for (uint32_t i = 0; i < ST_GROUP_BYTES; i++)
        starts[i + 1] += starts[i];
    for (uint32_t i = 0; i < q->count; i++)
        q->order[starts[ST_GROUP_BYTES - q->words[i].n]++] = (uint16_t)i;
}

void st_merge_words_avx512(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count)
{
    group groups[GROUPS];
    group *running[GROUPS];
    for (size_t from = 0; from < count; from += SLAB) {
        queue q = {v, cuts, words + from, 0, (uint32_t)(count - from < SLAB ? count - from : SLAB), {0}};
        sort(&q);
        uint32_t live = 0;
        for (; live < GROUPS && q.next < q.count; live++)
            begin(&q, running[live] = &groups[live]);
        while (live) {
            for (uint32_t i = 0; i < live; i++)
                receive(&v->pairs, running[i]);
            for (uint32_t i = 0; i < live;) {
                if (step(&v->pairs, running[i])) {
                    i++;
                    continue;
                }
                end(&q, running[i]);
                if (q.next < q.count)
                    begin(&q, running[i++]);
                else
                    running[i] = running[--live];
            }
        }
    }
}

#include "target_end.h"
#else
typedef int st_no_merge_avx512; /* a file must hold something */
#endif
