/* Cutting a stretch at once on NEON. */
#include "base/tier.h"
#include "cut/cuts.h"

#if defined(ST_ARM)
#define ST_TIER neon
#include "base/vector_neon.h"

#include "cut/stretch_template.h"
#endif
