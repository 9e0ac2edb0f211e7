/* scan_rules.h - where a piece ends, as a state machine over the characters; one source for the CPU and the GPU.
 *
 * The split patterns of the three families look ahead without bound and backtrack. The machine does neither. The place to which a
 * pattern would backtrack is one remembered end, the POINT. Where a pattern is greedy, the machine waits for the first character
 * that cannot belong to the piece. The states, and what they stand for in the patterns:
 *
 *     word            a run of letters; in o200k upper-case letters first, then lower-case ones, marks count as letters,
 *                     and caseless ones fit either part
 *     caps (o200k)    before the first lower-case letter. If none comes, the second part of the word has to be made of
 *                     the last caseless run: the piece ends at the point, upper case behind it begins another piece
 *     tick (o200k)    a contraction belongs to the word before it ...
 *     first tick      ... in r50k and cl100k it is a piece of its own
 *     number          three at most in cl100k and o200k
 *     one             another character leads a word (in r50k only U+0020 does), or a run of its like
 *     white           the last white space character goes with what follows, unless it is CR or LF in cl100k and o200k,
 *                     where all up to the last line break is one piece; only the end of the run tells
 *
 * `family` is a constant at every call, so each family gets its own machine without tests of the others. */
#ifndef ST_SPLIT_SCAN_RULES_H
#define ST_SPLIT_SCAN_RULES_H

#include "base/bits.h"
#include "base/load.h"
#include "split/char_kind.h"
#include "split/scan_state.h"

#define ST_APOSTROPHE 0x27u
#define ST_BLANK 0x20u
#define ST_SLASH 0x2Fu
#define ST_LONG_S 0x17Fu /* matches s when case is ignored; its bytes are C5 BF */

/* ---- sets of kinds in each family ---- */

ST_INLINE unsigned st_letters(st_split_family family)
{
    return family == ST_SPLIT_O200K ? ST_CASED_OR_NOT | ST_SET(ST_KIND_MARK) : ST_CASED_OR_NOT;
}

/* The kinds that continue a word once it has a lower-case letter, or always in families without case. */
ST_INLINE unsigned st_word_set(st_split_family family)
{
    return family == ST_SPLIT_O200K ? st_letters(family) & ~ST_SET(ST_KIND_UPPER) : ST_CASED_OR_NOT;
}

ST_INLINE unsigned st_others(st_split_family family)
{
    return family == ST_SPLIT_O200K ? ST_SET(ST_KIND_OTHER) : ST_SET(ST_KIND_OTHER) | ST_SET(ST_KIND_MARK);
}

/* An ASCII letter in lower case, where the family ignores the case of contractions. */
ST_INLINE unsigned st_folded(st_split_family family, unsigned byte)
{
    return st_traits_of(family).contraction == ST_CONTRACTION_LOWER ? byte : byte | 0x20u;
}

/* Is the contraction complete with this letter right behind the apostrophe ('s 'd 'm 't)? */
ST_INLINE int st_is_short_contraction(st_split_family family, unsigned byte)
{
    const unsigned letter = st_folded(family, byte);
    return letter == 's' || letter == 't' || letter == 'm' || letter == 'd';
}

/* The same of the character at `text`: its size if so, else 0. */
ST_INLINE unsigned st_short_contraction(st_split_family family, const uint8_t *text)
{
    if (st_is_short_contraction(family, text[0]))
        return 1;
    return st_traits_of(family).contraction != ST_CONTRACTION_LOWER && text[0] == 0xC5 && text[1] == 0xBF ? 2 : 0;
}

/* May this letter behind the apostrophe be the first of two ('ll 've 're)? */
ST_INLINE int st_half_contraction(st_split_family family, unsigned byte)
{
    const unsigned letter = st_folded(family, byte);
    return letter == 'l' || letter == 'v' || letter == 'r';
}

ST_INLINE int st_whole_contraction(st_split_family family, unsigned half, unsigned byte)
{
    return st_folded(family, byte) == (st_folded(family, half) == 'l' ? 'l' : 'e');
}

/* ---- the scan while it runs ---- */

/* Offsets count from the start of the piece that was open at the call. Few fields, so that all of them fit registers
 * once the functions below are inlined into st_split. */
typedef struct st_walk {
    const uint8_t *at, *stop; /* the next character; the end of the text at hand */
    uint64_t bias;            /* the offset of a character is its address + bias, modulo 2^64 */
    uint64_t start;           /* of the open piece */
    uint64_t point;           /* remembered end; equal to `start`: none */
    uint64_t *ends, *full;    /* where the next end goes; beyond `full`, the next place to stop is taken */
    uint32_t memo;
} st_walk;

