/* The first look with AVX-512, in three passes over a few hundred spans: keys for eight at a time, their entries eight at a
 * time, then a list of the misses. */
#include "lookup/first_look.h"

#include "base/prefetch.h"

#define SPANS 8 /* a lane of 64 bits each */
#define LOOK_GROUPS (ST_WAITING / SPANS)

_Static_assert(sizeof(st_piece_entry) == 1 << ST_ENTRY_SHIFT, "an entry has so many bytes");

static inline __m512i each(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

/* ---- keys ---- */

/* The 16 bytes from each lane's place on; text[0..readable) can be read. */
typedef struct sixteen {
    __m512i low, high;
} sixteen;

/* For places within 128 bytes from the first one on, as eight short pieces have: two vectors hold all the bytes. */
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

/* As st_hot_place, but in bytes. */
ST_FORCE_INLINE __m512i places_of(__m512i low, __m512i high)
{
    const __m512i mixed = _mm512_xor_si512(low, _mm512_rol_epi64(high, ST_HOT_TURN));
    const __m512i place = _mm512_srli_epi64(_mm512_mullo_epi64(mixed, each(ST_GOLDEN)), 64 - ST_HOT_BITS);
    return _mm512_slli_epi64(place, ST_ENTRY_SHIFT);
}

/* Entries are prefetched, because those of less frequent pieces have left the second-level cache. The places are written as
 * vectors and read one by one, which stalls until the vector has reached the cache. So the prefetches run behind, by this many
 * groups: */
#define GROUPS_LATER 2

ST_FORCE_INLINE void send_for_entries(const st_spans *s, const st_hot *hot, size_t at, size_t count)
{
    if (at < GROUPS_LATER * SPANS)
        return;
    const uint64_t *places = s->waiting.places + at - GROUPS_LATER * SPANS;
    for (size_t i = 0; i < count; i++)
        st_prefetch(st_hot_entry(hot, places[i]));
}

/* Writes eight spans of n bytes each to the waiting ones from number `at` on. Long spans get the key of st_key_of_long. */
ST_FORCE_INLINE void put_eight(st_spans *s, const st_hot *hot, sixteen bytes, __m512i starts, __m512i n, size_t at)
{
    st_waiting *w = &s->waiting;
    const __mmask8 is_long = _mm512_cmpgt_epu64_mask(n, each(ST_KEY_BYTES));
    const __m512i ones = each(UINT64_MAX), bits = _mm512_slli_epi64(n, 3);
    /* Shifts by 64 and more, as for n >= 8 here and n <= 8 there, give 0. */
    const __m512i low = _mm512_andnot_si512(_mm512_sllv_epi64(ones, bits), bytes.low);
    const __m512i high = _mm512_and_si512(_mm512_srlv_epi64(ones, _mm512_sub_epi64(each(128), bits)), bytes.high);
    const __m512i key_low = _mm512_mask_mov_epi64(low, is_long, n);
    const __m512i key_high = _mm512_maskz_or_epi64((__mmask8)~is_long, high, _mm512_slli_epi64(n, 56));
    _mm512_storeu_si512(w->low + at, key_low);
    _mm512_storeu_si512(w->high + at, key_high);
    _mm512_storeu_si512(w->starts + at, starts);
    _mm512_storeu_si512(w->places + at, places_of(key_low, key_high));
    send_for_entries(s, hot, at, SPANS);
}

static size_t st_add_pieces_avx512(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at,
                            const uint64_t *ends, size_t count)
{
    __m512i before = each(at);
    const size_t from = s->waiting_count;
    size_t done = 0;
    for (size_t first = at; done < count && first < readable; first = (size_t)ends[done - 1]) {
        __mmask8 here = first_wide_lanes(count - done);
        const __m512i end = _mm512_maskz_loadu_epi64(here, ends + done), start = _mm512_alignr_epi64(end, before, SPANS - 1);
        const __m512i n = _mm512_sub_epi64(end, start), starts = _mm512_sub_epi64(start, each(s->first));
        const sixteen bytes = read_near(text, readable + 15, start, first);
        here &= _mm512_cmple_epu64_mask(n, each(ST_KEY_BYTES)) & _mm512_cmplt_epu64_mask(start, each(readable));
        here &= (__mmask8)(here ^ (here + 1)); /* the lanes in front of the first 0 */
        if (here != 0xFF) { /* a branch is predicted, so the next eight do not wait for this count */
            const size_t left = (size_t)_mm_popcnt_u32(here);
            put_eight(s, hot, bytes, starts, n, from + done);
            done += left;
            break;
        }
        put_eight(s, hot, bytes, starts, n, from + done);
        done += SPANS;
        before = end;
    }
    s->waiting_count = from + done;
    s->count += done;
    return done;
}

static size_t st_add_apart_avx512(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, const uint64_t *starts,
                           const uint64_t *ends, size_t count)
{
    const size_t from = s->waiting_count;
    size_t done = 0;
    while (done < count && starts[done] < readable) {
        const size_t some = count - done < SPANS ? count - done : SPANS, first = (size_t)starts[done];
        __mmask8 here = first_wide_lanes(some);
        const __m512i end = _mm512_maskz_loadu_epi64(here, ends + done), start = _mm512_maskz_loadu_epi64(here, starts + done);
        const __m512i n = _mm512_sub_epi64(end, start);
        here &= _mm512_cmple_epu64_mask(n, each(ST_KEY_BYTES)) & _mm512_cmplt_epu64_mask(start, each(readable));
        here &= (__mmask8)(here ^ (here + 1)); /* the lanes in front of the first 0 */
        const sixteen bytes = starts[done + some - 1] - first + 16 <= 128 ? read_near(text, readable + 15, start, first)
                                                                         : read_anywhere(text, start, here);
        put_eight(s, hot, bytes, _mm512_sub_epi64(start, each(s->first)), n, from + done);
        done += (size_t)_mm_popcnt_u32(here);
        if (here != 0xFF)
            break;
    }
    s->waiting_count = from + done;
    s->count += done;
    return done;
}

static void st_add_spans_avx512(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends, size_t count)
{
    const size_t readable = (count > 1 ? ends[count - 2] : 0) + 16; /* from `at` on: the last span begins 16 bytes before */
    const __m512i origin = each(at - s->first);
    __m512i before = _mm512_setzero_si512();
    size_t first = 0;
    for (size_t done = 0; done < count; done += SPANS) {
        const size_t spans = count - done < SPANS ? count - done : SPANS;
        const __mmask8 here = first_wide_lanes(spans);
        const __m512i end = _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(here, ends + done));
        const __m512i start = _mm512_alignr_epi64(end, before, SPANS - 1);
        const size_t last = spans > 1 ? ends[done + spans - 2] : first;
        const sixteen bytes = last - first + 16 <= 128 ? read_near(text + at, readable, start, first)
                                                       : read_anywhere(text + at, start, here);
        put_eight(s, hot, bytes, _mm512_add_epi64(start, origin), _mm512_sub_epi64(end, start), s->waiting_count + done);
        before = end;
        first = ends[done + spans - 1];
    }
    s->waiting_count += count;
    s->count += count;
}

