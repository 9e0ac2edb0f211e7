/* block_places_avx512.h - block_places.h for AVX-512. Its processors compress the bytes that a mask selects. */
#ifndef ST_SPLIT_BLOCK_PLACES_AVX512_H
#define ST_SPLIT_BLOCK_PLACES_AVX512_H

/* Eight of the bytes, from the number `first` on, each in the lowest byte of a lane of 64 bits. */
static inline __m512i eight_from(__m512i bytes, int first)
{
    const __m512i which = _mm512_add_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(first));
    return _mm512_maskz_permutexvar_epi8(UINT64_C(0x0101010101010101), which, bytes);
}

/* The numbers of the set bits are compressed in a register, then widened eight at a time. The first 24 are written without a
 * branch, because few blocks of text have more, and the end of a loop over eights would be mispredicted. */
static inline size_t st_put_places(uint64_t mask, uint64_t base, uint64_t *to)
{
    const __m512i bases = _mm512_set1_epi64((long long)base);
    const __m512i places = _mm512_maskz_compress_epi8(mask, byte_numbers());
    const int count = (int)_mm_popcnt_u64(mask);
    for (int i = 0; i < 24; i += 8)
        _mm512_storeu_si512(to + i, _mm512_add_epi64(eight_from(places, i), bases));
    for (int i = 24; i < count; i += 8)
        _mm512_storeu_si512(to + i, _mm512_add_epi64(eight_from(places, i), bases));
    return (size_t)count;
}

#endif
