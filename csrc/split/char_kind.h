/* char_kind.h - the kinds of characters that the split patterns tell apart.
 *
 * The tables behind them hold the classes as tiktoken's regex engine knows them; see tools/gen_unicode.py. */
#ifndef ST_SPLIT_CHAR_KIND_H
#define ST_SPLIT_CHAR_KIND_H

#include "base/utf8.h"
#include "split/unicode_tables.h"

typedef enum st_kind {
    ST_KIND_UPPER,    /* \p{Lu} \p{Lt} */
    ST_KIND_LOWER,    /* \p{Ll} */
    ST_KIND_CASELESS, /* \p{Lm} \p{Lo} */
    ST_KIND_MARK,     /* \p{M} */
    ST_KIND_NUMBER,   /* \p{N} */
    ST_KIND_NEWLINE,  /* CR, LF */
    ST_KIND_SPACE,    /* the rest of \s */
    ST_KIND_OTHER,    /* punctuation, symbols, controls, unassigned */
    ST_KIND_BEYOND    /* not a kind: st_byte_kinds of a byte that is not ASCII */
} st_kind;

/* Some rows (rows.h) tell more apart. In the tables a character has one of these. Those that a row takes together are neighbours. */
typedef enum st_fine_kind {
    ST_FINE_UPPER,
    ST_FINE_LOWER,
    ST_FINE_CASELESS,
    ST_FINE_HAN, /* caseless letters of the script Han */
    ST_FINE_MARK,
    ST_FINE_HAN_MARK,
    ST_FINE_HAN_NUMBER,
    ST_FINE_NUMBER,
    ST_FINE_LATE,    /* a control that Rust's char::is_numeric, of a later Unicode, takes for a number */
    ST_FINE_CONTROL, /* neither letter, mark, number, white space, \p{P} nor \p{S} */
    ST_FINE_OTHER,   /* \p{P} and \p{S} */
    ST_FINE_HAN_OTHER,
    ST_FINE_SPACE,
    ST_FINE_NEWLINE,
    ST_FINE_KINDS
} st_fine_kind;

/* Four bits for each fine kind, from the lowest: its kind. */
#define ST_KINDS_OF_FINE UINT64_C(0x56777744332210)

#define ST_APOSTROPHE 0x27u
#define ST_BLANK 0x20u
#define ST_SLASH 0x2Fu

/* Sets of kinds are bit masks. */
#define ST_SET(kind) (1u << (kind))

ST_INLINE int st_has(unsigned set, unsigned kind)
{
    return (int)(set >> kind & 1);
}

ST_INLINE unsigned st_fine_kind_of(uint32_t code_point)
{
    const uint32_t block = st_kind_index[code_point >> ST_KIND_SHIFT];
    const uint32_t place = block << ST_KIND_SHIFT | (code_point & ((1u << ST_KIND_SHIFT) - 1));
    return st_kind_blocks[place >> 1] >> (place & 1) * 4 & 15u;
}

ST_INLINE unsigned st_kind_of(uint32_t code_point)
{
    return (unsigned)(ST_KINDS_OF_FINE >> 4 * st_fine_kind_of(code_point)) & 15u;
}

/* Kind of the whole character at `text`; its length goes to *size. */
ST_INLINE unsigned st_kind_at(const uint8_t *text, unsigned *size)
{
    const unsigned kind = st_byte_kinds[text[0]];
    *size = 1;
    return kind != ST_KIND_BEYOND ? kind : st_kind_of(st_utf8_decode(text, size));
}

#endif
