/* broadcast_bytes.h - each byte four times over, as a word that a vector is filled with.
 *
 * A constant in every byte of a vector may come from memory or from an integer. The second takes the port that compares
 * and permutations take as well, which are what binds the splitter, and compilers that know the constant choose it; so
 * the table is in a file of its own. It made splitting 1.03 to 1.08 times as fast. */
#ifndef ST_BASE_BROADCAST_BYTES_H
#define ST_BASE_BROADCAST_BYTES_H

#include <stdint.h>

extern const uint32_t st_every_byte[256];

#endif
