/* vector.h on AVX2: two vectors of 32 bytes, eight numbers. Included by begin_avx2.h. */
#include "base/vector.h"

/* ---- 64 bytes ---- */

typedef struct st_vector {
    __m256i low, high;
} st_vector;

static inline st_vector st_vector_load(const uint8_t *text)
{
    const st_vector v = {_mm256_loadu_si256((const __m256i *)(const void *)text),
                         _mm256_loadu_si256((const __m256i *)(const void *)(text + 32))};
    return v;
}

static inline void st_vector_store(uint8_t *to, st_vector v)
{
    _mm256_storeu_si256((__m256i *)(void *)to, v.low);
    _mm256_storeu_si256((__m256i *)(void *)(to + 32), v.high);
}

static inline st_vector st_vector_load_rest(const uint8_t *text, size_t n)
{
    uint8_t bytes[ST_VECTOR_BYTES] = {0};
    memcpy(bytes, text, n);
    return st_vector_load(bytes);
}

ST_OP(uint64_t, st_to_mask, (__m256i low, __m256i high),
      (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 | (uint32_t)_mm256_movemask_epi8(low))
ST_OP(uint64_t, st_vector_high, (st_vector v), st_to_mask(v.low, v.high))
ST_OP(uint64_t, st_vector_any_high, (st_vector v), (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(v.low, v.high)))

static inline st_vector st_vector_same(st_vector v, unsigned byte)
{
    const __m256i bytes = _mm256_set1_epi8((char)byte);
    return (st_vector){_mm256_cmpeq_epi8(v.low, bytes), _mm256_cmpeq_epi8(v.high, bytes)};
}

/* AVX2 has no unsigned comparison of bytes. It has an unsigned maximum. */
static inline st_vector st_vector_from(st_vector v, unsigned byte)
{
    const __m256i bytes = _mm256_set1_epi8((char)byte);
    return (st_vector){_mm256_cmpeq_epi8(_mm256_max_epu8(v.low, bytes), v.low),
                       _mm256_cmpeq_epi8(_mm256_max_epu8(v.high, bytes), v.high)};
}

ST_OP(uint64_t, st_vector_is, (st_vector v, unsigned byte), st_vector_high(st_vector_same(v, byte)))
ST_OP(uint64_t, st_vector_at_least, (st_vector v, unsigned byte), st_vector_high(st_vector_from(v, byte)))

/* Comparisons are signed. So the bytes are shifted: `first` becomes the smallest signed byte. */
static inline uint64_t st_vector_in(st_vector v, unsigned first, unsigned n)
{
    const __m256i shift = _mm256_set1_epi8((char)(0x80 - first)), limit = _mm256_set1_epi8((char)(0x80 + n));
    return st_to_mask(_mm256_cmpgt_epi8(limit, _mm256_add_epi8(v.low, shift)),
                      _mm256_cmpgt_epi8(limit, _mm256_add_epi8(v.high, shift)));
}

/* Each byte's eight of the bits, and of those its own. */
static inline __m256i st_pick_bits(__m256i v, __m256i bits)
{
    const __m256i seven = _mm256_set1_epi8(7), powers = _mm256_set1_epi64x((long long)UINT64_C(0x8040201008040201));
    const __m256i own = _mm256_shuffle_epi8(powers, _mm256_and_si256(v, seven));
    const __m256i eight = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(v, 3), seven));
    return _mm256_cmpeq_epi8(_mm256_and_si256(eight, own), own);
}

ST_OP(uint64_t, st_vector_bits, (st_vector v, uint64_t bits),
      st_to_mask(st_pick_bits(v.low, _mm256_set1_epi64x((long long)bits)), st_pick_bits(v.high, _mm256_set1_epi64x((long long)bits))))

static inline __m256i st_pick_half(__m256i v, const uint8_t *table)
{
    const __m256i quarters = _mm256_and_si256(v, _mm256_set1_epi8(0x30)), low = _mm256_and_si256(v, _mm256_set1_epi8(15));
    __m256i picked = _mm256_setzero_si256();
    for (int i = 0; i < 4; i++) {
        const __m256i entries = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(table + 16 * i)));
        const __m256i mine = _mm256_cmpeq_epi8(quarters, _mm256_set1_epi8((char)(i << 4)));
        picked = _mm256_or_si256(picked, _mm256_and_si256(mine, _mm256_shuffle_epi8(entries, low)));
    }
    return picked;
}

ST_OP(st_vector, st_vector_pick, (st_vector v, const uint8_t *table),
      ((st_vector){st_pick_half(v.low, table), st_pick_half(v.high, table)}))

