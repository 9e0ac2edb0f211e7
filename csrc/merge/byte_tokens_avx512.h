/* The tokens of single bytes, looked up 64 at a time, which is cheaper than a gather of sixteen. Include it after
 * base/begin_avx512.h. */
#ifndef ST_MERGE_BYTE_TOKENS_AVX512_H
#define ST_MERGE_BYTE_TOKENS_AVX512_H

#include "pairs/pair_table.h"

typedef struct byte_tokens {
    const uint32_t *wide; /* the tokens of all bytes */
    int narrow;           /* 1: they are all less than 256, as in most vocabularies */
    __m512i tokens[4];    /* if narrow: the tokens, a byte each */
} byte_tokens;

static inline byte_tokens byte_tokens_of(const st_pairs *pairs)
{
    byte_tokens b = {.wide = pairs->byte_token};
    uint8_t tokens[256];
    __m512i highest = _mm512_setzero_si512();
    for (uint32_t i = 0; i < 256; i += LANES) {
        const __m512i some = _mm512_loadu_si512(pairs->byte_token + i);
        highest = _mm512_max_epu32(highest, some);
        _mm_storeu_si128((__m128i *)(void *)(tokens + i), _mm512_cvtepi32_epi8(some));
    }
    b.narrow = !_mm512_cmpgt_epu32_mask(highest, all(255));
    for (uint32_t i = 0; i < 4; i++)
        b.tokens[i] = _mm512_loadu_si512(tokens + 64 * i);
    return b;
}

#endif
