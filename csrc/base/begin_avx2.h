/* Everything up to target_end.h is for AVX2: its instructions and its vector type (vector.h). */
#include <immintrin.h>

#define ST_TARGET "avx2,bmi,bmi2,popcnt,lzcnt"
#include "base/target_begin.h"
#include "base/vector_avx2.h"
