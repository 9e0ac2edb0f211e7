/* The first look with AVX-512: eight spans at once, a lane of 64 bits each. */
#include "first_look.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include "portable.h"

#define ST_TARGET "avx512f,avx512bw,avx512vl,avx512dq,bmi,bmi2,popcnt"
#include "target_begin.h"

#define SPANS 8
#define GROUPS 40 /* for ST_LOOK_AHEAD spans, or a stretch of cuts.h */

typedef struct keys {
    __m512i low, high;
} keys;

static inline __m512i each(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

/* A word for each lane of the mask, 0 for the others. (Without zeros to begin with, one gather would wait for another.) */
static inline __m512i gather(const void *words, __m512i places, __mmask8 mask)
{
    return _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), mask, places, words, 8);
}

/* Of the lanes in `here` the key of text[start..start + n); of long spans their length (st_key_of_long). */
ST_FORCE_INLINE keys keys_of(const uint8_t *text, __m512i start, __m512i n, __mmask8 here)
{
    const __mmask8 is_long = _mm512_cmpgt_epu64_mask(n, each(ST_KEY_BYTES)), is_short = here & (__mmask8)~is_long;
    const __m512i none = _mm512_setzero_si512(), ones = each(UINT64_MAX), bits = _mm512_slli_epi64(n, 3);
    const __m512i low = _mm512_mask_i64gather_epi64(none, is_short, start, text, 1);
    const __m512i high = _mm512_mask_i64gather_epi64(none, is_short, start, text + 8, 1);
    /* Shifts by 64 and more, as for n >= 8 here and n <= 8 there, give 0. */
    const __m512i low_kept = _mm512_andnot_si512(_mm512_sllv_epi64(ones, bits), low);
    const __m512i high_kept = _mm512_and_si512(_mm512_srlv_epi64(ones, _mm512_sub_epi64(each(128), bits)), high);
    return (keys){_mm512_mask_mov_epi64(low_kept, is_long, n),
                  _mm512_maskz_or_epi64(is_short, high_kept, _mm512_slli_epi64(n, 56))};
}

/* What is at each key's place. */
typedef struct answers {
    __m512i places, counts; /* in words of 8 bytes; of ids, 0 where the key is not there */
    __mmask8 hits;
} answers;

ST_FORCE_INLINE answers ask(const st_hot *hot, keys key)
{
    const __m512i mixed_low = _mm512_mullo_epi64(key.low, each(ST_HOT_LOW));
    const __m512i hash = _mm512_xor_si512(mixed_low, _mm512_mullo_epi64(key.high, each(ST_HOT_HIGH)));
    const __m512i places = _mm512_slli_epi64(_mm512_srli_epi64(hash, 64 - ST_HOT_BITS), 2);
    const __m512i low = gather(&hot->entries->key.low, places, 0xFF);
    const __m512i high = gather(&hot->entries->key.high, places, 0xFF);
    const __mmask8 same = _mm512_cmpeq_epi64_mask(low, key.low);
    const __mmask8 hits = _mm512_mask_testn_epi64_mask(same, _mm512_xor_si512(high, key.high), each(UINT64_MAX >> 4));
    return (answers){places, _mm512_maskz_srli_epi64(hits, high, 60), hits};
}

/* Writes the numbers of the mask one behind the other; returns where they end. */
ST_FORCE_INLINE uint32_t *put_ids(uint32_t *to, __mmask16 mask, __m512i ids)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(mask, ids));
    return to + _mm_popcnt_u32(mask);
}

/* The same for lanes that have up to two ids, and for any. */
ST_FORCE_INLINE uint32_t *put_pairs(uint32_t *to, const st_hot *hot, const answers *a)
{
    const __m512i ids = gather(hot->entries->ids, a->places, 0xFF);
    const __m512i counts = _mm512_shuffle_epi32(a->counts, _MM_PERM_CCAA), number = each((uint64_t)1 << 32);
    return put_ids(to, _mm512_cmpgt_epi32_mask(counts, number), ids);
}

ST_FORCE_INLINE uint32_t *put_fours(uint32_t *to, const st_hot *hot, const answers *a)
{
    const __m512i low = gather(hot->entries->ids, a->places, 0xFF);
    const __m512i high = gather(hot->entries->ids + 2, a->places, 0xFF);
    const __m512i number = _mm512_set_epi32(3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0);
    const __m512i first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), last = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
    const __m512i lane = _mm512_set_epi32(6, 6, 6, 6, 4, 4, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0);
    const __m512i lanes = _mm512_add_epi32(lane, _mm512_set1_epi32(8));
    const __m512i counts = _mm512_permutexvar_epi32(lane, a->counts), others = _mm512_permutexvar_epi32(lanes, a->counts);
    to = put_ids(to, _mm512_cmpgt_epi32_mask(counts, number), _mm512_permutex2var_epi64(low, first, high));
    return put_ids(to, _mm512_cmpgt_epi32_mask(others, number), _mm512_permutex2var_epi64(low, last, high));
}

