/* The rule of cut_rule.h for a stretch of text at once, with AVX-512.
 *
 * Everything that depends on the text is a bit in a mask: where pieces begin, which pieces are long, where a token joins two
 * characters. The characters of long pieces are first listed without gaps, so that no branch asks where a piece ends. */
#include "cut/cuts.h"

#include "cut/borders_avx512.h"

#define WORDS 4    /* of 64 bits, one for each byte of a stretch */
#define ENDS 8    /* ends of pieces in a vector */
#define PADDING 64 /* in front of and behind a list of bytes: whole vectors are read and written at its ends */

_Static_assert(WORDS * 64 == ST_CUT_STRETCH, "a bit a byte");

/* The bytes of a stretch where pieces begin, and those that lie in long pieces behind their first byte. */
typedef struct stretch {
    uint64_t starts[WORDS], inside[WORDS];
    size_t n, pieces;
    /* Borders in front of these bytes that a token with a part of a character may span; those that one surely spans. */
    uint64_t near[WORDS], sure[WORDS];
    __m512i text[WORDS];               /* zeros behind the last piece */
} stretch;

/* The places where the characters of long pieces begin, in order, a byte each. Bit i of a mask is that of place i. */
typedef struct places {
    uint8_t at[PADDING + ST_CUT_STRETCH + PADDING]; /* from PADDING on */
    uint64_t starts[WORDS + 1];                     /* pieces begin there */
    uint64_t joined[WORDS + 1], near[WORDS + 1];    /* a token spans the border in front; one with a part of a character may */
    uint64_t which[WORDS];                          /* as bits of the stretch */
    size_t count;
} places;

/* ---- where pieces begin ---- */

/* Ors the eight lanes of each of the four vectors; the four results become the four lanes of the result. */
static inline __m256i gathered(const __m512i bits[WORDS])
{
    const __m512i low = _mm512_or_si512(_mm512_unpacklo_epi64(bits[0], bits[1]), _mm512_unpackhi_epi64(bits[0], bits[1]));
    const __m512i high = _mm512_or_si512(_mm512_unpacklo_epi64(bits[2], bits[3]), _mm512_unpackhi_epi64(bits[2], bits[3]));
    const __m512i both = _mm512_or_si512(_mm512_shuffle_i64x2(low, high, 0x88), _mm512_shuffle_i64x2(low, high, 0xDD));
    const __m512i even = _mm512_shuffle_i64x2(both, both, 0x08), odd = _mm512_shuffle_i64x2(both, both, 0x0D);
    return _mm512_castsi512_si256(_mm512_or_si512(even, odd));
}

/* 256 bits shifted by less than 64 places, towards the first bit and towards the last. */
#define DOWN(bits, by) _mm256_shrdi_epi64(bits, _mm256_alignr_epi64(_mm256_setzero_si256(), bits, 1), by)
#define UP(bits, by) _mm256_shldi_epi64(bits, _mm256_alignr_epi64(bits, _mm256_setzero_si256(), 3), by)

/* Keeps the runs of ones that are at least ST_KEY_BYTES long. */
static inline __m256i long_runs(__m256i ones)
{
    _Static_assert(ST_KEY_BYTES == 15, "1 + 1 + 2 + 4 + 7");
    ones = _mm256_and_si256(ones, DOWN(ones, 1));
    ones = _mm256_and_si256(ones, DOWN(ones, 2));
    ones = _mm256_and_si256(ones, DOWN(ones, 4));
    ones = _mm256_and_si256(ones, DOWN(ones, 7));
    ones = _mm256_or_si256(ones, UP(ones, 1));
    ones = _mm256_or_si256(ones, UP(ones, 2));
    ones = _mm256_or_si256(ones, UP(ones, 4));
    return _mm256_or_si256(ones, UP(ones, 7));
}

static inline uint64_t bits_below(size_t n, size_t word)
{
    return n <= 64 * word ? 0 : first_bytes(n - 64 * word);
}

