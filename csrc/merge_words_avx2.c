/* Merging side by side with AVX2. */
#include "merge_words.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define ST_TARGET "avx2,bmi,bmi2,popcnt,lzcnt"
#include "target_begin.h"

#define ST_TIER avx2
#include "merge_words_template.h"
#include "target_end.h"
#else
typedef int st_no_merge_avx2; /* a file must hold something */
#endif
