/* vector.h on AVX-512: one vector of 64 bytes, sixteen numbers. Included by begin_avx512.h. */
#include "base/avx512.h"
#include "base/broadcast_bytes.h"
#include "base/vector.h"

/* ---- 64 bytes ---- */

typedef __m512i st_vector;

/* A vector with `byte` in every place, loaded from memory (broadcast_bytes.h says why). */
static inline __m512i every(unsigned byte)
{
    return all(st_every_byte[byte & 0xFF]);
}

ST_OP(st_vector, st_vector_load, (const uint8_t *text), _mm512_loadu_si512(text))
ST_OP(st_vector, st_vector_load_rest, (const uint8_t *text, size_t n), _mm512_maskz_loadu_epi8(first_bytes(n), text))
ST_OP(uint64_t, st_vector_high, (st_vector v), _mm512_movepi8_mask(v))
ST_OP(uint64_t, st_vector_any_high, (st_vector v), st_vector_high(v))
ST_OP(uint64_t, st_vector_is, (st_vector v, unsigned byte), _mm512_cmpeq_epi8_mask(v, every(byte)))
ST_OP(uint64_t, st_vector_at_least, (st_vector v, unsigned byte), _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)byte)))

/* One comparison is enough if the range ends at 0xFF, the greatest unsigned byte, or begins at 0x80, the smallest signed one. */
ST_FORCE_INLINE uint64_t st_vector_in(st_vector v, unsigned first, unsigned n)
{
    if (first + n == 0x100)
        return _mm512_cmpge_epu8_mask(v, every(first));
    if (first == 0x80)
        return _mm512_cmplt_epi8_mask(v, every(first + n));
    const __m512i from_first = _mm512_sub_epi8(v, every(first));
    return _mm512_cmplt_epu8_mask(from_first, every(n));
}

ST_OP(uint64_t, st_vector_bits, (st_vector v, uint64_t bits), _mm512_movepi8_mask(_mm512_permutexvar_epi8(v, _mm512_movm_epi8(bits))))
ST_OP(st_vector, st_vector_pick, (st_vector v, const uint8_t *table), _mm512_permutexvar_epi8(v, _mm512_loadu_si512(table)))
ST_OP(uint64_t, st_vector_meet, (st_vector a, st_vector b), _mm512_test_epi8_mask(a, b))

static inline void st_vector_store(uint8_t *to, st_vector v)
{
    _mm512_storeu_si512(to, v);
}

/* ---- maps: of 32 numbers, because the instruction that crosses halves takes no longer ---- */

#define ST_MAP_SIZE 32

typedef __m256i st_map;
typedef __m128i st_sixteen;

ST_OP(st_map, st_map_load, (const uint8_t *from), _mm256_load_si256((const __m256i *)(const void *)from))
ST_OP(st_map, st_map_all, (uint8_t byte), _mm256_set1_epi8((char)byte))
ST_OP(uint8_t, st_map_first, (st_map map), (uint8_t)_mm_cvtsi128_si32(_mm256_castsi256_si128(map)))
ST_OP(st_map, st_map_after, (st_map map, st_map first), _mm256_permutexvar_epi8(first, map))
ST_OP(st_sixteen, st_no_sixteen, (void), _mm_setzero_si128())

/* 0xF8: v | (map & the one byte). */
ST_FORCE_INLINE st_sixteen st_map_put(st_sixteen v, st_map map, int i)
{
    return _mm_ternarylogic_epi64(v, _mm256_castsi256_si128(map), _mm_loadu_si128((const __m128i *)(const void *)(st_one_byte + 15 - i)), 0xF8);
}

static inline st_vector st_join_sixteens(const st_sixteen *four)
{
    const __m512i low = _mm512_castsi256_si512(_mm256_inserti128_si256(_mm256_castsi128_si256(four[0]), four[1], 1));
    return _mm512_inserti64x4(low, _mm256_inserti128_si256(_mm256_castsi128_si256(four[2]), four[3], 1), 1);
}

ST_OP(uint64_t, st_vector_bit, (st_vector v, int n), _mm512_test_epi8_mask(v, every(1u << n)))

/* ---- numbers of 32 bits ---- */

#define ST_LANES LANES

typedef __m512i st_lanes;
typedef __mmask16 st_where;

ST_OP(st_lanes, st_lanes_load, (const void *from), _mm512_loadu_si512(from))
ST_OP(st_lanes, st_lanes_all, (uint32_t value), all(value))
ST_OP(st_lanes, st_lanes_or, (st_lanes a, st_lanes b), _mm512_or_si512(a, b))
ST_OP(st_lanes, st_lanes_and, (st_lanes a, st_lanes b), _mm512_and_si512(a, b))
ST_OP(st_lanes, st_lanes_min, (st_lanes a, st_lanes b), _mm512_min_epu32(a, b))
ST_OP(st_lanes, st_lanes_left, (st_lanes v, int n), _mm512_slli_epi32(v, (unsigned)n))
ST_OP(st_lanes, st_lanes_right, (st_lanes v, int n), _mm512_srli_epi32(v, (unsigned)n))
ST_OP(uint32_t, st_lanes_least, (st_lanes v), _mm512_reduce_min_epu32(v))
ST_OP(int, st_lanes_meet, (st_lanes a, st_lanes b), _mm512_test_epi32_mask(a, b) != 0)
ST_OP(st_where, st_lanes_over, (st_lanes v, uint32_t limit), _mm512_cmpgt_epu32_mask(v, all(limit)))
ST_OP(st_where, st_lanes_same, (st_lanes a, st_lanes b), _mm512_cmpeq_epi32_mask(a, b))
ST_OP(st_lanes, st_lanes_pick, (st_where where, st_lanes a, st_lanes b), _mm512_mask_mov_epi32(b, where, a))
ST_OP(st_where, st_where_or, (st_where a, st_where b), (st_where)(a | b))
ST_OP(int, st_where_any, (st_where where), where != 0)
