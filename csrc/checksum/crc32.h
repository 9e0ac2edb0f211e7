/* crc32.h - what makes CRC-32 (that of zlib, gzip and PNG) cost next to nothing beside encoding: most of a stretch folded to
 * 64 bytes, and the checksum of two stretches from that of each. Any table's loop does the rest. */
#ifndef ST_CHECKSUM_CRC32_H
#define ST_CHECKSUM_CRC32_H

#include <stddef.h>
#include <stdint.h>

#define ST_CRC32_REST 64

/* Folds the beginning of data[0..n), as much of it as the result says: the CRC-32 of `rest`, begun with 0xFFFFFFFF and gone
 * on with what was not folded, is that of all data behind bytes that have the CRC-32 `before`. 0: this machine does not fold,
 * or there is too little; `rest` holds nothing then. */
typedef size_t st_crc32_fold_function(const uint8_t *data, size_t n, uint32_t before, uint8_t rest[ST_CRC32_REST]);

/* With carry-less products, and what this machine has. */
st_crc32_fold_function st_crc32_fold_products, st_crc32_fold;

/* The CRC-32 of two stretches, one behind the other, from that of each; n: bytes of the second. */
uint32_t st_crc32_joined(uint32_t first, uint32_t second, uint64_t n);

#endif
