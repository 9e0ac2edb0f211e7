/* Merging with AVX-512: a word a lane. Sixteen words make a group whose symbols lie in columns, so that one instruction does
 * the same to all of them; only the buckets of the pair table are read one by one.
 *
 * A pass over a group reads the pairs that the last pass prefetched, makes one merge in each word, and prefetches the pairs that
 * this changed. Groups take turns: while one waits for its pairs, the others go on. */
#include "merge/words.h"

#include <string.h>

#include "base/prefetch.h"
#include "merge/begin_words_avx512.h"

#define GROUPS 3 /* two, four and six take up to 4 % longer on some texts, and none less */

/* Places of symbols: in order from 1 on, between two stand-ins for neighbours that are not there; a bit of 32 for each. */
#define BEFORE 0
#define FIRST 1
#define BEYOND 31
#define PLACES 32
_Static_assert(MOST_SYMBOLS == BEYOND - FIRST, "a bit of 32 for each, and for the stand-ins");

/* Pairs that a group asks for at a time: two for each word, or, when it begins, all. Whole vectors are written. */
#define QUESTIONS (LANES * MOST_SYMBOLS + LANES)

/* The bits of a slot that do not belong to its key. */
#define BELOW_KEY (ST_OVERFLOWED | ST_SLOT_MERGED)

/* Sixteen words being merged. */
typedef struct group {
    uint32_t candidates[PLACES * LANES]; /* [place][lane]; what stands there counts while the pair is alive */
    uint32_t tokens[(PLACES + 1) * LANES]; /* written and read eight places at a time, from FIRST on */
    uint32_t alive[LANES]; /* a bit a symbol; those of the stand-ins stay set */
    uint32_t places;       /* places in use: no word has symbols behind them */
    uint32_t count;        /* lanes in use */
    uint32_t asked;
    uint64_t keys[QUESTIONS];    /* the prefetched pairs, the bits below the key set */
    uint32_t buckets[QUESTIONS]; /* their buckets, as offsets in bytes */
    uint32_t cells[QUESTIONS];   /* the candidates that wait for them */
    uint32_t found[QUESTIONS];   /* 1 + merged, or 0; the bits above ST_SLOT_MERGED are undefined */
    st_word *words[LANES];
} group;

/* Words that are split into symbols, and sorted by their number, at a time. */
#define SLAB 512

/* Room for the symbols of a word that a lane can hold, in whole vectors. */
#define ROOM 32

typedef struct slab {
    st_word *words;
    uint32_t count, next;
    uint16_t order[SLAB]; /* the words in the order in which they begin */
    uint8_t sizes[SLAB];
    uint32_t symbols[SLAB * ROOM + LANES]; /* a vector is written behind the last one */
} slab;

static inline __m512i load(const uint32_t *from)
{
    return _mm512_loadu_si512(from);
}