static inline uint64_t st_vector_meet(st_vector a, st_vector b)
{
    const __m256i none = _mm256_setzero_si256();
    return ~st_to_mask(_mm256_cmpeq_epi8(_mm256_and_si256(a.low, b.low), none),
                       _mm256_cmpeq_epi8(_mm256_and_si256(a.high, b.high), none));
}

ST_OP(st_vector, st_vector_every, (unsigned byte), ((st_vector){_mm256_set1_epi8((char)byte), _mm256_set1_epi8((char)byte)}))
ST_OP(st_vector, st_vector_and, (st_vector a, st_vector b), ((st_vector){_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)}))
ST_OP(st_vector, st_vector_or, (st_vector a, st_vector b), ((st_vector){_mm256_or_si256(a.low, b.low), _mm256_or_si256(a.high, b.high)}))

/* Pairs of bytes are shifted, and what came from the other byte is cleared. */
static inline st_vector st_vector_left(st_vector v, int n)
{
    const st_vector shifted = {_mm256_slli_epi16(v.low, n), _mm256_slli_epi16(v.high, n)};
    return st_vector_and(shifted, st_vector_every(0xFFu << n & 0xFF));
}

static inline st_vector st_vector_right(st_vector v, int n)
{
    const st_vector shifted = {_mm256_srli_epi16(v.low, n), _mm256_srli_epi16(v.high, n)};
    return st_vector_and(shifted, st_vector_every(0xFFu >> n));
}

ST_OP(st_vector, st_vector_choose, (st_vector where, st_vector a, st_vector b),
      ((st_vector){_mm256_blendv_epi8(b.low, a.low, where.low), _mm256_blendv_epi8(b.high, a.high, where.high)}))

/* Compilers that do not optimize know no argument of a function as a constant, which the instruction needs. */
ST_FORCE_INLINE st_vector st_vector_ahead(st_vector v, int n)
{
    const __m256i middle = _mm256_permute2x128_si256(v.low, v.high, 0x21), end = _mm256_permute2x128_si256(v.high, v.high, 0x81);
    const st_vector one = {_mm256_alignr_epi8(middle, v.low, 1), _mm256_alignr_epi8(end, v.high, 1)};
    const st_vector two = {_mm256_alignr_epi8(middle, v.low, 2), _mm256_alignr_epi8(end, v.high, 2)};
    return n == 1 ? one : two;
}

/* A byte of which the highest bit is set picks 0: bytes from 16 on in the first half of the table, those below in the second. */
static inline __m256i st_entry_of_half(__m256i v, __m256i first, __m256i second)
{
    const __m256i most = _mm256_set1_epi8(0x70);
    const __m256i low = _mm256_adds_epu8(v, most), high = _mm256_adds_epu8(_mm256_sub_epi8(v, _mm256_set1_epi8(16)), most);
    return _mm256_or_si256(_mm256_shuffle_epi8(first, low), _mm256_shuffle_epi8(second, high));
}

static inline st_vector st_vector_entry(st_vector v, const uint8_t *table)
{
    const __m256i first = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
    const __m256i second = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(table + 16)));
    const st_vector entries = {st_entry_of_half(v.low, first, second), st_entry_of_half(v.high, first, second)};
    return entries;
}

ST_OP(uint64_t, st_mask_count, (uint64_t mask), (uint64_t)_mm_popcnt_u64(mask))
ST_OP(uint64_t, st_mask_first, (uint64_t mask), _tzcnt_u64(mask))

/* ---- maps ---- */

#define ST_MAP_SIZE 16

typedef __m128i st_map, st_sixteen;

ST_OP(st_map, st_map_load, (const uint8_t *from), _mm_load_si128((const __m128i *)(const void *)from))
ST_OP(st_map, st_map_all, (uint8_t byte), _mm_set1_epi8((char)byte))
ST_OP(uint8_t, st_map_first, (st_map map), (uint8_t)_mm_cvtsi128_si32(map))
ST_OP(st_map, st_map_after, (st_map map, st_map first), _mm_shuffle_epi8(map, first))
ST_OP(st_sixteen, st_no_sixteen, (void), _mm_setzero_si128())

ST_FORCE_INLINE st_sixteen st_map_put(st_sixteen v, st_map map, int i)
{
    return _mm_or_si128(v, _mm_and_si128(map, _mm_loadu_si128((const __m128i *)(const void *)(st_one_byte + 15 - i))));
}

ST_OP(st_vector, st_join_sixteens, (const st_sixteen *four),
      ((st_vector){_mm256_set_m128i(four[1], four[0]), _mm256_set_m128i(four[3], four[2])}))

/* Moves the bit to the top of each byte; what comes from the byte below stays under it. */
ST_OP(uint64_t, st_vector_bit, (st_vector v, int n), st_to_mask(_mm256_slli_epi16(v.low, 7 - n), _mm256_slli_epi16(v.high, 7 - n)))

/* ---- numbers of 32 bits ---- */

