/* How far a text is in a normal form, on NEON. */
#include "base/tier.h"

#if defined(ST_ARM)
#define ST_TIER neon
#include "base/vector_neon.h"

#include "normal/quick_template.h"
#endif