ST_FORCE_INLINE uint64_t st_here(const st_walk *walk)
{
    return (uint64_t)(size_t)walk->at + walk->bias;
}

/* Ends the piece at `end`. The text behind it is open, without a point. */
ST_FORCE_INLINE void st_end_piece(st_walk *walk, uint64_t end)
{
    *walk->ends++ = end;
    walk->start = walk->point = end;
}

ST_FORCE_INLINE unsigned st_next_kind(const st_walk *walk, unsigned *size)
{
    *size = 0;
    return walk->at < walk->stop ? st_kind_at(walk->at, size) : (unsigned)ST_KIND_NONE;
}

ST_FORCE_INLINE int st_next_is(const st_walk *walk, unsigned byte)
{
    return walk->at < walk->stop && *walk->at == byte;
}

/* Skips characters of the set; returns the kind of the first other one. */
ST_FORCE_INLINE unsigned st_skip(st_walk *walk, unsigned set)
{
    for (;;) {
        unsigned size, kind = ST_KIND_NONE;
        while (walk->at < walk->stop && st_has(set, kind = st_byte_kinds[*walk->at]))
            walk->at++;
        if (walk->at == walk->stop)
            return ST_KIND_NONE;
        if (kind != ST_KIND_BEYOND)
            return kind;
        kind = st_kind_of(st_utf8_decode(walk->at, &size));
        if (!st_has(set, kind))
            return kind;
        walk->at += size;
    }
}

#if ST_SWAR
#define ST_EACH(byte) (0x0101010101010101u * (uint64_t)(byte)) /* the byte, eight times */

/* How many bytes lie in front of the first with its high bit set. */
ST_FORCE_INLINE unsigned st_first_high(uint64_t eight)
{
    const uint64_t high = eight & ST_EACH(0x80);
    return high ? st_first_bit(high) >> 3 : 8;
}

/* High bits where a byte is none of a-z (nor A-Z, with any_case). Adding to seven bits carries into the eighth from
 * 'a' on, and beyond 'z'; a byte that is not ASCII has it set from the start. */
ST_FORCE_INLINE uint64_t st_no_letter(uint64_t eight, int any_case)
{
    const uint64_t seven = (any_case ? eight | ST_EACH(0x20) : eight) & ST_EACH(0x7F);
    return ~(seven + ST_EACH(0x80 - 'a')) | (seven + ST_EACH(0x7F - 'z')) | eight;
}

/* High bits where a byte is not U+0020: adding 0x7F carries unless the other seven bits are all 0. */
ST_FORCE_INLINE uint64_t st_no_blank(uint64_t eight)
{
    const uint64_t other = eight ^ ST_EACH(ST_BLANK);
    return ((other & ST_EACH(0x7F)) + ST_EACH(0x7F)) | other;
}
#endif

/* As st_skip, for the characters that continue a word. Most words end within eight bytes. Finding the end in one integer avoids a
 * loop over bytes, which would mispredict a branch once a word. */
ST_FORCE_INLINE unsigned st_skip_word(st_split_family family, st_walk *walk)
{
#if ST_SWAR
    while (walk->stop - walk->at >= 8) {
        const unsigned passed = st_first_high(st_no_letter(st_load64(walk->at), family != ST_SPLIT_O200K));
        walk->at += passed;
        if (passed == 8)
            continue;
        const unsigned kind = st_byte_kinds[*walk->at];
        if (kind != ST_KIND_BEYOND)
            return kind;
        break;
    }
#endif
    return st_skip(walk, st_word_set(family));
}

/* Skips U+0020, eight at a time for the same reason: code is indented. */
ST_FORCE_INLINE void st_skip_blanks(st_walk *walk)
{
#if ST_SWAR
    while (walk->stop - walk->at >= 8) {
        const unsigned passed = st_first_high(st_no_blank(st_load64(walk->at)));
        walk->at += passed;
        if (passed < 8)
            return;
    }
#endif
    while (st_next_is(walk, ST_BLANK))
        walk->at++;
}

