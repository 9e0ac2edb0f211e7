/* The splitter on NEON. */
#include "base/tier.h"
#include "split/scan_rules.h"

#if defined(ST_ARM)
#define ST_TIER neon
#include "base/vector_neon.h"

#include "split/block_places.h"
#include "split/block_rows.h"
#include "split/block_template.h"
#endif