static inline __m256i load_eight(const uint32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline __m512i numbers(void)
{
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

static inline void scatter(uint32_t *to, __mmask16 mask, __m512i cells, __m512i values)
{
    _mm512_mask_i32scatter_epi32(to, mask, cells, values, 4);
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

/* Eight numbers of 64 bits: the lower or upper eight of sixteen, by their low and high halves. */
static inline __m512i joined(__m512i low, __m512i high, uint32_t from)
{
    const __m512i order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return _mm512_permutex2var_epi32(low, _mm512_add_epi32(order, all(from)), high);
}

/* The product in st_pair_bucket, for eight keys. */
static inline __m512i hashes_of(__m512i keys)
{
    const __m512i golden = _mm512_set1_epi64((long long)ST_GOLDEN);
    return _mm512_mullo_epi64(_mm512_srli_epi64(keys, ST_INDEX_BITS + 1), golden);
}

/* Their buckets as st_pair_bucket finds them, in bytes: the largest table has 64 MB, and 16 buckets at least need no more than
 * the upper halves of the hashes. */
static inline __m512i buckets_of(const st_pairs *pairs, __m512i low, __m512i high)
{
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    const __m512i hashes = _mm512_permutex2var_epi32(hashes_of(low), odd, hashes_of(high));
    return _mm512_slli_epi32(_mm512_srlv_epi32(hashes, all(pairs->shift - 32)), 6);
}

/* Appends the pairs of the lanes in the mask to the questions. */
static inline void ask(const st_pairs *pairs, group *g, __mmask16 mask, __m512i left, __m512i right, __m512i cells)
{
    /* The halves of what st_pair_key makes: left << 11 | right >> 10, and right << 22. */
    const __m512i key_high = _mm512_shldi_epi32(left, _mm512_slli_epi32(right, 32 - ST_INDEX_BITS), 32 - ST_INDEX_BITS);
    const __m512i key_low = _mm512_or_si512(_mm512_slli_epi32(right, ST_INDEX_BITS + 1), all(BELOW_KEY));
    const __m512i low = joined(key_low, key_high, 0), high = joined(key_low, key_high, 8);
    const uint32_t from = g->asked, half = from + (uint32_t)_mm_popcnt_u32(mask & 255);
    _mm512_storeu_si512(g->keys + from, _mm512_maskz_compress_epi64((__mmask8)mask, low));
    _mm512_storeu_si512(g->keys + half, _mm512_maskz_compress_epi64((__mmask8)(mask >> 8), high));
    store(g->buckets + from, _mm512_maskz_compress_epi32(mask, buckets_of(pairs, low, high)));
    store(g->cells + from, _mm512_maskz_compress_epi32(mask, cells));
    g->asked = from + (uint32_t)_mm_popcnt_u32(mask);
}

/* Questions answered at a time, because a loop with a varying number of rounds is mispredicted. The last round may read some more
 * questions, whose answers are not used. */
#define AT_ONCE 4

static inline void send(const st_pairs *pairs, group *g)
{
    store(g->buckets + g->asked, _mm512_setzero_si512());
    _mm512_storeu_si512(g->keys + g->asked, _mm512_setzero_si512());
    for (uint32_t i = 0; i < g->asked; i += AT_ONCE)
        for (uint32_t j = i; j < i + AT_ONCE; j++)
            st_prefetch((const char *)pairs->slots + g->buckets[j]);
}

/* As find_in_bucket of the other tiers, but the bits above the answer are undefined. */
static inline uint32_t find_in_bucket(const uint64_t *bucket, uint64_t key)
{
    const __m512i slots = _mm512_loadu_si512(bucket), keys = _mm512_or_si512(slots, _mm512_set1_epi64((long long)BELOW_KEY));
    const __mmask8 same = _mm512_cmpeq_epi64_mask(keys, _mm512_set1_epi64((long long)key));
    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(_mm512_maskz_compress_epi64(same, slots)));
}

/* Reads the pairs that the last pass prefetched. */
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
        const __m512i cells = load(g->cells + i), found = _mm512_and_si512(load(g->found + i), all(ST_SLOT_MERGED));
        scatter(g->candidates, first_lanes(asked - i), cells, candidates_of(found, cells));
    }
    g->asked = 0;
}

/* The smallest candidate of each word, among the symbols that are alive, without the last one, which has no right neighbour. */
static inline __m512i smallest(const group *g, __m512i alive)
{
    const __m512i symbols = _mm512_and_si512(alive, all((1u << BEYOND) - (1u << FIRST))), highest = all(1u << 31);
    const __m512i pairs = _mm512_xor_si512(symbols, _mm512_srlv_epi32(highest, _mm512_lzcnt_epi32(symbols)));
    __m512i least = all(ST_NO_CANDIDATE), other = least;
    for (uint32_t place = 0; place < g->places; place += AT_ONCE) {
        const __m512i bits = _mm512_srl_epi32(pairs, _mm_cvtsi32_si128((int)place));
        for (uint32_t i = 0; i < AT_ONCE; i += 2) {
            const uint32_t *candidates = g->candidates + (place + i) * LANES;
            least = _mm512_mask_min_epu32(least, _mm512_test_epi32_mask(bits, all(1u << i)), least, load(candidates));
            other = _mm512_mask_min_epu32(other, _mm512_test_epi32_mask(bits, all(2u << i)), other, load(candidates + LANES));
        }
    }
    return _mm512_min_epu32(least, other);
}