/* Skips white space; returns the kind of the first other character. The memo receives what the last white space was. */
ST_FORCE_INLINE unsigned st_skip_white(st_split_family family, st_walk *walk)
{
    for (;;) {
        unsigned size;
        if (st_next_is(walk, ST_BLANK)) {
            st_skip_blanks(walk);
            walk->memo = 1 | ST_LAST_IS_BLANK;
        }
        const unsigned kind = st_next_kind(walk, &size);
        if (!st_has(ST_WHITE, kind))
            return kind;
        walk->at += size;
        walk->memo = size;
        if (kind == ST_KIND_NEWLINE && family != ST_SPLIT_R50K)
            walk->point = st_here(walk);
    }
}

/* Skips CR and LF, in o200k "/" as well. */
ST_FORCE_INLINE void st_skip_tail(st_split_family family, st_walk *walk)
{
    while (st_next_is(walk, '\n') || st_next_is(walk, '\r') || (family == ST_SPLIT_O200K && st_next_is(walk, ST_SLASH)))
        walk->at++;
}

typedef enum st_answer { ST_YES, ST_NO, ST_NOT_YET } st_answer;

/* Reads on behind an apostrophe, which the memo holds, or behind the letter that came after it and took its place: is
 * this a contraction? */
ST_FORCE_INLINE st_answer st_read_contraction(st_split_family family, st_walk *walk)
{
    if (walk->at < walk->stop && walk->memo == ST_APOSTROPHE) {
        const unsigned size = st_short_contraction(family, walk->at);
        walk->at += size;
        if (size)
            return ST_YES;
        if (!st_half_contraction(family, *walk->at))
            return ST_NO;
        walk->memo = *walk->at++;
    }
    if (walk->at == walk->stop)
        return ST_NOT_YET;
    if (!st_whole_contraction(family, walk->memo, *walk->at))
        return ST_NO;
    walk->at++;
    return ST_YES;
}

/* White space has ended: ends the piece in front of what belongs to the next character. */
ST_FORCE_INLINE void st_end_white(st_split_family family, st_walk *walk)
{
    const uint64_t last = st_here(walk) - (walk->memo & ~ST_LAST_IS_BLANK);
    if (family != ST_SPLIT_R50K && walk->point > walk->start)
        st_end_piece(walk, walk->point);
    if (last > walk->start)
        st_end_piece(walk, last);
}

/* Most pieces begin with a blank and an ASCII letter, and need no state for white space. Skips such a blank. */
ST_FORCE_INLINE unsigned st_skip_leading_blank(st_walk *walk, unsigned kind)
{
    if (walk->stop - walk->at < 2 || *walk->at != ST_BLANK || !st_has(ST_CASED_OR_NOT, st_byte_kinds[walk->at[1]]))
        return kind;
    return st_byte_kinds[*++walk->at];
}

/* Whether a state uses a field. Unused fields are 0, so that equal states are equal byte for byte. */
ST_INLINE int st_state_has_point(unsigned state)
{
    return state == ST_IN_CAPS || state == ST_IN_TICK || state == ST_IN_WHITE;
}

ST_INLINE int st_state_has_memo(unsigned state)
{
    return state == ST_IN_TICK || state == ST_IN_FIRST_TICK || state == ST_IN_NUMBER || state == ST_IN_WHITE;
}

ST_FORCE_INLINE void st_suspend(const st_walk *walk, unsigned state, st_scan *scan)
{
    scan->length = st_here(walk) - walk->start;
    scan->point = st_state_has_point(state) ? walk->point - walk->start : 0;
    scan->state = state;
    scan->memo = st_state_has_memo(state) ? walk->memo : 0;
}

/* The machine. The text from walk.start to the next character is open; where a comment says so, `kind` is the kind of
 * that character. It is one function, over the usual length, because each label goes straight to the next: a loop
 * around a switch would pay one badly predicted jump a piece.
 *
 * Ends written without a place to stop: two by white space, then two by the word that its last character begins (caps
 * cut at the point, and what is behind it). That is ST_SCAN_MIN_CAPACITY. */
