/* The steps of a compiled pattern on NEON. */
#include "base/tier.h"

#if defined(ST_ARM)
#define ST_TIER neon
#include "base/vector_neon.h"

#include "base/bits.h"
#include "split/block_places.h"
#include "split/dfa_symbols.h"
#include "split/dfa_hot_template.h"
#endif
