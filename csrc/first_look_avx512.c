/* The first look with AVX-512, in three passes over a few hundred spans: keys for eight at a time, their entries eight at a
 * time, then a list of the misses. */
#include "first_look.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include "portable.h"
#include "prefetch.h"

#define ST_TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,bmi,bmi2,popcnt"
#include "target_begin.h"

#include "lanes_avx512.h"

#define SPANS 8   /* a lane of 64 bits each */
#define GROUPS 40 /* for ST_LOOK_AHEAD spans, or a stretch of cuts.h */

/* Spans that have a key; the arrays are whole vectors, none of which lies across two lines. */
typedef struct looked_for {
    _Alignas(64) uint64_t low[GROUPS * SPANS], high[GROUPS * SPANS];
    uint64_t starts[GROUPS * SPANS]; /* in the round's text */
    uint64_t places[GROUPS * SPANS]; /* in the hot table */
    uint64_t counts[GROUPS];         /* of their ids, a byte each; 0 for a miss */
    uint32_t *found[GROUPS];         /* where the ids begin */
    uint64_t misses[GROUPS / SPANS]; /* a bit a span, so of eight groups at once */
    size_t count;
} looked_for;

static inline __m512i each(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

/* ---- keys ---- */

/* The 16 bytes from each lane's place on; text[0..readable) can be read. */
typedef struct sixteen {
    __m512i low, high;
} sixteen;

/* The places lie within 128 bytes from the first lane's on, as those of eight short pieces do: two vectors hold it all. */
ST_FORCE_INLINE sixteen read_near(const uint8_t *text, size_t readable, __m512i places, size_t first)
{
    const size_t left = readable - first, more = left > 64 ? left - 64 : 0;
    const __m512i a = _mm512_maskz_loadu_epi8(first_bytes(left), text + first);
    const __m512i b = _mm512_maskz_loadu_epi8(first_bytes(more), text + first + 64);
    const __m512i lowest = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0808080808080808, 0)), next = each(0x0706050403020100);
    const __m512i from = _mm512_add_epi8(_mm512_shuffle_epi8(_mm512_sub_epi64(places, each(first)), lowest), next);
    const __m512i eight = each(0x0808080808080808);
    return (sixteen){_mm512_permutex2var_epi8(a, from, b), _mm512_permutex2var_epi8(a, _mm512_add_epi8(from, eight), b)};
}

ST_FORCE_INLINE sixteen read_anywhere(const uint8_t *text, __m512i places, __mmask8 here)
{
    const __m512i none = _mm512_setzero_si512();
    return (sixteen){_mm512_mask_i64gather_epi64(none, here, places, text, 1),
                     _mm512_mask_i64gather_epi64(none, here, places, text + 8, 1)};
}

/* As st_hot_place. */
ST_FORCE_INLINE __m512i places_of(__m512i low, __m512i high)
{
    const __m512i mixed = _mm512_xor_si512(low, _mm512_rol_epi64(high, ST_HOT_TURN));
    return _mm512_srli_epi64(_mm512_mullo_epi64(mixed, each(ST_HOT_FACTOR)), 64 - ST_HOT_BITS);
}

/* What text repeats less often has left the second-level cache, and a round of such entries would wait for one after the other. A
 * vector that was just written can be read in parts only when it has reached the cache, so they are sent for so much later: */
#define GROUPS_LATER 2

ST_FORCE_INLINE void send_for_entries(const looked_for *l, const st_hot *hot)
{
    if (l->count < GROUPS_LATER * SPANS)
        return;
    const uint64_t *places = l->places + l->count - GROUPS_LATER * SPANS;
    for (size_t i = 0; i < SPANS; i++)
        st_prefetch(&hot->entries[places[i]]);
}

/* Notes the keys of eight spans of n bytes; of long ones their length (st_key_of_long). */
ST_FORCE_INLINE void put_keys(looked_for *l, sixteen bytes, __m512i starts, __m512i n)
{
    const __mmask8 is_long = _mm512_cmpgt_epu64_mask(n, each(ST_KEY_BYTES));
    const __m512i ones = each(UINT64_MAX), bits = _mm512_slli_epi64(n, 3);
    /* Shifts by 64 and more, as for n >= 8 here and n <= 8 there, give 0. */
    const __m512i low = _mm512_andnot_si512(_mm512_sllv_epi64(ones, bits), bytes.low);
    const __m512i high = _mm512_and_si512(_mm512_srlv_epi64(ones, _mm512_sub_epi64(each(128), bits)), bytes.high);
    const __m512i key_low = _mm512_mask_mov_epi64(low, is_long, n);
    const __m512i key_high = _mm512_maskz_or_epi64((__mmask8)~is_long, high, _mm512_slli_epi64(n, 56));
    _mm512_storeu_si512(l->low + l->count, key_low);
    _mm512_storeu_si512(l->high + l->count, key_high);
    _mm512_storeu_si512(l->starts + l->count, starts);
    _mm512_storeu_si512(l->places + l->count, places_of(key_low, key_high));
}

