/* load.h - bytes as one integer and back, the first byte lowest on every machine. Keys, hashes and the arithmetic on eight bytes
 * at a time need that order. */
#ifndef ST_BASE_LOAD_H
#define ST_BASE_LOAD_H

#include "base/portable.h"

#if ST_SWAR
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ST_FIRST_BYTE_LOWEST(value, bits) __builtin_bswap##bits(value) /* whoever defines __BYTE_ORDER__ has these */
#else
#define ST_FIRST_BYTE_LOWEST(value, bits) (value)
#endif

ST_FORCE_INLINE uint64_t st_load64(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return ST_FIRST_BYTE_LOWEST(value, 64);
}

ST_FORCE_INLINE uint32_t st_load32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return ST_FIRST_BYTE_LOWEST(value, 32);
}

ST_FORCE_INLINE void st_store64(uint8_t *p, uint64_t value)
{
    value = ST_FIRST_BYTE_LOWEST(value, 64);
    memcpy(p, &value, sizeof value);
}
#endif

#endif