/* Reads as many pieces as the stretch takes. */
static inline void read_pieces(stretch *s, const uint8_t *text, size_t at, const uint64_t *ends, size_t count)
{
    const __m512i first = _mm512_set1_epi64((long long)at), limit = _mm512_set1_epi64(ST_CUT_STRETCH);
    __m512i bits[WORDS] = {_mm512_setzero_si512()}, before = _mm512_setzero_si512();
    for (size_t i = 1; i < WORDS; i++)
        bits[i] = bits[0];
    __mmask8 here = 0xFF;
    size_t taken = 0;
    while (here == 0xFF) {
        here = first_wide_lanes(count - taken);
        const __m512i end = _mm512_sub_epi64(_mm512_maskz_loadu_epi64(here, ends + taken), first);
        here = _mm512_mask_cmple_epu64_mask(here, end, limit);
        const __m512i start = _mm512_alignr_epi64(end, before, ENDS - 1);
        for (size_t i = 0; i < WORDS; i++) { /* a shift by 64 or more, as for a place outside these 64 bytes, gives 0 */
            const __m512i place = _mm512_sub_epi64(start, _mm512_set1_epi64((long long)(64 * i)));
            bits[i] = _mm512_or_si512(bits[i], _mm512_maskz_sllv_epi64(here, _mm512_set1_epi64(1), place));
        }
        taken += (size_t)_mm_popcnt_u32(here);
        before = end;
    }
    s->pieces = taken;
    s->n = taken ? (size_t)ends[taken - 1] - at : 0;
    for (size_t i = 0; i < WORDS; i++)
        s->text[i] = _mm512_maskz_loadu_epi8(bits_below(s->n, i), text + at + 64 * i);
    const __m256i starts = gathered(bits);
    const __m256i there = _mm256_set_epi64x((long long)bits_below(s->n, 3), (long long)bits_below(s->n, 2),
                                            (long long)bits_below(s->n, 1), (long long)bits_below(s->n, 0));
    _mm256_storeu_si256((__m256i *)s->starts, starts);
    _mm256_storeu_si256((__m256i *)s->inside, long_runs(_mm256_andnot_si256(starts, there)));
}

/* Finds the borders that a token with a part of a character may span, and those that one surely spans. */
static inline void find_near(stretch *s, const st_cut_tables *tables)
{
    const byte_classes classes = byte_classes_of(tables);
    __m512i before = _mm512_setzero_si512();
    for (size_t i = 0; i < WORDS; i++) {
        const __m512i common = common_classes(&classes, s->text[i], &before);
        s->near[i] = _mm512_test_epi8_mask(common, common);
        s->sure[i] = _mm512_movepi8_mask(common); /* the highest bit is ST_CUT_SURE */
    }
}

/* ---- the characters of long pieces ---- */

/* Appends 64 bits to a list of `count` bits and sets the bits behind them to 0. */
static inline void append(uint64_t *list, size_t count, uint64_t bits)
{
    list[count / 64] |= bits << count % 64;
    list[count / 64 + 1] = bits >> 1 >> (63 - count % 64);
}

static inline void list_places(places *p, const stretch *s)
{
    size_t count = 0;
    p->starts[0] = p->joined[0] = p->near[0] = 0;
    for (size_t i = 0; i < WORDS; i++) {
        const uint64_t leads = _mm512_cmpge_epi8_mask(s->text[i], _mm512_set1_epi8(-64)); /* 0x80 to 0xBF lie below */
        const uint64_t before_inside = s->inside[i] >> 1 | (i + 1 < WORDS ? s->inside[i + 1] << 63 : 0);
        const uint64_t which = (s->starts[i] & before_inside) | (leads & s->inside[i]);
        const __m512i numbers = _mm512_add_epi8(byte_numbers(), _mm512_set1_epi8((char)(64 * i)));
        _mm512_storeu_si512(p->at + PADDING + count, _mm512_maskz_compress_epi8(which, numbers));
        append(p->starts, count, _pext_u64(s->starts[i], which));
        append(p->joined, count, _pext_u64(s->sure[i], which));
        append(p->near, count, _pext_u64(s->near[i], which));
        p->which[i] = which;
        count += (size_t)_mm_popcnt_u64(which);
    }
    p->count = count;
}

