/* The classes of the two bytes at a border (cut_tables.h), for 64 borders at once. Include it after base/begin_avx512.h. */
#ifndef ST_CUT_BORDERS_AVX512_H
#define ST_CUT_BORDERS_AVX512_H

#include "cut/cut_tables.h"

typedef struct byte_classes {
    __m512i left[4], right[4];
} byte_classes;

static inline byte_classes byte_classes_of(const st_cut_tables *tables)
{
    byte_classes c;
    for (size_t i = 0; i < 4; i++) {
        c.left[i] = _mm512_loadu_si512(tables->left_classes + 64 * i);
        c.right[i] = _mm512_loadu_si512(tables->right_classes + 64 * i);
    }
    return c;
}

/* For each byte the classes that it and the byte in front of it have in common. *before holds the left classes of the 64 bytes
 * in front, and receives those of these bytes. */
static inline __m512i common_classes(const byte_classes *c, __m512i bytes, __m512i *before)
{
    const __m512i one_back = _mm512_add_epi8(byte_numbers(), _mm512_set1_epi8(63));
    const __m512i left = look_up_bytes(c->left, bytes), lagging = _mm512_permutex2var_epi8(*before, one_back, left);
    *before = left;
    return _mm512_and_si512(lagging, look_up_bytes(c->right, bytes));
}

#endif