/* Makes the next merge of every word and prefetches the two pairs that it changed. Returns the lanes that made one. */
static inline __mmask16 step(const st_pairs *pairs, group *g)
{
    const __m512i one = all(1), lane = numbers(), alive = load(g->alive), best = smallest(g, alive);
    const __mmask16 merging = _mm512_cmplt_epu32_mask(best, all(ST_NO_CANDIDATE));
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
    const __m512i right = gather(g->tokens, has_next, cell_next), left = gather(g->tokens, has_previous, cell_previous);
    store(g->alive, _mm512_mask_xor_epi32(alive, merging, alive, gone));
    scatter(g->tokens, merging, cell, merged); /* behind the gathers, which would wait for it */
    ask(pairs, g, has_next, merged, right, cell);
    ask(pairs, g, has_previous, left, merged, cell_previous);
    send(pairs, g);
    return merging;
}

/* Appends those of eight tokens that are symbols of the word to its tokens. */
static inline void append_symbols(st_word *word, __mmask8 symbols, const uint32_t *tokens)
{
    const uint32_t count = (uint32_t)_mm_popcnt_u32(symbols);
    _mm256_mask_storeu_epi32(word->tokens + word->count, first_wide_lanes(count),
                             _mm256_maskz_compress_epi32(symbols, load_eight(tokens)));
    word->count += count;
}

/* The tokens of all words: eight places become eight tokens of each word. */
static void end(const group *g)
{
    uint32_t rows[8][LANES];
    for (uint32_t lane = 0; lane < g->count; lane++)
        g->words[lane]->count = 0;
    for (uint32_t from = FIRST; from < g->places; from += 8) {
        __m512i columns[8];
        for (uint32_t i = 0; i < 8; i++)
            columns[i] = load(g->tokens + (from + i) * LANES);
        transpose_halves(columns);
        for (uint32_t i = 0; i < 8; i++)
            store(rows[i], columns[i]);
        for (uint32_t lane = 0; lane < g->count; lane++)
            append_symbols(g->words[lane], (__mmask8)((g->alive[lane] & ~(1u << BEYOND)) >> from), rows[lane & 7] + (lane & 8));
    }
}

/* Looks up the pairs that the words begin with. Those in the grid are read at once, the others are prefetched. */
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

/* Begins the next words. */
static void begin(const st_pairs *pairs, slab *s, group *g)
{
    const uint32_t left = s->count - s->next, count = left < LANES ? left : LANES, most = s->sizes[s->order[s->next]];
    const uint32_t *symbols[LANES];
    for (uint32_t lane = 0; lane < LANES; lane++) {
        const uint32_t number = lane < count ? s->order[s->next + lane] : 0;
        symbols[lane] = s->symbols + ROOM * number;
        g->words[lane] = &s->words[number];
        g->alive[lane] = ((lane < count ? (uint32_t)2 << s->sizes[number] : 2) - 1) | 1u << BEYOND;
    }
    s->next += count;
    g->count = count;
    g->places = FIRST + most;
    g->asked = 0;
    for (uint32_t at = 0; at < most; at += 8) {
        __m512i columns[8];
        for (uint32_t i = 0; i < 8; i++) {
            const __m512i low = _mm512_castsi256_si512(load_eight(symbols[i] + at));
            columns[i] = _mm512_inserti64x4(low, load_eight(symbols[i + 8] + at), 1);
        }
        transpose_halves(columns);
        for (uint32_t i = 0; i < 8; i++)
            store(g->tokens + (FIRST + at + i) * LANES, columns[i]);
    }
    look_up_all(pairs, g);
}

