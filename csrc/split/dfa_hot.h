/* dfa_hot.h - the steps of a compiled pattern between its hot states, one instruction a byte.
 *
 * Text is read by 64 bytes, and a byte becomes a SYMBOL: an ASCII character is its own; the first byte of another character has the
 * number of its class above ST_HOT_CLASSES; the others stay as they are and mean no step. For each symbol there is a row with an entry
 * for each hot state: in the low bits the next one, above them flags. A row in a register maps states to states (st_map in
 * base/vector.h), and two rows make the map of two symbols, so that a state need not wait for the one before it.
 *
 * An entry with an op has ST_HOT_SLOW, and its next state all the same. So the states of all 64 bytes are known before the first op is
 * done. ST_HOT_COLD: the next state is not hot, and what stands behind means nothing. */
#ifndef ST_SPLIT_DFA_HOT_H
#define ST_SPLIT_DFA_HOT_H

#include "split/dfa_steps.h"

#define ST_HOT_BYTES 64
#define ST_HOT_NO_STEP 0x80u /* the first of 64 symbols: bytes that do not begin a character */
#define ST_HOT_CLASSES 0xC0u
#define ST_HOT_LAST_CLASS 63u /* the symbol of this class and all above: all of its entries are cold */

ST_FORCE_INLINE uint8_t st_symbol_of(const uint16_t *index, const uint8_t *blocks, uint32_t point)
{
    const unsigned c = blocks[(size_t)index[point >> ST_DFA_SHIFT] * ST_DFA_BLOCK + (point & (ST_DFA_BLOCK - 1))];
    return (uint8_t)(ST_HOT_CLASSES + (c < ST_HOT_LAST_CLASS ? c : ST_HOT_LAST_CLASS));
}

/* Flags, where there are `size` hot states: 16, or on AVX-512 32. */
#define ST_HOT_EMIT(size) ((size) == 16 ? 4 : 5) /* numbers of bits */
#define ST_HOT_BACK(size) (ST_HOT_EMIT(size) + 1)
#define ST_HOT_SLOW(size) (ST_HOT_EMIT(size) + 2)
#define ST_HOT_COLD(size) (7u << ST_HOT_EMIT(size))

/* The most that one round writes, used or not: an end a character, those that were pending, and what is written in vain. Behind it
 * there is still room for a step. */
#define ST_HOT_ROOM (2 * ST_HOT_BYTES + 2 * ST_SCAN_MARKS + ST_SCAN_MIN_CAPACITY)

/* With fewer bytes left, plain steps take less time: a block has its price whatever is in it. */
#define ST_HOT_LEAST 40

/* The stage dfa_hot (base/tier.h) steps from character to character while the states are hot, ST_HOT_LEAST bytes of text are left, and
 * there is room for ST_HOT_ROOM ends. The portable tier has none. */

#endif