/* The four bytes at each of LANES places of the stretch, the first one highest. Bytes behind its end are undefined. */
static inline __m512i four_bytes(const __m512i text[WORDS], const uint8_t *at)
{
    const __m512i which = _mm512_set_epi32(0x0F0F0F0F, 0x0E0E0E0E, 0x0D0D0D0D, 0x0C0C0C0C, 0x0B0B0B0B, 0x0A0A0A0A,
                                           0x09090909, 0x08080808, 0x07070707, 0x06060606, 0x05050505, 0x04040404,
                                           0x03030303, 0x02020202, 0x01010101, 0);
    const __m512i place = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)at)), which);
    return look_up_bytes(text, _mm512_add_epi8(place, all(0x00010203)));
}

/* The shift that leaves only the bytes of the character. */
static inline __m512i shift_of(__m512i four)
{
    const __m512i shifts = _mm512_set_epi32(0, 8, 16, 16, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24);
    return _mm512_permutexvar_epi32(_mm512_srli_epi32(four, 28), shifts);
}

/* The character, as st_char_bits has it. */
static inline __m512i character_bits(__m512i four)
{
    return _mm512_srlv_epi32(four, shift_of(four));
}

/* The parts of st_cut_hash, whose sum is the hash: of the right character the upper 32 bits of right * ST_GOLDEN, of the left one
 * the lower 32 bits of left * ST_GOLDEN. */
typedef struct hashes {
    __m512i right, left;
} hashes;

static inline hashes border_hashes_of(__m512i character)
{
    const __m512i low = all((uint32_t)ST_GOLDEN), high = all((uint32_t)(ST_GOLDEN >> 32));
    const __m512i even = _mm512_mul_epu32(character, low), odd = _mm512_mul_epu32(_mm512_srli_epi64(character, 32), low);
    const __m512i carried = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
    const __m512i first = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
    return (hashes){_mm512_add_epi32(carried, _mm512_mullo_epi32(character, high)), first};
}

/* The bits of a table that the first bits of a hash name, what `shift` leaves of it. */
static inline __mmask16 bits_at(__mmask16 lanes, const uint8_t *table, __m512i hash, uint8_t shift)
{
    const __m512i place = _mm512_srl_epi32(hash, _mm_cvtsi32_si128(shift));
    const __m512i word = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, _mm512_srli_epi32(place, 5), table, 4);
    return _mm512_test_epi32_mask(_mm512_rorv_epi32(word, place), all(1)); /* by its last five bits */
}

/* st_cut_shapes of LANES borders; `four` begins with the character on the right. */
static inline __m512i shapes_of(const st_cut_tables *tables, __mmask16 lanes, __m512i left, __m512i four)
{
    const __m512i between = _mm512_and_si512(_mm512_shldi_epi32(left, four, 8), all(0xFFFF));
    const __m512i shapes = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, between, tables->near, 2);
    return _mm512_and_si512(shapes, all(0xFFFF));
}

/* Bit 0 of each lane: do the two characters, as st_char_bits gives them, stand side by side in a token? The exact table of ASCII
 * characters and the bit set of all others are read by one gather. */
static inline __mmask16 are_pairs(const st_cut_tables *tables, __m512i left, __m512i right, __m512i hash)
{
    const __mmask16 ascii = _mm512_cmplt_epu32_mask(_mm512_or_si512(left, right), all(0x80));
    const __m512i place = _mm512_mask_mov_epi32(_mm512_srl_epi32(hash, _mm_cvtsi32_si128(tables->pair_shift)), ascii, right);
    const __m512i row = _mm512_add_epi32(_mm512_slli_epi32(left, 2), all(offsetof(st_cut_tables, ascii) / 4));
    const __m512i word = _mm512_srli_epi32(place, 5), at = _mm512_mask_add_epi32(word, ascii, word, row);
    return _mm512_test_epi32_mask(_mm512_rorv_epi32(_mm512_i32gather_epi32(at, tables, 4), place), all(1));
}