#define ST_LANES 8

typedef __m256i st_lanes, st_where; /* st_where: all bits of a lane are set for yes */

ST_OP(st_lanes, st_lanes_load, (const void *from), _mm256_loadu_si256((const __m256i *)from))
ST_OP(st_lanes, st_lanes_all, (uint32_t value), _mm256_set1_epi32((int)value))
ST_OP(st_lanes, st_lanes_or, (st_lanes a, st_lanes b), _mm256_or_si256(a, b))
ST_OP(st_lanes, st_lanes_and, (st_lanes a, st_lanes b), _mm256_and_si256(a, b))
ST_OP(st_lanes, st_lanes_min, (st_lanes a, st_lanes b), _mm256_min_epu32(a, b))
ST_OP(st_lanes, st_lanes_left, (st_lanes v, int n), _mm256_slli_epi32(v, n))
ST_OP(st_lanes, st_lanes_right, (st_lanes v, int n), _mm256_srli_epi32(v, n))

static inline uint32_t st_lanes_least(st_lanes v)
{
    __m128i half = _mm_min_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0x4E));
    half = _mm_min_epu32(half, _mm_shuffle_epi32(half, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(half);
}

ST_OP(int, st_lanes_meet, (st_lanes a, st_lanes b), !_mm256_testz_si256(a, b))
ST_OP(st_where, st_lanes_over, (st_lanes v, uint32_t limit), _mm256_cmpgt_epi32(v, st_lanes_all(limit)))
ST_OP(st_where, st_lanes_same, (st_lanes a, st_lanes b), _mm256_cmpeq_epi32(a, b))
ST_OP(st_lanes, st_lanes_pick, (st_where where, st_lanes a, st_lanes b), _mm256_blendv_epi8(b, a, where))
ST_OP(st_where, st_where_or, (st_where a, st_where b), _mm256_or_si256(a, b))
ST_OP(int, st_where_any, (st_where where), !_mm256_testz_si256(where, where))
ST_OP(st_lanes, st_lanes_plus, (st_lanes a, st_lanes b), _mm256_add_epi32(a, b))
ST_OP(st_lanes, st_lanes_times, (st_lanes a, st_lanes b), _mm256_mullo_epi32(a, b))

/* Products of 64 bits are made of every second number. */
static inline st_lanes st_lanes_times_high(st_lanes a, st_lanes b)
{
    const __m256i even = _mm256_mul_epu32(a, b), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

static inline st_lanes st_lanes_reversed(st_lanes v)
{
    const __m128i order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(order));
}

ST_OP(st_lanes, st_lanes_right_each, (st_lanes v, st_lanes n), _mm256_srlv_epi32(v, n))

/* A byte of which the highest bit is set picks 0. */
static inline st_lanes st_lanes_entry(st_lanes v, const uint8_t *table)
{
    const __m256i entries = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
    return _mm256_shuffle_epi8(entries, _mm256_or_si256(v, st_lanes_all(0x80808000)));
}

ST_OP(st_lanes, st_lanes_after, (st_lanes before, st_lanes v), _mm256_alignr_epi8(v, _mm256_permute2x128_si256(before, v, 0x21), 12))
ST_OP(st_lanes, st_lanes_gather, (const void *from, st_lanes n), _mm256_i32gather_epi32((const int *)from, n, 4))

static inline uint32_t st_lanes_bit(st_lanes v, st_lanes n)
{
    const __m256i top = _mm256_sllv_epi32(v, _mm256_andnot_si256(n, st_lanes_all(31)));
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(top));
}

/* ---- numbers of 64 bits ---- */

#define ST_LONGS 4

typedef __m256i st_longs;

ST_OP(st_longs, st_longs_load, (const uint64_t *from), _mm256_loadu_si256((const __m256i *)(const void *)from))
ST_OP(st_longs, st_longs_all, (uint64_t value), _mm256_set1_epi64x((long long)value))
ST_OP(st_longs, st_longs_or, (st_longs a, st_longs b), _mm256_or_si256(a, b))
ST_OP(st_longs, st_longs_minus, (st_longs a, st_longs b), _mm256_sub_epi64(a, b))
ST_OP(st_longs, st_longs_bit, (st_longs v), _mm256_sllv_epi64(st_longs_all(1), v))

static inline uint64_t st_longs_fold(st_longs v)
{
    const __m128i two = _mm_or_si128(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return (uint64_t)_mm_cvtsi128_si64(two) | (uint64_t)_mm_extract_epi64(two, 1);
}

static inline size_t st_longs_up_to(st_longs v, uint64_t limit)
{
    const __m256i over = _mm256_cmpgt_epi64(v, st_longs_all(limit));
    return ST_LONGS - (size_t)_mm_popcnt_u32((uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(over)));
}
