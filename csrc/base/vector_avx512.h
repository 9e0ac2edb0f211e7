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

static inline st_vector st_vector_load(const uint8_t *text)
{
    return _mm512_loadu_si512(text);
}

static inline st_vector st_vector_load_rest(const uint8_t *text, size_t n)
{
    return _mm512_maskz_loadu_epi8(first_bytes(n), text);
}

static inline uint64_t st_vector_high(st_vector v)
{
    return _mm512_movepi8_mask(v);
}

static inline uint64_t st_vector_any_high(st_vector v)
{
    return st_vector_high(v);
}

static inline uint64_t st_vector_is(st_vector v, unsigned byte)
{
    return _mm512_cmpeq_epi8_mask(v, every(byte));
}

static inline uint64_t st_vector_at_least(st_vector v, unsigned byte)
{
    return _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)byte));
}

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

static inline uint64_t st_vector_bits(st_vector v, uint64_t bits)
{
    return _mm512_movepi8_mask(_mm512_permutexvar_epi8(v, _mm512_movm_epi8(bits)));
}

static inline st_vector st_vector_pick(st_vector v, const uint8_t *table)
{
    return _mm512_permutexvar_epi8(v, _mm512_loadu_si512(table));
}

static inline uint64_t st_vector_meet(st_vector a, st_vector b)
{
    return _mm512_test_epi8_mask(a, b);
}

/* ---- numbers of 32 bits ---- */

#define ST_LANES LANES

typedef __m512i st_lanes;
typedef __mmask16 st_where;

static inline st_lanes st_lanes_load(const void *from)
{
    return _mm512_loadu_si512(from);
}

static inline st_lanes st_lanes_all(uint32_t value)
{
    return all(value);
}

static inline st_lanes st_lanes_or(st_lanes a, st_lanes b)
{
    return _mm512_or_si512(a, b);
}

static inline st_lanes st_lanes_and(st_lanes a, st_lanes b)
{
    return _mm512_and_si512(a, b);
}

static inline st_lanes st_lanes_min(st_lanes a, st_lanes b)
{
    return _mm512_min_epu32(a, b);
}

static inline st_lanes st_lanes_left(st_lanes v, int n)
{
    return _mm512_slli_epi32(v, (unsigned)n);
}

static inline st_lanes st_lanes_right(st_lanes v, int n)
{
    return _mm512_srli_epi32(v, (unsigned)n);
}

static inline uint32_t st_lanes_least(st_lanes v)
{
    return _mm512_reduce_min_epu32(v);
}

static inline int st_lanes_meet(st_lanes a, st_lanes b)
{
    return _mm512_test_epi32_mask(a, b) != 0;
}

static inline st_where st_lanes_over(st_lanes v, uint32_t limit)
{
    return _mm512_cmpgt_epu32_mask(v, all(limit));
}

static inline st_where st_lanes_same(st_lanes a, st_lanes b)
{
    return _mm512_cmpeq_epi32_mask(a, b);
}

static inline st_lanes st_lanes_pick(st_where where, st_lanes a, st_lanes b)
{
    return _mm512_mask_mov_epi32(b, where, a);
}

static inline st_where st_where_or(st_where a, st_where b)
{
    return (st_where)(a | b);
}

static inline int st_where_any(st_where where)
{
    return where != 0;
}
