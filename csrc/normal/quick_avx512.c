/* How far a text is in a normal form, on AVX-512. */
#include "base/tier.h"

#if defined(ST_X86)
#define ST_TIER avx512
#include "base/begin_avx512.h"

#include "normal/quick_template.h"

#include "base/target_end.h"
#endif
