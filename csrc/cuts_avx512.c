/* Looking for cuts with AVX-512: the borders of a window of 64 bytes at once, sixteen to a vector. */
#include "cuts.h"
#include "utf8.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#include <string.h>

#define ST_TARGET "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt,lzcnt"
#include "target_begin.h"

#include "lanes_avx512.h"

#define WINDOW 64
#define WORDS (ST_CUT_STRETCH / 64 + 2)

/* The whole characters of a window; the border in front of number i is bit i of a mask. */
typedef struct window {
    const uint8_t *text;
    __m512i bytes, places; /* the text; where its characters begin, a byte each */
    uint64_t leads;        /* the same as a mask */
    size_t count;
    uint64_t joined, near; /* borders: that a token spans; that a token might span a part of a character at */
} window;

static inline window read_window(const uint8_t *text, size_t n)
{
    const uint64_t there = _bzhi_u64(UINT64_MAX, (uint32_t)(n < WINDOW ? n : WINDOW));
    window w = {.text = text, .bytes = _mm512_maskz_loadu_epi8(there, text)};
    w.leads = _mm512_mask_cmpge_epi8_mask(there, w.bytes, _mm512_set1_epi8(-64)); /* 0x80 to 0xBF lie below, as signed bytes */
    const unsigned last = st_last_bit(w.leads);
    w.leads ^= (uint64_t)(last + st_utf8_size(text[last]) > WINDOW) << last;
    w.places = _mm512_maskz_compress_epi8(w.leads, byte_numbers());
    w.count = (size_t)_mm_popcnt_u64(w.leads);
    if (w.count > LANES && w.count % LANES <= LANES / 2) /* a vector with few characters takes its full time */
        w.count -= w.count % LANES;
    return w;
}

/* Where the window's last character begins. */
static inline size_t last_character(const window *w)
{
    return st_first_bit(_pdep_u64((uint64_t)1 << (w->count - 1), w->leads));
}

/* The four bytes from each of LANES characters on, the first one highest. */
static inline __m512i four_bytes(const window *w, size_t group)
{
    const __m512i which = _mm512_set_epi32(0x0F0F0F0F, 0x0E0E0E0E, 0x0D0D0D0D, 0x0C0C0C0C, 0x0B0B0B0B, 0x0A0A0A0A,
                                           0x09090909, 0x08080808, 0x07070707, 0x06060606, 0x05050505, 0x04040404,
                                           0x03030303, 0x02020202, 0x01010101, 0);
    const __m512i shifted = _mm512_add_epi8(which, _mm512_set1_epi8((char)(LANES * group)));
    const __m512i place = _mm512_permutexvar_epi8(shifted, w->places);
    return _mm512_permutexvar_epi8(_mm512_add_epi8(place, all(0x00010203)), w->bytes);
}

/* Of those the bytes of the character, as st_char_bits has them. */
static inline __m512i characters(__m512i four)
{
    __m512i shift = all(24);
    shift = _mm512_mask_sub_epi32(shift, _mm512_cmpge_epu32_mask(four, all(0x80000000)), shift, all(8));
    shift = _mm512_mask_sub_epi32(shift, _mm512_cmpge_epu32_mask(four, all(0xE0000000)), shift, all(8));
    shift = _mm512_mask_sub_epi32(shift, _mm512_cmpge_epu32_mask(four, all(0xF0000000)), shift, all(8));
    return _mm512_srlv_epi32(four, shift);
}

/* st_cut_hash(left, right, 0): the second 32 bits of (left << 32 | right) * ST_CUT_FACTOR, by halves. */
static inline __m512i hash(__m512i left, __m512i right)
{
    const __m512i low = all((uint32_t)ST_CUT_FACTOR), high = all((uint32_t)(ST_CUT_FACTOR >> 32));
    const __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(right, low), 32);
    const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(right, 32), low);
    const __m512i carried = _mm512_mask_blend_epi32(0xAAAA, even, odd);
    const __m512i rest = _mm512_add_epi32(_mm512_mullo_epi32(right, high), _mm512_mullo_epi32(left, low));
    return _mm512_add_epi32(carried, rest);
}

/* The bits number `at` of a table, in bit 0. */
static inline __m512i table_bits(__mmask16 lanes, const void *table, __m512i at)
{
    const __m512i word = _mm512_srli_epi32(at, 5), bit = _mm512_and_si512(at, all(31));
    return _mm512_srlv_epi32(_mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, word, table, 4), bit);
}

/* Looks at the borders between `left` and `right`, of which `four` has the first byte. */
static inline void look_at_borders(const st_cut_tables *tables, window *w, size_t group, __m512i left, __m512i right,
                                   __m512i four)
{
    const __m512i between = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(left, all(0xFF)), 8), _mm512_srli_epi32(four, 24));
    const __m512i shapes = _mm512_i32gather_epi32(between, tables->near, 2);
    const __m512i pair = _mm512_srli_epi32(hash(left, right), 32 - ST_CUT_PAIR_BITS);
    const __mmask16 ascii = _mm512_cmplt_epu32_mask(_mm512_or_si512(left, right), all(0x80));
    __m512i joined = table_bits((__mmask16)~ascii, tables->pairs, pair);
    if (ascii) {
        const __m512i both = _mm512_or_si512(_mm512_slli_epi32(left, 7), right);
        joined = _mm512_or_si512(joined, table_bits(ascii, tables->ascii, both));
    }
    w->joined |= (uint64_t)_mm512_test_epi32_mask(joined, all(1)) << LANES * group;
    w->near |= (uint64_t)_mm512_test_epi32_mask(shapes, all(0xFFFF)) << LANES * group;
}

