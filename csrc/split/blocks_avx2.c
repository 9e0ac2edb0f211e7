/* The splitter on AVX2. Haswell, Zen and later. */
#include "base/tier.h"
#include "split/block.h"
#include "split/char_kind.h"
#include "split/rows.h"

#if defined(ST_X86)
#define ST_TIER avx2
#include "base/begin_avx2.h"

#include "split/block_places.h"
#include "split/block_rows.h"
#include "split/block_template.h"

#include "base/target_end.h"
#endif