/* Words with too many symbols for a lane: merges them in turns until a lane can hold them, or to the end. */
static void shorten(const st_vocab *v, const st_cuts *cuts, slab *s, const uint16_t *late, uint32_t count)
{
    st_word words[ST_WORDS_IN_TURN];
    for (uint32_t i = 0; i < count; i++)
        words[i] = s->words[late[i]];
    st_shorten_words_avx2(v, cuts, words, count, MOST_SYMBOLS);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t size = words[i].count <= MOST_SYMBOLS ? words[i].count : 0;
        memcpy(s->symbols + ROOM * late[i], words[i].tokens, size * sizeof *s->symbols);
        s->sizes[late[i]] = (uint8_t)size;
        s->words[late[i]].count = words[i].count;
    }
}

/* Puts the words in order, the longest first: those of a group should take equally many merges. */
static void sort(slab *s, uint32_t count)
{
    uint32_t starts[MOST_SYMBOLS + 2] = {0};
    for (uint32_t i = 0; i < count; i++)
        starts[MOST_SYMBOLS - s->sizes[i] + 1]++;
    for (uint32_t i = 0; i < MOST_SYMBOLS; i++)
        starts[i + 1] += starts[i];
    for (uint32_t i = 0; i < count; i++)
        s->order[starts[MOST_SYMBOLS - s->sizes[i]]++] = (uint16_t)i;
    s->count = starts[MOST_SYMBOLS - 1]; /* without the words that are done already */
    s->next = 0;
}

/* Splits the words into symbols. */
static void split_words(const st_vocab *v, const st_cuts *cuts, slab *s, st_word *words, uint32_t count)
{
    const beginnings b = {byte_tokens_of(&v->pairs), cuts, st_vocab_sure_pairs_built(v)};
    uint16_t late[SLAB];
    uint32_t late_count = 0;
    s->words = words;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t size = split(&b, &words[i], s->symbols + ROOM * i);
        s->sizes[i] = (uint8_t)size;
        late[late_count] = (uint16_t)i;
        late_count += size > MOST_SYMBOLS;
    }
    for (uint32_t i = 0; i < late_count; i += ST_WORDS_IN_TURN)
        shorten(v, cuts, s, late + i, late_count - i < ST_WORDS_IN_TURN ? late_count - i : ST_WORDS_IN_TURN);
    sort(s, count);
}

#define LINE 64 /* bytes of a line of the cache */

/* What lies in the buffer. */
typedef struct lanes {
    slab slab;
    group groups[GROUPS];
} lanes;
_Static_assert(sizeof(lanes) + LINE <= ST_WORDS_ROOM, "with what the alignment takes");

/* A group reads its pairs only after all other groups have made their merges, so the prefetches had the most time. */
static void merge_slab(const st_pairs *pairs, slab *s, group *groups)
{
    group *running[GROUPS];
    uint32_t live = 0;
    for (; live < GROUPS && s->next < s->count; live++)
        begin(pairs, s, running[live] = &groups[live]);
    while (live) {
        for (uint32_t i = 0; i < live;) {
            receive(pairs, running[i]);
            if (step(pairs, running[i])) {
                i++;
                continue;
            }
            end(running[i]);
            if (s->next < s->count)
                begin(pairs, s, running[i++]);
            else
                running[i] = running[--live];
        }
    }
}

/* So few words leave too many lanes empty. Of short texts: one takes 1.0 to 1.2 us in a lane and 0.7 to 0.8 in turns, three 0.6
 * and 0.5 each; from eight on, it is the same or the lanes win. */
#define FEW_WORDS 6

static void st_merge_words_avx512(const st_vocab *v, const st_cuts *cuts, st_word *words, size_t count, void *buffer)
{
    lanes *l = (lanes *)(void *)((char *)buffer + (0 - (uintptr_t)buffer) % LINE);
    if (count <= FEW_WORDS) {
        st_shorten_words_avx2(v, cuts, words, count, 0);
        return;
    }
    for (size_t from = 0; from < count; from += SLAB) {
        split_words(v, cuts, &l->slab, words + from, (uint32_t)(count - from < SLAB ? count - from : SLAB));
        merge_slab(&v->pairs, &l->slab, l->groups);
    }
}