/* ---- entries ---- */

/* What was found for the waiting spans, by groups of eight. */
typedef struct looked_at {
    uint64_t ends[LOOK_GROUPS];   /* of their ids in `found`, a byte each; a miss has none */
    uint32_t *found[LOOK_GROUPS]; /* where the ids of a group begin */
    uint8_t misses[LOOK_GROUPS], many[LOOK_GROUPS]; /* a bit a span: those not found, and those of more than ST_INLINE_IDS ids */
} looked_at;

/* The keys of four entries. */
ST_FORCE_INLINE __m512i four_keys(const st_hot *hot, const uint64_t *places)
{
    __m128i key[4];
    for (size_t i = 0; i < 4; i++)
        key[i] = _mm_loadu_si128((const __m128i *)(const void *)&st_hot_entry(hot, places[i])->key);
    const __m512i two = _mm512_inserti32x4(_mm512_castsi128_si512(key[0]), key[1], 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(two, key[2], 2), key[3], 3);
}

/* Writes the ids of eight spans, ST_INLINE_IDS for each: the next span overwrites those that are too many. Copying one by one
 * needs neither shuffles that pack ids in a vector nor a branch for spans with more than two ids. */
ST_FORCE_INLINE void put_ids(uint32_t *to, const st_hot *hot, const uint64_t *places, uint64_t ends)
{
    for (size_t i = 0; i < SPANS; i++) {
        const size_t before = (uint8_t)(ends << 8 >> 8 * i);
        memcpy(to + before, st_hot_entry(hot, places[i])->ids, ST_INLINE_IDS * sizeof *to);
    }
}