/* ---- entries ---- */

/* The entries of eight spans, turned: keys, and ids by twos. */
typedef struct entries {
    __m512i low, high, ids, more_ids;
} entries;

/* Of two spans. */
ST_FORCE_INLINE __m512i two_entries(const st_hot *hot, const uint64_t *places)
{
    const __m256i first = _mm256_loadu_si256((const __m256i *)(const void *)&hot->entries[places[0]]);
    const __m256i second = _mm256_loadu_si256((const __m256i *)(const void *)&hot->entries[places[1]]);
    return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

/* Four loads of two entries each and eight shuffles: two thirds of the time of a gather for each of their words. */
ST_FORCE_INLINE entries read_entries(const st_hot *hot, const uint64_t *places)
{
    const __m512i a = two_entries(hot, places), b = two_entries(hot, places + 2);
    const __m512i c = two_entries(hot, places + 4), d = two_entries(hot, places + 6);
    const __m512i evens = _mm512_unpacklo_epi64(a, b), more_evens = _mm512_unpacklo_epi64(c, d);
    const __m512i odds = _mm512_unpackhi_epi64(a, b), more_odds = _mm512_unpackhi_epi64(c, d);
    const __m512i keys = _mm512_set_epi64(13, 9, 12, 8, 5, 1, 4, 0), ids = _mm512_set_epi64(15, 11, 14, 10, 7, 3, 6, 2);
    return (entries){_mm512_permutex2var_epi64(evens, keys, more_evens), _mm512_permutex2var_epi64(odds, keys, more_odds),
                     _mm512_permutex2var_epi64(evens, ids, more_evens), _mm512_permutex2var_epi64(odds, ids, more_odds)};
}

/* Writes the numbers of the mask one behind the other; returns where they end. */
ST_FORCE_INLINE uint32_t *put_ids(uint32_t *to, __mmask16 mask, __m512i ids)
{
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(mask, ids));
    return to + _mm_popcnt_u32(mask);
}

/* The same for lanes that have up to two ids, and for any. */
ST_FORCE_INLINE uint32_t *put_pairs(uint32_t *to, const entries *e, __m512i counts)
{
    const __m512i twice = _mm512_shuffle_epi32(counts, _MM_PERM_CCAA), number = each((uint64_t)1 << 32);
    return put_ids(to, _mm512_cmpgt_epi32_mask(twice, number), e->ids);
}

ST_FORCE_INLINE uint32_t *put_fours(uint32_t *to, const entries *e, __m512i counts)
{
    const __m512i number = _mm512_set_epi32(3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0, 3, 2, 1, 0);
    const __m512i first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), last = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
    const __m512i lane = _mm512_set_epi32(6, 6, 6, 6, 4, 4, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0);
    const __m512i lanes = _mm512_add_epi32(lane, _mm512_set1_epi32(8));
    const __m512i here = _mm512_permutexvar_epi32(lane, counts), others = _mm512_permutexvar_epi32(lanes, counts);
    to = put_ids(to, _mm512_cmpgt_epi32_mask(here, number), _mm512_permutex2var_epi64(e->ids, first, e->more_ids));
    return put_ids(to, _mm512_cmpgt_epi32_mask(others, number), _mm512_permutex2var_epi64(e->ids, last, e->more_ids));
}