ST_FORCE_INLINE size_t st_split(st_split_family family, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed,
                                uint64_t *ends, size_t capacity)
{
    st_walk walk = {text, text + n, scan->length - (uint64_t)(size_t)text, 0, scan->point,
                    ends, ends + capacity - ST_SCAN_MIN_CAPACITY, scan->memo};
    unsigned state = scan->state, kind, size;
    st_answer answer;

    switch (state) {
    case ST_IN_WORD: goto word;
    case ST_IN_CAPS: goto caps;
    case ST_IN_TICK: goto tick;
    case ST_IN_FIRST_TICK: goto first_tick;
    case ST_IN_NUMBER: goto number;
    case ST_IN_ONE: goto one;
    case ST_IN_PUNCT: goto punct;
    case ST_IN_TAIL: goto tail;
    case ST_IN_WHITE: goto white;
    default: goto next;
    }

number:
    state = ST_IN_NUMBER;
    kind = st_next_kind(&walk, &size);
    if (kind != ST_KIND_NUMBER) goto end;
    walk.at += size;
    if (family == ST_SPLIT_R50K || ++walk.memo < 3) goto number;
finish: /* the open piece ends here, whatever the next character is */
    st_end_piece(&walk, st_here(&walk));
next:
    kind = st_next_kind(&walk, &size);
    goto start;
end: /* kind known: the open piece ends in front of it, or is still open if the text at hand has ended */
    if (kind == ST_KIND_NONE) goto stop;
    st_end_piece(&walk, st_here(&walk));
start: /* kind known */
    state = ST_IN_NOTHING;
    if (kind == ST_KIND_NONE || walk.ends > walk.full) goto stop;
    kind = st_skip_leading_blank(&walk, kind);
    if (st_has(st_letters(family), kind)) goto letter;
    if (st_has(ST_WHITE, kind)) goto white;
    walk.memo = 0;
    if (kind == ST_KIND_NUMBER) goto number;
    walk.memo = *walk.at;
    walk.at += st_utf8_size(*walk.at);
    if (family == ST_SPLIT_O200K || walk.memo != ST_APOSTROPHE) goto one;

first_tick: /* the apostrophe leads: with a contraction, or as any other character */
    state = ST_IN_FIRST_TICK;
    answer = st_read_contraction(family, &walk);
    if (answer == ST_NOT_YET) goto stop;
    if (answer == ST_YES) goto finish;
    if (walk.memo == ST_APOSTROPHE) goto one;
    if (family == ST_SPLIT_R50K) st_end_piece(&walk, walk.start + 1);
    goto word;

letter: /* kind known */
    if (family == ST_SPLIT_O200K && kind != ST_KIND_LOWER) goto caps;
word:
    state = ST_IN_WORD;
    kind = st_skip_word(family, &walk);
word_end: /* kind known */
    if (family != ST_SPLIT_O200K || !st_next_is(&walk, ST_APOSTROPHE)) goto end;
    walk.point = st_here(&walk);
    walk.memo = *walk.at++;
tick:
    state = ST_IN_TICK;
    if (walk.ends > walk.full) goto stop; /* in a'a'a'a one tick follows another */
    answer = st_read_contraction(family, &walk);
    if (answer == ST_NOT_YET) goto stop;
    if (answer == ST_YES) goto finish;
    st_end_piece(&walk, walk.point);
    if (walk.memo == ST_APOSTROPHE) goto one;
    if (walk.memo & 0x20) goto word; /* the apostrophe and a lower-case letter */
caps:
    state = ST_IN_CAPS;
    while ((kind = st_skip(&walk, ST_SET(ST_KIND_UPPER))) == ST_KIND_CASELESS || kind == ST_KIND_MARK) {
        st_skip(&walk, ST_SET(ST_KIND_CASELESS) | ST_SET(ST_KIND_MARK));
        walk.point = st_here(&walk);
    }
    if (kind == ST_KIND_NONE) goto stop;
    if (kind == ST_KIND_LOWER) goto word;
    if (walk.start < walk.point && walk.point < st_here(&walk)) st_end_piece(&walk, walk.point);
    goto word_end;

one:
    state = ST_IN_ONE;
    kind = st_next_kind(&walk, &size);
    if (family != ST_SPLIT_R50K && st_has(st_letters(family), kind)) goto letter;
    if (family != ST_SPLIT_R50K && kind == ST_KIND_NEWLINE) goto tail;
    if (!st_has(st_others(family), kind)) goto end;
punct:
    state = ST_IN_PUNCT;
    kind = st_skip(&walk, ST_SET(ST_KIND_OTHER) | ST_SET(ST_KIND_MARK));
    if (family == ST_SPLIT_R50K || kind != ST_KIND_NEWLINE) goto end;
tail:
    state = ST_IN_TAIL;
    st_skip_tail(family, &walk);
    if (walk.at < walk.stop) goto finish;
    goto stop;

white:
    state = ST_IN_WHITE;
    kind = st_skip_white(family, &walk);
    if (kind == ST_KIND_NONE) goto stop;
    st_end_white(family, &walk);
    if (walk.start == st_here(&walk)) goto start;
    if (st_has(st_letters(family), kind) && (family != ST_SPLIT_R50K || walk.memo & ST_LAST_IS_BLANK)) goto letter;
    if (!(walk.memo & ST_LAST_IS_BLANK)) goto end;
    if (st_has(st_others(family), kind)) goto punct;
    if (family != ST_SPLIT_R50K || kind != ST_KIND_NUMBER) goto end;
    walk.memo = 0;
    goto number;

stop:
    st_suspend(&walk, state, scan);
    *consumed = (size_t)(walk.at - text);
    return (size_t)(walk.ends - ends);
}

