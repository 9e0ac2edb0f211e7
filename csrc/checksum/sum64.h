/* sum64.h - a checksum of 64 bits at the speed of memory, for tables and files that were written here. Not against forgery. */
#ifndef ST_CHECKSUM_SUM64_H
#define ST_CHECKSUM_SUM64_H

#include <stddef.h>
#include <stdint.h>

uint64_t st_sum64(const uint8_t *data, size_t n);

#endif
