/* begin_words_avx512.h - the symbols that a word begins with: whole characters (cut/cut_rule.h), pairs of bytes that surely merge
 * (sure_pairs.h), bytes. Include it after base/begin_avx512.h. */
#ifndef ST_MERGE_BEGIN_WORDS_AVX512_H
#define ST_MERGE_BEGIN_WORDS_AVX512_H

#include "cut/borders_avx512.h"
#include "merge/byte_tokens_avx512.h"
#include "merge/sure_pairs_avx512.h"
#include "merge/words.h"

#define MOST_SYMBOLS 30 /* of a word that a lane can hold (words_avx512.h) */

static inline void store(uint32_t *to, __m512i value)
{
    _mm512_storeu_si512(to, value);
}

/* The lowest byte of each lane, in all four of them. */
static inline __m512i all_bytes(__m512i lanes)
{
    const __m128i lowest = _mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12);
    return _mm512_shuffle_epi8(lanes, _mm512_broadcast_i32x4(lowest));
}

static inline __m512i gather(const uint32_t *from, __mmask16 mask, __m512i cells)
{
    return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), mask, cells, from, 4);
}

/* The first sixteen characters of a word, a lane each. Few words have more; their others begin as bytes. */
typedef struct characters {
    __mmask16 there;
    __mmask16 of_three; /* which have three bytes or more */
    __mmask16 whole;    /* which begin whole */
    __m512i tokens;     /* the tokens of those */
} characters;

/* The code points of characters of two bytes, or of three. `text`: their bytes, the lead byte lowest. */
static inline __m512i code_points(__m512i text, __mmask16 of_three)
{
    const __m512i six = all(0x3F), second = _mm512_and_si512(_mm512_srli_epi32(text, 8), six);
    const __m512i third = _mm512_and_si512(_mm512_srli_epi32(text, 16), six);
    const __m512i two = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(text, all(0x1F)), 6), second);
    const __m512i behind = _mm512_or_si512(_mm512_slli_epi32(second, 6), third);
    const __m512i lead = _mm512_slli_epi32(_mm512_and_si512(text, all(0x0F)), 12);
    return _mm512_mask_or_epi32(two, of_three, lead, behind);
}

/* The characters that begin whole: st_whole_character (cut/cut_rule.h) for sixteen at once. A border counts as open where
 * the classes of its two bytes have a bit in common, which they do at every border that is not closed and at few others. */
static inline characters characters_of(const st_cut_tables *cuts, __m512i bytes, uint64_t starts)
{
    const __m512i at = _mm512_maskz_compress_epi8(starts, byte_numbers());
    const __m512i places = all_bytes(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(at)));
    const __m512i text = _mm512_permutexvar_epi8(_mm512_add_epi8(places, all(0x03020100)), bytes);
    const __m512i lead = _mm512_and_si512(text, all(0xFF));
    const uint32_t count = (uint32_t)_mm_popcnt_u64(starts);
    characters c = {.there = first_lanes(count), .of_three = _mm512_cmpge_epu32_mask(lead, all(0xE0))};
    const byte_classes classes = byte_classes_of(cuts);
    __m512i before = _mm512_setzero_si512();
    const __m512i common = common_classes(&classes, bytes, &before);
    const uint32_t open = (uint32_t)_pext_u64(_mm512_test_epi8_mask(common, common), starts);
    const __mmask16 closed = (__mmask16)~(open | open >> 1);
    const __mmask16 high = _mm512_cmpge_epu32_mask(lead, all(0x80)), longest = _mm512_cmpge_epu32_mask(lead, all(0xF0));
    const __mmask16 wanted = c.there & high & (__mmask16)~longest; /* open ones too: the gather does not wait for `closed` */
    c.tokens = gather(cuts->characters, wanted, code_points(text, c.of_three));
    c.whole = _mm512_mask_cmpneq_epu32_mask(wanted & closed, c.tokens, all(ST_NONE));
    return c;
}

/* What words begin as. */
typedef struct beginnings {
    byte_tokens bytes;
    const st_cuts *cuts;       /* NULL: characters begin as bytes */
    const st_sure_pairs *sure; /* NULL: no pairs of bytes begin merged */
} beginnings;

