/* Merging side by side with AVX-512. */
#include "merge_words.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define ST_TARGET "avx512f,avx512bw,avx512vl,bmi,bmi2,popcnt,lzcnt"
#include "target_begin.h"

#define ST_TIER avx512
#include "merge_words_template.h"
#include "target_end.h"
#else
typedef int st_no_merge_avx512; /* a file must hold something */
#endif
