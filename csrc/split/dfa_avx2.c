/* The steps of a compiled pattern on AVX2, for AVX-512 as well: more bytes a register do not help, because each step waits for the
 * one before. */
#include "base/tier.h"

#if defined(ST_X86)
#define ST_TIER avx2
#include "base/begin_avx2.h"

#include "split/block_places.h"
#include "split/dfa_hot_template.h"

#include "base/target_end.h"
#endif