/* Notes for all places whether a token with both whole characters spans the border in front. */
static inline void look_at_borders(places *p, const st_cut_tables *tables, const __m512i text[WORDS])
{
    __m512i left = _mm512_setzero_si512(), hash = left;
    for (size_t i = 0; i < p->count; i += LANES) {
        const __m512i four = four_bytes(text, p->at + PADDING + i), right = character_bits(four);
        const hashes h = border_hashes_of(right);
        const __m512i before = _mm512_alignr_epi32(right, left, LANES - 1);
        const __m512i sum = _mm512_add_epi32(h.right, _mm512_alignr_epi32(h.left, hash, LANES - 1));
        const __mmask16 joined = are_pairs(tables, before, right, sum);
        p->joined[i / 64] |= (uint64_t)joined << i % 64;
        left = right;
        hash = h.left;
    }
}

/* ---- tokens that span a border with a part of a character ---- */

/* The numbers of shapes, 4 * a + b, each with something in its lane. */
#define EACH_SHAPE(x) _mm512_set_epi32(x(3, 3), x(3, 2), x(3, 1), x(3, 0), x(2, 3), x(2, 2), x(2, 1), x(2, 0), \
                                       x(1, 3), x(1, 2), x(1, 1), x(1, 0), x(0, 3), x(0, 2), x(0, 1), x(0, 0))
#define SHAPE_HASH(a, b) ((4 * a + b) * ST_CUT_SHAPE_STEP) /* as in st_cut_hash */
#define MIXED_LEFT(a, b) (int)(SHAPE_HASH(a, b) >> 32)
#define MIXED_RIGHT(a, b) (int)(uint32_t)SHAPE_HASH(a, b)
#define PART_OF_LEFT(a, b) (int)(a ? (1u << 8 * a) - 1 : UINT32_MAX) /* a mask */
#define LEFT_ABOVE(a, b) (int)(a ? (1u << 8 * a) - 1 : 0)            /* above it is what has a proper part of a bytes */
#define PART_OF_RIGHT(a, b) (b ? 32 - 8 * b : 0)                     /* a shift, as of the whole character */

/* One step of st_cut_is_partial, for the borders in `lanes`: does a token of the lowest of the shapes span them? */
static inline __mmask16 is_partial(const st_cut_tables *tables, __m512i shapes, __mmask16 lanes, __m512i left, __m512i four)
{
    const __m512i lowest = _mm512_and_si512(shapes, _mm512_sub_epi32(all(0), shapes));
    const __m512i shape = _mm512_sub_epi32(all(31), _mm512_lzcnt_epi32(lowest));
    const __m512i part = _mm512_permutexvar_epi32(shape, EACH_SHAPE(PART_OF_RIGHT)), whole = shift_of(four);
    const __m512i above = _mm512_permutexvar_epi32(shape, EACH_SHAPE(LEFT_ABOVE));
    const __m512i left_part = _mm512_and_si512(left, _mm512_permutexvar_epi32(shape, EACH_SHAPE(PART_OF_LEFT)));
    const __m512i right_part = _mm512_srlv_epi32(four, _mm512_max_epu32(part, whole));
    const __m512i mixed_left = _mm512_permutexvar_epi32(shape, EACH_SHAPE(MIXED_LEFT));
    const __m512i mixed_right = _mm512_permutexvar_epi32(shape, EACH_SHAPE(MIXED_RIGHT));
    lanes = _mm512_mask_cmpge_epu32_mask(lanes, left, above); /* equal only where both are 0 */
    lanes &= _mm512_cmpgt_epu32_mask(part, whole) | _mm512_testn_epi32_mask(part, part);
    const hashes l = border_hashes_of(_mm512_xor_si512(left_part, mixed_left));
    const hashes r = border_hashes_of(_mm512_xor_si512(right_part, mixed_right));
    return lanes & bits_at(lanes, tables->partials, _mm512_add_epi32(l.left, r.right), tables->partial_shift);
}

