/* What str_to_utf8_template.h wants of AVX-512. */

ST_FORCE_INLINE st_lanes points_load_some(const uint8_t *from, size_t count, unsigned width)
{
    const __mmask16 lanes = first_lanes(count);
    switch (width) {
    case 1:
        return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, from));
    case 2:
        return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, from));
    default:
        return _mm512_maskz_loadu_epi32(lanes, from);
    }
}

ST_FORCE_INLINE st_lanes points_load(const uint8_t *from, unsigned width)
{
    return points_load_some(from, ST_LANES, width);
}

static inline uint8_t *points_press(st_lanes bytes, st_where two, st_where three, st_where four, uint8_t *to)
{
    const uint64_t firsts = UINT64_C(0x1111111111111111), kept = firsts | _mm512_test_epi8_mask(bytes, bytes);
    (void)two, (void)three, (void)four;
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(kept, bytes));
    return to + _mm_popcnt_u64(kept);
}

static inline void points_narrow_one(st_lanes c, uint8_t *to)
{
    _mm_storeu_si128((__m128i *)(void *)to, _mm512_cvtepi32_epi8(c));
}

ST_FORCE_INLINE void points_narrow(const st_lanes c[4], unsigned width, uint8_t *to)
{
    for (unsigned i = 0; i < width; i++)
        if (width == 1)
            _mm512_storeu_si512(to, c[i]);
        else if (width == 2)
            _mm256_storeu_si256((__m256i *)(void *)(to + 32 * i), _mm512_cvtepi16_epi8(c[i]));
        else
            points_narrow_one(c[i], to + 16 * i);
}

#define POINTS_ASCII_APART 1
