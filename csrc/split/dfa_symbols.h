/* dfa_symbols.h - the symbols of text (dfa_hot.h), a character at a time. */
#ifndef ST_SPLIT_DFA_SYMBOLS_H
#define ST_SPLIT_DFA_SYMBOLS_H

#include "split/dfa_hot.h"

typedef char st_hot_rows; /* nothing is remembered between blocks */

/* Characters of one length follow each other, because a branch would mispredict where scripts mix. */
ST_FORCE_INLINE void st_put_symbols(const st_dfa *dfa, const uint8_t *text, st_vector v, uint64_t leads, uint64_t three, uint64_t four,
                                    st_hot_rows *rows, uint8_t *made)
{
    const uint16_t *const index = dfa->index; /* a byte that is written could be one of the pointers, for all that a compiler knows */
    const uint8_t *const blocks = dfa->blocks;
    (void)rows;
    st_vector_store(made, v);
    for (uint64_t left = leads & ~three; left; left &= left - 1) {
        const uint8_t *const at = text + st_first_bit(left);
        made[at - text] = st_symbol_of(index, blocks, (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu));
    }
    for (uint64_t left = leads & three & ~four; left; left &= left - 1) {
        const uint8_t *const at = text + st_first_bit(left);
        made[at - text] = st_symbol_of(index, blocks, (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu));
    }
    for (; four; four &= four - 1) {
        const uint8_t *const at = text + st_first_bit(four);
        unsigned size;
        made[at - text] = st_symbol_of(index, blocks, st_utf8_decode(at, &size));
    }
}

#endif