/* Of the borders, as a mask of bytes, those that no token spans with a part of a character. */
static uint64_t without_partial(const st_cuts *cuts, const window *w, uint64_t borders)
{
    uint64_t found = 0;
    for (; borders; borders &= borders - 1) {
        const unsigned at = st_first_bit(borders), x = st_last_bit(w->leads & (((uint64_t)1 << at) - 1));
        found |= (uint64_t)!st_cuts_partial(cuts, w->text, x, at, at + st_utf8_size(w->text[at])) << at;
    }
    return found;
}

/* The cuts between the characters of the window, a bit a byte. */
static inline uint64_t cuts_of(const st_cuts *cuts, window *w)
{
    __m512i before = _mm512_setzero_si512();
    for (size_t group = 0; LANES * group < w->count; group++) {
        const __m512i four = four_bytes(w, group), here = characters(four);
        look_at_borders(cuts->tables, w, group, _mm512_alignr_epi32(here, before, LANES - 1), here, four);
        before = here;
    }
    const uint64_t open = _bzhi_u64(~(w->joined | 1), (uint32_t)w->count);
    const uint64_t surely = _pdep_u64(open & ~w->near, w->leads), perhaps = _pdep_u64(open & w->near, w->leads);
    return perhaps ? surely | without_partial(cuts, w, perhaps) : surely;
}

/* Writes base + the number of each set bit, as far as there is room; returns how many. May write up to 16 more. */
static inline size_t put_borders(uint64_t mask, size_t base, uint32_t *borders)
{
    __m512i places = _mm512_maskz_compress_epi8(mask, byte_numbers());
    const size_t count = (size_t)_mm_popcnt_u64(mask);
    for (size_t i = 0; i < count; i += LANES) {
        const __m512i wide = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
        _mm512_storeu_si512(borders + i, _mm512_add_epi32(wide, all((uint32_t)base)));
        places = _mm512_shuffle_i64x2(places, places, 0x39); /* the next sixteen bytes */
    }
    return count;
}

/* Each bit becomes the exclusive or of all up to it: between the first and the second of two ones there are ones. */
static inline uint64_t fill(uint64_t bits)
{
    for (int i = 1; i < 64; i *= 2)
        bits ^= bits << i;
    return bits;
}

/* A stretch, a bit a byte: where pieces end, the bytes of long ones, the cuts. */
typedef struct stretch {
    uint64_t ends[WORDS], in_long[WORDS], cuts[WORDS];
    size_t n;
} stretch;

/* Reads as many pieces as the stretch takes; returns how many. */
static size_t read_pieces(stretch *s, size_t at, const uint64_t *ends, size_t count)
{
    size_t taken = 0, start = 0;
    while (taken < count && ends[taken] - at <= ST_CUT_STRETCH) {
        const size_t end = (size_t)ends[taken++] - at, is_long = end - start > ST_KEY_BYTES;
        s->ends[end / 64] |= (uint64_t)1 << end % 64;
        s->in_long[start / 64] ^= (uint64_t)is_long << start % 64;
        s->in_long[end / 64] ^= (uint64_t)is_long << end % 64;
        start = end;
    }
    s->n = start;
    for (size_t i = 0, inside = 0; i <= s->n / 64; i++) {
        s->in_long[i] = fill(s->in_long[i]) ^ (0 - (uint64_t)inside);
        inside = s->in_long[i] >> 63;
    }
    return taken;
}

/* The first byte from `at` on that is in a long piece (flip = 0), or in none (all ones); s->n or more: there is none. */
static inline size_t next_byte(const stretch *s, size_t at, uint64_t flip)
{
    size_t word = at / 64;
    uint64_t here = (s->in_long[word] ^ flip) >> at % 64 << at % 64;
    while (!here && word < s->n / 64)
        here = s->in_long[++word] ^ flip;
    return here ? 64 * word + st_first_bit(here) : s->n;
}

/* Finds the cuts in the runs of long pieces. Windows overlap by a character, whose border to the next is in the second. */
static void find_cuts(const st_cuts *cuts, const uint8_t *text, stretch *s)
{
    size_t at = 0, end;
    while ((at = next_byte(s, at, 0)) < s->n) {
        for (end = next_byte(s, at, UINT64_MAX); at < end;) {
            window w = read_window(text + at, end - at);
            const uint64_t found = cuts_of(cuts, &w);
            s->cuts[at / 64] |= found << at % 64;
            s->cuts[at / 64 + 1] |= at % 64 ? found >> (64 - at % 64) : 0;
            const size_t last = at + last_character(&w), behind = last + st_utf8_size(text[last]);
            at = behind < end ? last : end;
        }
    }
}

size_t st_cuts_of_pieces_avx512(const st_cuts *cuts, const uint8_t *text, size_t at, const uint64_t *ends, size_t count,
                                uint32_t *spans, size_t *pieces)
{
    stretch s = {{0}, {0}, {0}, 0};
    size_t written = 0;
    *pieces = read_pieces(&s, at, ends, count);
    if (!*pieces)
        return 0;
    find_cuts(cuts, text + at, &s);
    for (size_t i = 0; i <= s.n / 64; i++)
        written += put_borders(s.ends[i] | (s.cuts[i] & s.in_long[i]), 64 * i, spans + written);
    return written;
}
#include "target_end.h"
#else
typedef int st_no_cuts_avx512; /* a file must hold something */
#endif