/* The tokens of sixteen bytes. `single`: them if they are narrow, else the bytes. */
static inline __m512i tokens_of_bytes(const byte_tokens *b, __m128i single)
{
    const __m512i tokens = _mm512_cvtepu8_epi32(single);
    return b->narrow ? tokens : gather(b->wide, 0xFFFF, tokens);
}

/* Writes the symbols that begin at text[from..from + 16): the characters that begin whole, and of `bytes` those that are kept;
 * returns their number. */
static inline uint32_t put_symbols(__m512i bytes, __m512i characters, uint16_t whole, uint16_t keep, uint32_t *to)
{
    store(to, _mm512_maskz_compress_epi32(keep, _mm512_mask_expand_epi32(bytes, whole, characters)));
    return (uint32_t)_mm_popcnt_u32(keep);
}

/* The same for what begins behind the first sixteen bytes, of which there are `count` symbols; returns the number of all. */
static uint32_t put_rest(const beginnings *b, const st_word *word, __m512i single, uint64_t sure, __m512i characters, uint64_t whole,
                         uint64_t keep, uint32_t *symbols, uint32_t count)
{
    uint8_t bytes[64];
    _mm512_storeu_si512(bytes, single);
    for (uint32_t from = LANES; from < word->n && count <= MOST_SYMBOLS; from += LANES) {
        const __mmask16 before = (__mmask16)(0xFFFFu << _mm_popcnt_u32((uint32_t)(whole >> (from - LANES)) & 0xFFFF));
        const __mmask16 pairs = (__mmask16)(sure >> from);
        const __m512i own = tokens_of_bytes(&b->bytes, _mm_loadu_si128((const __m128i *)(const void *)(bytes + from)));
        const __m512i merged = merged_of(b->sure, word->text + from, word->n - from, pairs);
        characters = _mm512_maskz_compress_epi32(before, characters);
        count += put_symbols(_mm512_mask_mov_epi32(own, pairs, merged), characters, (uint16_t)(whole >> from),
                             (uint16_t)(keep >> from), symbols + count);
    }
    return count;
}

/* The symbols that a word begins with; returns how many. Those beyond MOST_SYMBOLS are not written. */
static inline uint32_t split(const beginnings *b, const st_word *word, uint32_t *symbols)
{
    const uint64_t there = ((uint64_t)1 << word->n) - 1;
    const __m512i bytes = _mm512_maskz_loadu_epi8(there, word->text);
    uint64_t keep = there, whole = 0; /* bytes that begin a symbol, and those of them that begin a whole character */
    __m512i tokens = _mm512_setzero_si512();
    const uint64_t high = _mm512_movepi8_mask(bytes);
    sure_pairs sure = {0, tokens};
    if (b->sure && 2 * (uint32_t)_mm_popcnt_u64(high) < word->n) /* characters of several bytes hold few such pairs */
        sure = sure_pairs_of(b->sure, word->text, bytes, word->n);
    if (b->cuts && high) {
        const uint64_t starts = there & ~_mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(-64));
        const characters c = characters_of(b->cuts->tables, bytes, starts);
        whole = _pdep_u64(c.whole, starts);
        keep &= ~(whole << 1 | _pdep_u64(c.whole & c.of_three, starts) << 2);
        sure.pairs &= ~whole & keep;
        tokens = _mm512_maskz_compress_epi32(c.whole, c.tokens);
    }
    keep &= ~(sure.pairs << 1);
    const __m512i single = b->bytes.narrow ? look_up_bytes(b->bytes.tokens, bytes) : bytes;
    const __m512i first = tokens_of_bytes(&b->bytes, _mm512_castsi512_si128(single));
    const __m512i paired = _mm512_mask_mov_epi32(first, (__mmask16)sure.pairs, sure.merged);
    uint32_t count = put_symbols(paired, tokens, (uint16_t)whole, (uint16_t)keep, symbols);
    if (word->n > LANES)
        count = put_rest(b, word, single, sure.pairs, tokens, whole, keep, symbols, count);
    return count;
}

#endif