/* ---- functions of a state without text ---- */

/* The first end when the text ends with `scan` open, its length being the second: the text's end makes a piece end at the
 * point, except where cl100k's white space runs to the end of the text. */
ST_INLINE uint64_t st_first_end_at_finish(st_split_family family, const st_scan *scan)
{
    if (scan->state == ST_IN_FIRST_TICK && family == ST_SPLIT_R50K)
        return 1;
    if (scan->state == ST_IN_WHITE && family == ST_SPLIT_CL100K)
        return scan->length;
    return scan->point ? scan->point : scan->length;
}

/* How many of the open bytes belong to the open piece whatever follows. */
ST_INLINE uint64_t st_sure_bytes(st_split_family family, const st_scan *scan)
{
    if (scan->state == ST_IN_FIRST_TICK && family == ST_SPLIT_R50K)
        return 1;
    if (scan->point)
        return scan->point;
    if (scan->state == ST_IN_WHITE) {
        const uint64_t last = scan->memo & ~ST_LAST_IS_BLANK;
        return scan->length > last ? scan->length - last : last;
    }
    return scan->length;
}

/* ---- places to cut ---- */

#define ST_NO_POINT 0xFFFFFFFFu /* in place of a code point: no character at hand */

/* May a contraction begin with this letter behind the apostrophe, in any family? */
ST_INLINE int st_begins_contraction(uint32_t point)
{
    return point == ST_LONG_S || st_is_short_contraction(ST_SPLIT_CL100K, point) ||
           st_half_contraction(ST_SPLIT_CL100K, point);
}

/* Does a piece start at the character (kind, point) in every family, whatever stands further left than the two before
 * it? (kind_1) is the one before, (kind_2, point_2) the one before that, next_point the one behind. One that is not at
 * hand is ST_KIND_NONE and ST_NO_POINT; where it matters, the answer is then no. No pattern looks back, and between
 * these characters none can carry a piece on:
 *
 *     white space that is no line break, behind anything else    an apostrophe behind a number
 *     a line break behind a letter or number                     an apostrophe behind a letter, if no contraction begins
 *     another character, no mark, behind a letter or number      a letter behind two other characters, the first not "/":
 *     a number behind anything but numbers and white space       one could lead the word, and in o200k "/" could belong
 *     a letter behind a number                                   to a line break's tail */
ST_INLINE int st_starts_piece(unsigned kind_2, uint32_t point_2, unsigned kind_1, unsigned kind, uint32_t point,
                              uint32_t next_point)
{
    const unsigned alphanumeric = ST_CASED_OR_NOT | ST_SET(ST_KIND_NUMBER);
    switch (kind) {
    case ST_KIND_SPACE:
        return st_has(alphanumeric | ST_SET(ST_KIND_MARK) | ST_SET(ST_KIND_OTHER), kind_1);
    case ST_KIND_NEWLINE:
        return st_has(alphanumeric, kind_1);
    case ST_KIND_NUMBER:
        return st_has(ST_CASED_OR_NOT | ST_SET(ST_KIND_MARK) | ST_SET(ST_KIND_OTHER), kind_1);
    case ST_KIND_OTHER:
        if (point != ST_APOSTROPHE || kind_1 == ST_KIND_NUMBER)
            return st_has(alphanumeric, kind_1);
        return st_has(ST_CASED_OR_NOT, kind_1) && next_point != ST_NO_POINT &&
               !st_begins_contraction(next_point);
    case ST_KIND_UPPER:
    case ST_KIND_LOWER:
    case ST_KIND_CASELESS:
        return kind_1 == ST_KIND_NUMBER ||
               (kind_1 == ST_KIND_OTHER && kind_2 == ST_KIND_OTHER && point_2 != ST_SLASH);
    default:
        return 0;
    }
}

#endif
