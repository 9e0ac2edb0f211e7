/* crc32.h - CRC-32 (that of zlib, gzip and PNG) at little cost beside encoding: most of the data is folded to 64 bytes, and the
 * checksums of two stretches are joined. Python's zlib does the rest. */
#ifndef ST_CHECKSUM_CRC32_H
#define ST_CHECKSUM_CRC32_H

#include <stddef.h>
#include <stdint.h>

#define ST_CRC32_REST 64

/* Folds the first bytes of data[0..n) into `rest` and returns how many. `before` is the CRC-32 of all bytes in front of the data.
 * The CRC-32 of `rest`, begun with 0xFFFFFFFF and continued over the bytes that were not folded, is then that of everything.
 * Returns 0, and leaves `rest` unset, if this machine does not fold or there is too little data. */
size_t st_crc32_fold(const uint8_t *data, size_t n, uint32_t before, uint8_t rest[ST_CRC32_REST]);

/* The stage (base/tier.h) where the processor has carry-less products. */
size_t st_crc32_fold_products(const uint8_t *data, size_t n, uint32_t before, uint8_t *rest);

/* The CRC-32 of two stretches, one behind the other, from the CRC-32 of each; n: bytes of the second. */
uint32_t st_crc32_joined(uint32_t first, uint32_t second, uint64_t n);

#endif
