/* How far a text is in a normal form, on AVX2. */
#include "base/tier.h"

#if defined(ST_X86)
#define ST_TIER avx2
#include "base/begin_avx2.h"

#include "normal/quick_template.h"

#include "base/target_end.h"
#endif
