/* dispatch.h - which function does a stage on this machine. A stage has one function for each tier (tier.h), all with one type,
 * named st_STAGE_TIER; ST_STAGE makes the function that picks the one in use:
 *
 *     ST_STAGE(st_text_valid_function, valid_in_use, st_text_valid_portable, st_text_valid_neon, st_text_valid_avx2,
 *              st_text_valid_avx512)
 *
 *     size_t st_text_valid(const uint8_t *text, size_t n)
 *     {
 *         return valid_in_use()(text, n);
 *     }
 *
 * - Each tier has an entry. A tier without a function of its own names the one that it uses, as the portable one. NULL stands
 *   where a tier does without the stage and the caller has another way; then a function st_STAGE_has... says so.
 * - Tiers of other kinds of machines need not be compiled: their entries are dropped here, so that no file needs a guard for it.
 * - The tier is chosen once in a process, by the first thread that asks, and published atomically (st_tier): all stages use
 *   the same tier, and a call sees no other than the calls before it. */
#ifndef ST_BASE_DISPATCH_H
#define ST_BASE_DISPATCH_H

#include <stddef.h>

#include "base/tier.h"

#define ST_JOIN_(a, b) a##b
#define ST_JOIN(a, b) ST_JOIN_(a, b)

/* The name of a function that a header makes for the tier of the file that includes it. ST_TIER: portable, neon, avx2 or avx512. */
#define ST_OF_TIER(name) ST_JOIN(name##_, ST_TIER)

#if defined(ST_X86)
#define ST_ON_X86(function) function
#else
#define ST_ON_X86(function) NULL
#endif

#if defined(ST_ARM)
#define ST_ON_ARM(function) function
#else
#define ST_ON_ARM(function) NULL
#endif

#define ST_STAGE(type, in_use, portable, neon, avx2, avx512) \
    static type *in_use(void) \
    { \
        static type *const by_tier[ST_TIERS] = {portable, ST_ON_ARM(neon), ST_ON_X86(avx2), ST_ON_X86(avx512)}; \
        return by_tier[st_tier()]; \
    }

#endif