/* What is known of each group of spans before the misses are listed. */
typedef struct notes {
    uint64_t counts[GROUPS];     /* of the spans' ids, a byte each */
    uint32_t *found[GROUPS];     /* where the ids begin */
    uint64_t misses[GROUPS / SPANS]; /* a bit a span, so of eight groups at once */
} notes;

/* Group number g: the spans text[start..start + n) of the lanes in `here`. Returns where their ids end. */
ST_FORCE_INLINE uint32_t *look_at_eight(notes *all, size_t g, const st_hot *hot, const uint8_t *text, uint32_t *to,
                                        __m512i start, __m512i n, __mmask8 here)
{
    const keys key = keys_of(text, start, n, here);
    const answers a = ask(hot, key);
    const uint64_t misses = here & (__mmask8)~a.hits;
    all->misses[g / SPANS] = (g % SPANS ? all->misses[g / SPANS] : 0) | misses << g % SPANS * SPANS;
    all->found[g] = to;
    all->counts[g] = (uint64_t)_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(a.counts));
    return _mm512_cmpgt_epu64_mask(a.counts, each(2)) ? put_fours(to, hot, &a) : put_pairs(to, hot, &a);
}

/* Lists span number i, text[start..end), as a miss. The key is made once more: what the vectors made is still on its way to
 * memory, and reading it back costs more. */
ST_FORCE_INLINE void list_miss(st_spans *s, const notes *all, const uint8_t *text, size_t i, size_t start, size_t end)
{
    const size_t missed = s->missed++, g = i / SPANS, n = end - start;
    const uint64_t before = all->counts[g] * UINT64_C(0x0101010101010100); /* each byte the sum of those below it */
    s->keys[missed] = n > ST_KEY_BYTES ? st_key_of_long(n) : st_key_of_padded(text + start, n);
    s->starts[missed] = (uint32_t)(start - s->first);
    s->places[missed] = all->found[g] + (uint8_t)(before >> 8 * (i % SPANS));
}

static inline __mmask8 lanes_up_to(size_t count)
{
    return (__mmask8)_bzhi_u32(0xFF, (uint32_t)(count < SPANS ? count : SPANS));
}

size_t st_first_look_avx512(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at,
                            const uint64_t *ends, size_t count)
{
    notes all;
    uint32_t *to = s->found + s->found_count;
    const __m512i first = each(s->first);
    __m512i before = each(at);
    __mmask8 here = 0xFF;
    size_t i = 0, g = 0;
    for (; i < count && here == 0xFF; g++) {
        here = lanes_up_to(count - i);
        const __m512i end = _mm512_maskz_loadu_epi64(here, ends + i), start = _mm512_alignr_epi64(end, before, SPANS - 1);
        const __m512i n = _mm512_sub_epi64(end, start);
        here &= _mm512_cmple_epu64_mask(n, each(ST_KEY_BYTES)) & _mm512_cmplt_epu64_mask(start, each(readable));
        here &= (__mmask8)(here ^ (here + 1)); /* up to the first that is not */
        to = look_at_eight(&all, g, hot, text + s->first, to, _mm512_sub_epi64(start, first), n, here);
        i += (size_t)_mm_popcnt_u32(here);
        before = end;
    }
    for (size_t k = 0; k < g; k += SPANS)
        for (uint64_t misses = all.misses[k / SPANS]; misses; misses &= misses - 1) {
            const size_t miss = SPANS * k + (size_t)_tzcnt_u64(misses);
            list_miss(s, &all, text, miss, miss ? (size_t)ends[miss - 1] : at, (size_t)ends[miss]);
        }
    s->found_count = (size_t)(to - s->found);
    s->count += i;
    return i;
}

void st_first_look_any_avx512(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends,
                              size_t count)
{
    notes all;
    uint32_t *to = s->found + s->found_count;
    const __m512i first = each(at - s->first);
    __m512i before = _mm512_setzero_si512();
    for (size_t i = 0; i < count; i += SPANS) {
        const __mmask8 here = lanes_up_to(count - i);
        const __m512i end = _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(here, ends + i));
        const __m512i start = _mm512_alignr_epi64(end, before, SPANS - 1), n = _mm512_sub_epi64(end, start);
        to = look_at_eight(&all, i / SPANS, hot, text + s->first, to, _mm512_add_epi64(first, start), n, here);
        before = end;
    }
    for (size_t k = 0; k * SPANS < count; k += SPANS)
        for (uint64_t misses = all.misses[k / SPANS]; misses; misses &= misses - 1) {
            const size_t miss = SPANS * k + (size_t)_tzcnt_u64(misses);
            list_miss(s, &all, text, miss, at + (miss ? ends[miss - 1] : 0), at + ends[miss]);
        }
    s->found_count = (size_t)(to - s->found);
    s->count += count;
}
#include "target_end.h"
#else
typedef int st_no_first_look_avx512; /* a file must hold something */
#endif
