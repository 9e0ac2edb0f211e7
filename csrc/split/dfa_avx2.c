/* The steps of a compiled pattern on AVX2. */
#include "base/tier.h"

#if defined(ST_X86)
#define ST_TIER avx2
#include "base/begin_avx2.h"

#include "base/bits.h"
#include "split/block_places.h"
#include "split/dfa_symbols.h"
#include "split/dfa_hot_template.h"

#include "base/target_end.h"
#endif