/* Looks up the spans of group number g in the lanes `here`. Returns where their ids end. */
ST_FORCE_INLINE uint32_t *look_at_eight(looked_at *l, const st_waiting *w, size_t g, __mmask8 here, const st_hot *hot,
                                        uint32_t *to)
{
    const size_t i = g * SPANS;
    const __m512i first = four_keys(hot, w->places + i), last = four_keys(hot, w->places + i + 4);
    const __m512i lows = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), highs = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i e_low = _mm512_permutex2var_epi64(first, lows, last);
    const __m512i e_high = _mm512_permutex2var_epi64(first, highs, last);
    const __m512i low = _mm512_loadu_si512(w->low + i), high = _mm512_loadu_si512(w->high + i);
    const __m512i high_differs = _mm512_slli_epi64(_mm512_xor_si512(e_high, high), 4);
    const __m512i differs = _mm512_or_si512(high_differs, _mm512_xor_si512(e_low, low));
    const __mmask8 hits = _mm512_mask_testn_epi64_mask(here, differs, differs);
    const __m512i counts = _mm512_maskz_srli_epi64(hits, e_high, 60);
    const uint64_t ends = (uint64_t)_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(counts)) * UINT64_C(0x0101010101010101);
    l->misses[g] = (uint8_t)(here ^ hits);
    l->many[g] = (uint8_t)_mm512_cmpgt_epu64_mask(counts, each(ST_INLINE_IDS));
    l->found[g] = to;
    l->ends[g] = ends;
    put_ids(to, hot, w->places + i, ends);
    return to + (ends >> 56);
}

/* ---- misses, and words of many ids ---- */

/* Where the ids of a span end. */
ST_FORCE_INLINE uint32_t *end_of(const looked_at *l, size_t i)
{
    return l->found[i / SPANS] + (uint8_t)(l->ends[i / SPANS] >> 8 * (i % SPANS));
}

ST_FORCE_INLINE void list_miss(st_spans *s, const looked_at *l, size_t i)
{
    const size_t missed = s->missed++;
    s->keys[missed] = (st_key){s->waiting.low[i], s->waiting.high[i]};
    s->starts[missed] = (uint32_t)s->waiting.starts[i];
    s->places[missed] = end_of(l, i);
}

ST_FORCE_INLINE void put_last_ids(const st_spans *s, const st_hot *hot, const looked_at *l, size_t i)
{
    memcpy(end_of(l, i) - ST_INLINE_IDS, hot->last[s->waiting.places[i] >> ST_ENTRY_SHIFT], sizeof hot->last[0]);
}

/* Eight groups at once. */
ST_FORCE_INLINE void list_groups(st_spans *s, const st_hot *hot, const looked_at *l, size_t g)
{
    for (uint64_t misses = st_load64(l->misses + g); misses; misses &= misses - 1)
        list_miss(s, l, SPANS * g + (size_t)_tzcnt_u64(misses));
    for (uint64_t many = st_load64(l->many + g); many; many &= many - 1)
        put_last_ids(s, hot, l, SPANS * g + (size_t)_tzcnt_u64(many));
}

static void st_first_look_avx512(st_spans *s, const st_hot *hot)
{
    const size_t whole = s->waiting_count / SPANS, left = s->waiting_count % SPANS, groups = whole + (left != 0);
    uint32_t *to = s->found + s->found_count;
    looked_at l;
    memset(l.misses, 0, sizeof l.misses);
    memset(l.many, 0, sizeof l.many);
    send_for_entries(s, hot, s->waiting_count, GROUPS_LATER * SPANS); /* the last ones; the first have arrived meanwhile */
    for (size_t g = 0; g < whole; g++)
        to = look_at_eight(&l, &s->waiting, g, 0xFF, hot, to);
    if (left)
        to = look_at_eight(&l, &s->waiting, whole, first_wide_lanes(left), hot, to);
    for (size_t g = 0; g < groups; g += 8)
        list_groups(s, hot, &l, g);
    s->found_count = (size_t)(to - s->found);
    s->waiting_count = 0;
}
