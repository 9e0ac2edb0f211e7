/* Cutting a stretch at once with AVX2. */
#include "base/tier.h"
#include "cut/cuts.h"

#if defined(ST_X86)
#define ST_TIER avx2
#include "base/begin_avx2.h"

#include "cut/stretch_template.h"
#include "base/target_end.h"
#endif