/* Looks for the spans of group number g. Returns where their ids end. */
ST_FORCE_INLINE uint32_t *look_at_eight(looked_for *l, size_t g, const st_hot *hot, uint32_t *to)
{
    const size_t i = g * SPANS;
    const entries e = read_entries(hot, l->places + i);
    const __m512i low = _mm512_loadu_si512(l->low + i), high = _mm512_loadu_si512(l->high + i);
    const __m512i high_differs = _mm512_slli_epi64(_mm512_xor_si512(e.high, high), 4);
    const __m512i differs = _mm512_or_si512(high_differs, _mm512_xor_si512(e.low, low));
    const __mmask8 here = first_wide_lanes(l->count - i), hits = _mm512_mask_testn_epi64_mask(here, differs, differs);
    const __m512i counts = _mm512_maskz_srli_epi64(hits, e.high, 60);
    const uint64_t misses = here ^ hits;
    l->misses[g / SPANS] = (g % SPANS ? l->misses[g / SPANS] : 0) | misses << g % SPANS * SPANS;
    l->found[g] = to;
    l->counts[g] = (uint64_t)_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(counts));
    return _mm512_cmpgt_epu64_mask(counts, each(2)) ? put_fours(to, &e, counts) : put_pairs(to, &e, counts);
}

/* ---- misses ---- */

ST_FORCE_INLINE void list_miss(st_spans *s, const looked_for *l, size_t i)
{
    const size_t missed = s->missed++, g = i / SPANS;
    const uint64_t before = l->counts[g] * UINT64_C(0x0101010101010100); /* each byte the sum of those below it */
    s->keys[missed] = (st_key){l->low[i], l->high[i]};
    s->starts[missed] = (uint32_t)l->starts[i];
    s->places[missed] = l->found[g] + (uint8_t)(before >> 8 * (i % SPANS));
}

/* The spans that have a key now: their ids, and those that are not found. */
ST_FORCE_INLINE void look_at_all(st_spans *s, const st_hot *hot, looked_for *l)
{
    uint32_t *to = s->found + s->found_count;
    for (size_t g = 0; g * SPANS < l->count; g++)
        to = look_at_eight(l, g, hot, to);
    for (size_t k = 0; k * SPANS < l->count; k += SPANS)
        for (uint64_t misses = l->misses[k / SPANS]; misses; misses &= misses - 1)
            list_miss(s, l, SPANS * k + (size_t)_tzcnt_u64(misses));
    s->found_count = (size_t)(to - s->found);
    s->count += l->count;
}

size_t st_first_look_avx512(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at,
                            const uint64_t *ends, size_t count)
{
    looked_for l;
    __m512i before = each(at);
    l.count = 0;
    for (size_t first = at; l.count < count && first < readable; first = (size_t)ends[l.count - 1]) {
        __mmask8 here = first_wide_lanes(count - l.count);
        const __m512i end = _mm512_maskz_loadu_epi64(here, ends + l.count), start = _mm512_alignr_epi64(end, before, SPANS - 1);
        const __m512i n = _mm512_sub_epi64(end, start);
        here &= _mm512_cmple_epu64_mask(n, each(ST_KEY_BYTES)) & _mm512_cmplt_epu64_mask(start, each(readable));
        here &= (__mmask8)(here ^ (here + 1)); /* up to the first that is not */
        put_keys(&l, read_near(text, readable + 15, start, first), _mm512_sub_epi64(start, each(s->first)), n);
        send_for_entries(&l, hot);
        if (here != 0xFF) { /* a branch, so that the next eight need not wait for the number of these */
            l.count += (size_t)_mm_popcnt_u32(here);
            break;
        }
        l.count += SPANS;
        before = end;
    }
    look_at_all(s, hot, &l);
    return l.count;
}

void st_first_look_any_avx512(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends,
                              size_t count)
{
    looked_for l;
    const size_t readable = (count > 1 ? ends[count - 2] : 0) + 16; /* from `at` on: the last span begins 16 bytes before */
    const __m512i origin = each(at - s->first);
    __m512i before = _mm512_setzero_si512();
    size_t first = 0;
    for (l.count = 0; l.count < count; l.count += SPANS) {
        const size_t spans = count - l.count < SPANS ? count - l.count : SPANS;
        const __mmask8 here = first_wide_lanes(spans);
        const __m512i end = _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(here, ends + l.count));
        const __m512i start = _mm512_alignr_epi64(end, before, SPANS - 1);
        const size_t last = spans > 1 ? ends[l.count + spans - 2] : first;
        const sixteen bytes = last - first + 16 <= 128 ? read_near(text + at, readable, start, first)
                                                       : read_anywhere(text + at, start, here);
        put_keys(&l, bytes, _mm512_add_epi64(start, origin), _mm512_sub_epi64(end, start));
        send_for_entries(&l, hot);
        before = end;
        first = ends[l.count + spans - 1];
    }
    l.count = count;
    look_at_all(s, hot, &l);
}
#include "target_end.h"
#else
typedef int st_no_first_look_avx512; /* a file must hold something */
#endif
