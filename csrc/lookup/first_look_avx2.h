/* Keys with AVX2: those of four spans at a time. The look-up itself is that of first_look.c: it waits for memory, and is no faster
 * by vectors. */
#include "lookup/first_look.h"

#define SPANS 4 /* a lane of 64 bits each */

static inline __m256i each(uint64_t value)
{
    return _mm256_set1_epi64x((long long)value);
}

/* The 16 bytes at two places. */
static inline __m256i two_texts(const uint8_t *first, const uint8_t *second)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)first);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), _mm_loadu_si128((const __m128i *)(const void *)second), 1);
}

/* Keeps the first bytes of each 16: their number is the lowest byte of the lane of n that `lane` picks, 0 or 8 in each byte. */
static inline __m256i first_of_each(__m256i bytes, __m256i n, __m256i lane)
{
    const __m256i numbers = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                             11, 12, 13, 14, 15);
    return _mm256_and_si256(bytes, _mm256_cmpgt_epi8(_mm256_shuffle_epi8(n, lane), numbers));
}

/* a * ST_GOLDEN: AVX2 multiplies numbers of 32 bits. */
static inline __m256i times_golden(__m256i a)
{
    const __m256i low = each((uint32_t)ST_GOLDEN), high = each(ST_GOLDEN >> 32);
    const __m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(a, high), _mm256_mul_epu32(_mm256_srli_epi64(a, 32), low));
    return _mm256_add_epi64(_mm256_mul_epu32(a, low), _mm256_slli_epi64(crossed, 32));
}

/* As st_hot_place, but in bytes. */
static inline __m256i places_of(__m256i low, __m256i high)
{
    const __m256i turned = _mm256_or_si256(_mm256_slli_epi64(high, ST_HOT_TURN), _mm256_srli_epi64(high, 64 - ST_HOT_TURN));
    const __m256i hash = times_golden(_mm256_xor_si256(low, turned));
    return _mm256_slli_epi64(_mm256_srli_epi64(hash, 64 - ST_HOT_BITS), ST_ENTRY_SHIFT);
}

static inline void send_for_entries(const st_hot *hot, __m256i places)
{
    const __m128i first = _mm256_castsi256_si128(places), last = _mm256_extracti128_si256(places, 1);
    st_prefetch(st_hot_entry(hot, (uint64_t)_mm_cvtsi128_si64(first)));
    st_prefetch(st_hot_entry(hot, (uint64_t)_mm_extract_epi64(first, 1)));
    st_prefetch(st_hot_entry(hot, (uint64_t)_mm_cvtsi128_si64(last)));
    st_prefetch(st_hot_entry(hot, (uint64_t)_mm_extract_epi64(last, 1)));
}

/* Four spans: the 16 bytes of the first and the third one, those of the two others, where they start in the round's text, and how
 * long they are. */
typedef struct four {
    __m256i even, odd, starts, n;
} four;

/* Writes them to the waiting ones from number `at` on. Long spans get the key of st_key_of_long. */
ST_FORCE_INLINE void put_four(st_waiting *w, const st_hot *hot, four f, __m256i is_long, size_t at)
{
    const __m256i even = first_of_each(f.even, f.n, _mm256_setzero_si256()), odd = first_of_each(f.odd, f.n, each(0x0808080808080808));
    const __m256i low = _mm256_blendv_epi8(_mm256_unpacklo_epi64(even, odd), f.n, is_long);
    const __m256i length = _mm256_slli_epi64(f.n, 56);
    const __m256i high = _mm256_andnot_si256(is_long, _mm256_or_si256(_mm256_unpackhi_epi64(even, odd), length));
    const __m256i places = places_of(low, high);
    _mm256_storeu_si256((__m256i *)(void *)(w->low + at), low);
    _mm256_storeu_si256((__m256i *)(void *)(w->high + at), high);
    _mm256_storeu_si256((__m256i *)(void *)(w->starts + at), f.starts);
    _mm256_storeu_si256((__m256i *)(void *)(w->places + at), places);
    send_for_entries(hot, places);
}

static inline __m256i are_long(__m256i n)
{
    return _mm256_cmpgt_epi64(n, each(ST_KEY_BYTES));
}

/* The ends of three of four spans and the end of the one in front of them. */
static inline __m256i starts_of(__m256i end, size_t before)
{
    const __m256i first = _mm256_castsi128_si256(_mm_cvtsi64_si128((long long)before));
    return _mm256_blend_epi32(_mm256_permute4x64_epi64(end, 0x90), first, 3);
}

static size_t st_add_pieces_avx2(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at, const uint64_t *ends,
                          size_t count)
{
    const __m256i origin = each(s->first);
    const size_t from = s->waiting_count;
    size_t done = 0;
    while (done + SPANS <= count && ends[done + SPANS - 2] < readable && at < readable) {
        const uint64_t *e = ends + done;
        const __m256i end = _mm256_loadu_si256((const __m256i *)(const void *)e), start = starts_of(end, at);
        const __m256i n = _mm256_sub_epi64(end, start), is_long = are_long(n);
        const four f = {two_texts(text + at, text + e[1]), two_texts(text + e[0], text + e[2]), _mm256_sub_epi64(start, origin), n};
        const uint32_t longs = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(is_long));
        put_four(&s->waiting, hot, f, _mm256_setzero_si256(), from + done);
        if (longs) {
            done += _tzcnt_u32(longs);
            s->waiting_count = from + done;
            s->count += done;
            return done;
        }
        at = (size_t)e[SPANS - 1];
        done += SPANS;
    }
    s->waiting_count = from + done;
    s->count += done;
    return done + st_add_pieces_portable(s, hot, text, readable, at, ends + done, count - done);
}

static void st_add_spans_avx2(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends, size_t count)
{
    const __m256i origin = each(at - s->first);
    const size_t from = s->waiting_count;
    size_t done = 0, before = 0;
    text += at;
    while (done + SPANS <= count) {
        const uint32_t *e = ends + done;
        const __m256i end = _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(const void *)e)), start = starts_of(end, before);
        const __m256i n = _mm256_sub_epi64(end, start);
        const four f = {two_texts(text + before, text + e[1]), two_texts(text + e[0], text + e[2]), _mm256_add_epi64(start, origin), n};
        put_four(&s->waiting, hot, f, are_long(n), from + done);
        before = e[SPANS - 1];
        done += SPANS;
    }
    s->waiting_count = from + done;
    s->count += done;
    for (; done < count; before = ends[done++]) {
        const size_t n = ends[done] - before;
        const st_key key = n > ST_KEY_BYTES ? st_key_of_long(n) : st_key_of_padded(text + before, n);
        st_add_span(s, hot, at + before - s->first, key);
    }
}
