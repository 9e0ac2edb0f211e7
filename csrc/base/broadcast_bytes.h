/* broadcast_bytes.h - each byte value four times over, as a number to fill a vector with.
 *
 * A vector with the same value in every byte can be loaded from memory or made from an integer register. Making it from a
 * register occupies the execution port of compares and permutations, which is what limits the splitter. A compiler that sees
 * the constant does that. So the table is defined in a file of its own, and has to be loaded. Splitting became 1.03 to 1.08
 * times as fast. */
#ifndef ST_BASE_BROADCAST_BYTES_H
#define ST_BASE_BROADCAST_BYTES_H

#include <stdint.h>

extern const uint32_t st_every_byte[256];

#endif
