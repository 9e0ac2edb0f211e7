/* dfa_class.h - the class of a character in the table of a compiled pattern. */
#ifndef ST_SPLIT_DFA_CLASS_H
#define ST_SPLIT_DFA_CLASS_H

#include "base/utf8.h"
#include "split/dfa_table.h"

ST_FORCE_INLINE unsigned st_dfa_class_of_point(const st_dfa *dfa, uint32_t point)
{
    return dfa->blocks[(size_t)dfa->index[point >> ST_DFA_SHIFT] * ST_DFA_BLOCK + (point & (ST_DFA_BLOCK - 1))];
}

/* The class of the whole character at `text`, which is not ASCII; its length goes to *size. */
ST_FORCE_INLINE unsigned st_dfa_class_of_high(const st_dfa *dfa, const uint8_t *text, unsigned *size)
{
    return st_dfa_class_of_point(dfa, st_utf8_decode(text, size));
}

ST_FORCE_INLINE unsigned st_dfa_class_at(const st_dfa *dfa, const uint8_t *text, unsigned *size)
{
    *size = 1;
    return text[0] < 0x80 ? dfa->ascii[text[0]] : st_dfa_class_of_high(dfa, text, size);
}

#endif
