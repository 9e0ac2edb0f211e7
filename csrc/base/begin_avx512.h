/* Everything up to target_end.h is for AVX-512: its instructions and its vector type (vector.h). */
#include <immintrin.h>

#define ST_TARGET "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt,lzcnt"
#include "base/target_begin.h"
#include "base/vector_avx512.h"
