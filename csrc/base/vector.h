/* vector.h - the vector types over which stages are written once. Each tier has one: vector_portable.h, vector_neon.h,
 * vector_avx2.h, vector_avx512.h. The file of a tier (tiers/) names it, opens its instructions and its type, and includes the
 * stages:
 *
 *     #define ST_TIER avx2
 *     #include "base/begin_avx2.h"
 *     #include "text/utf8_valid_template.h"
 *     #include "base/target_end.h"
 *
 * A function of a stage is then ST_OF_TIER(st_text_valid), st_text_valid_avx2.
 *
 * st_vector: 64 bytes. A mask has a bit for each byte, the first byte lowest. All tiers have
 *
 *     st_vector_load(text)           64 readable bytes at any address
 *     st_vector_high(v)              mask: the bytes that are not ASCII
 *     st_vector_is(v, byte)          mask: the bytes equal to this one
 *     st_vector_in(v, first, n)      mask: the bytes first .. first + n - 1, which lie on one side of 0x80, or are 0x80 .. 0xFF
 *
 * all but the portable one
 *
 *     st_vector_load_rest(text, n)   n readable bytes, n < 64, with zeros behind them
 *     st_vector_any_high(v)          not 0 where some byte is not ASCII
 *     st_vector_at_least(v, byte)    mask: the bytes that are `byte` or above
 *     st_vector_bits(v, bits)        mask: the bytes of whose low six bits the number is that of a set bit
 *     st_vector_pick(v, table)       each byte becomes the entry of a table of 64 bytes whose number its low six bits are
 *     st_vector_meet(a, b)           mask: where the bytes of a and b have a bit in common
 *     st_vector_bit(v, n)            mask: the bytes in which bit n is set
 *     st_vector_store(to, v)         at any address
 *
 * the portable one
 *
 *     st_vector_kinds(v, row)        each byte becomes entry number (byte & 63) of a row of 64 entries of four bits, two a byte
 *
 * AVX2 and NEON have besides
 *
 *     st_mask_count(mask)            how many bits are set
 *     st_mask_first(mask)            number of the lowest bit that is set; of 0 it may be anything
 *
 *     st_vector_every(byte)          this byte everywhere
 *     st_vector_and, st_vector_or(a, b)
 *     st_vector_left, st_vector_right(v, n)   each byte shifted by n bits; n: constant
 *     st_vector_same(v, byte)        0xFF for the bytes equal to this one, else 0
 *     st_vector_from(v, byte)        the same for those that are `byte` or above
 *     st_vector_choose(where, a, b)  a where there is 0xFF, b where there is 0
 *     st_vector_ahead(v, n)          each byte becomes the one n places behind it, the last ones 0; n: 1 or 2
 *     st_vector_entry(v, table)      each byte below 32 becomes that entry of a table of 32 bytes
 *
 *     st_lanes_plus, st_lanes_times(a, b)     the lower 32 bits
 *     st_lanes_times_high(a, b)      the upper 32 bits of the product
 *     st_lanes_reversed(v)           each with its bytes reversed
 *     st_lanes_right_each(v, n)      each shifted by its own n < 32
 *     st_lanes_entry(v, table)       each number below 16 becomes that entry of a table of bytes
 *     st_lanes_after(before, v)      each becomes the one in front of it, the first one the last of `before`
 *     st_lanes_gather(from, n)       each n becomes number n of those in memory
 *     st_lanes_bit(v, n)             a bit for each: bit n % 32 of v
 *
 * st_longs: ST_LONGS numbers of 64 bits.
 *
 *     st_longs_load(from), st_longs_all(value), st_longs_or(a, b), st_longs_minus(a, b)
 *     st_longs_bit(v)                1 << v; 0 where v is below 0 or above 63
 *     st_longs_fold(v)               all of them ored
 *     st_longs_up_to(v, limit)       how many are `limit` or less; all are at least 0
 *
 * st_map: a map of the numbers below ST_MAP_SIZE, which is 16 or 32, to such numbers: a byte each, whose low bits are the number.
 * All but the portable tier. On the tiers with maps of 16 bit 7 must be 0.
 *
 *     st_map_load(from)              at an address that is a multiple of ST_MAP_SIZE
 *     st_map_all(byte)               every number to this one
 *     st_map_first(map)              the byte of number 0
 *     st_map_after(map, first)       `first`, then `map`
 *     st_sixteen                     16 bytes
 *     st_no_sixteen()                all of them 0
 *     st_map_put(v, map, i)          v, whose byte number i is 0, with the byte that the map has for every number there; i: constant
 *     st_join_sixteens(four)         st_vector of four times 16 bytes
 *
 * st_lanes: ST_LANES numbers of 32 bits, in all but the portable tier. st_where: a yes or no for each.
 *
 *     st_lanes_load(from)            ST_LANES numbers at any address
 *     st_lanes_all(value)
 *     st_lanes_or, st_lanes_and, st_lanes_min(a, b)
 *     st_lanes_left, st_lanes_right(v, n)     shifted by n bits
 *     st_lanes_least(v)              the smallest of the numbers
 *     st_lanes_meet(a, b)            whether a and b have a bit in common
 *     st_lanes_over(v, limit)        which are greater; the numbers and the limit are below 2^31
 *     st_lanes_same(a, b)            which are equal
 *     st_lanes_pick(where, a, b)     a where yes, b where no
 *     st_where_or(a, b)              yes where one of both is
 *     st_where_any(where)            whether one is yes */
#ifndef ST_BASE_VECTOR_H
#define ST_BASE_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/tier.h"
#include "base/load.h"

/* An operation that is one expression: most of a tier's type is a table of these. */
#define ST_OP(type, name, arguments, value) \
    static inline type name arguments \
    { \
        return value; \
    }

#define ST_VECTOR_BYTES 64

/* From 15 - i on, 16 bytes of which only number i is set. */
static const uint8_t st_one_byte[31] = {[15] = 0xFF};

#endif
