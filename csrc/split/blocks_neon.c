/* The splitter on NEON. */
#include "base/tier.h"
#include "split/block.h"
#include "split/char_kind.h"
#include "split/rows.h"

#if defined(ST_ARM)
#define ST_TIER neon
#include "base/vector_neon.h"

#include "split/block_places.h"
#include "split/block_rows.h"
#include "split/block_template.h"
#endif