/* Those of the borders in front of places 64 * word, 64 * word + 1, ... that a token with a part of a character spans. */
static uint64_t partial(const places *p, size_t word, uint64_t borders, const st_cut_tables *tables, const __m512i text[WORDS])
{
    const uint8_t *at = p->at + PADDING + 64 * word;
    const size_t count = (size_t)_mm_popcnt_u64(borders);
    uint8_t right[64], left[64];
    uint64_t found = 0;
    _mm512_storeu_si512(right, _mm512_maskz_compress_epi8(borders, _mm512_loadu_si512(at)));
    _mm512_storeu_si512(left, _mm512_maskz_compress_epi8(borders, _mm512_loadu_si512(at - 1)));
    for (size_t i = 0; i < count; i += LANES) {
        __mmask16 lanes = first_lanes(count - i);
        const __m512i four = four_bytes(text, right + i), before = character_bits(four_bytes(text, left + i));
        __m512i shapes = shapes_of(tables, lanes, before, four);
        while ((lanes = _mm512_mask_test_epi32_mask(lanes, shapes, shapes))) {
            found |= (uint64_t)is_partial(tables, shapes, lanes, before, four) << i;
            shapes = _mm512_and_si512(shapes, _mm512_sub_epi32(shapes, all(1)));
        }
    }
    return _pdep_u64(found, borders);
}

/* ---- spans ---- */

/* The places that are cuts. */
static inline void find_cuts(const places *p, const st_cut_tables *tables, const __m512i text[WORDS], uint64_t cuts[WORDS + 1])
{
    for (size_t i = 0; i <= WORDS; i++)
        cuts[i] = 0;
    for (size_t i = 0; 64 * i < p->count; i++) {
        const uint64_t open = bits_below(p->count, i) & ~(p->joined[i] | p->starts[i]), perhaps = open & p->near[i];
        cuts[i] = perhaps ? open ^ partial(p, i, perhaps, tables, text) : open;
    }
}

/* Spans begin where pieces begin and at cuts. Writes where they end, except for the last one; returns how many it wrote. */
static inline size_t put_spans(const stretch *s, const places *p, const uint64_t cuts[WORDS + 1], uint32_t *spans)
{
    size_t written = 0, listed = 0;
    for (size_t i = 0; i < WORDS; i++) {
        const size_t word = listed / 64, bit = listed % 64;
        const uint64_t here = cuts[word] >> bit | cuts[word + 1] << 1 << (63 - bit);
        uint64_t begins = s->starts[i] | _pdep_u64(here, p->which[i]);
        begins &= UINT64_MAX - !i; /* the first begins where no span ends */
        const size_t count = (size_t)_mm_popcnt_u64(begins);
        const __m512i numbers = _mm512_add_epi8(byte_numbers(), _mm512_set1_epi8((char)(64 * i)));
        __m512i found = _mm512_maskz_compress_epi8(begins, numbers);
        size_t k = 0;
        do { /* nearly always once */
            _mm512_storeu_si512(spans + written + k, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found)));
            found = _mm512_shuffle_i64x2(found, found, 0x39); /* the next sixteen bytes */
        } while ((k += LANES) < count);
        written += count;
        listed += (size_t)_mm_popcnt_u64(p->which[i]);
    }
    return written;
}

static size_t st_cuts_of_pieces_avx512(const st_cuts *cuts, const uint8_t *text, size_t at, const uint64_t *ends, size_t count,
                                uint32_t *spans, size_t *pieces)
{
    stretch s;
    places p;
    uint64_t found[WORDS + 1];
    read_pieces(&s, text, at, ends, count);
    *pieces = s.pieces;
    if (!s.pieces)
        return 0;
    find_near(&s, cuts->tables);
    list_places(&p, &s);
    look_at_borders(&p, cuts->tables, s.text);
    find_cuts(&p, cuts->tables, s.text, found);
    const size_t written = put_spans(&s, &p, found, spans);
    spans[written] = (uint32_t)s.n;
    return written + 1;
}
