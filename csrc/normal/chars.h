/* chars.h - what the normal forms do to one character, and to two: the only reader of normal_tables.h.
 *
 * An entry of st_normal_values:
 *     bit 15 set     the character decomposes; bits 0-14 are the place of its record in st_normal_records, in pairs of bytes
 *     bit 15 clear   bits 0-5: the rank of its combining class, 0 for a STARTER; bit 6: it may be the first of a pair that
 *                    composes; bit 7: it may be the second, or begin what composes with what is in front
 * A record is the size of the canonical decomposition (0 = none), its bytes, the size of the other one (0 = the same), its bytes.
 *
 * A RUN is a part of a text that is normalized by itself: nothing in it composes or changes places with what is outside. */
#ifndef ST_NORMAL_CHARS_H
#define ST_NORMAL_CHARS_H

#include "base/utf8.h"
#include "normal/normal_tables.h"

typedef enum st_form { ST_NFC, ST_NFD, ST_NFKC, ST_NFKD, ST_FORMS } st_form;

enum { ST_ENTRY_CLASS = 63, ST_ENTRY_FIRST = 1 << 6, ST_ENTRY_SECOND = 1 << 7, ST_ENTRY_DECOMPOSES = 1 << 15 };

/* Masks of a row of st_normal_masks: one for each form, then these. */
enum { ST_MASK_MARKS = ST_FORMS, ST_MASK_ACCENTS, ST_MASK_NONSPACING, ST_MASK_CLEANED, ST_MASKS };

/* Hangul: leads, vowels and trails compose to syllables by arithmetic. */
#define ST_LEAD 0x1100u
#define ST_VOWEL 0x1161u
#define ST_TRAIL 0x11A8u /* the first one that composes */
#define ST_SYLLABLE 0xAC00u
#define ST_LEADS 19u
#define ST_VOWELS 21u
#define ST_TRAILS 27u
#define ST_SYLLABLES (ST_LEADS * ST_VOWELS * (ST_TRAILS + 1))

#define ST_NO_CHAR UINT32_MAX

/* Characters that most runs have decomposed, at most: U+FDFA becomes 18. */
#define ST_MOST_PARTS 20

ST_INLINE int st_form_composes(st_form form)
{
    return form == ST_NFC || form == ST_NFKC;
}

ST_INLINE int st_form_is_compatible(st_form form)
{
    return form == ST_NFKC || form == ST_NFKD;
}

ST_INLINE unsigned st_normal_row(uint32_t point)
{
    return st_normal_middle[(unsigned)st_normal_top[point >> 12] * 64 + (point >> 6 & 63)];
}

ST_INLINE unsigned st_normal_entry(uint32_t point)
{
    return st_normal_values[st_normal_row(point) * 64 + (point & 63)];
}

/* Whether the character belongs to the form's mask, or to another one. */
ST_INLINE int st_normal_in(uint32_t point, int mask)
{
    return (int)(st_normal_masks[st_normal_row(point) * ST_MASKS + (unsigned)mask] >> (point & 63) & 1);
}

ST_INLINE unsigned st_class_of_entry(unsigned entry)
{
    return entry & ST_ENTRY_DECOMPOSES ? 0 : entry & ST_ENTRY_CLASS;
}

/* The character that the two compose to, or ST_NO_CHAR. *joins: whether they are a pair of the table or of Hangul; the first may
 * also be the end of what composes with the second. */
ST_INLINE uint32_t st_compose_or_join(uint32_t first, uint32_t second, int *joins)
{
    const uint64_t key = (uint64_t)first << 21 | second;
    *joins = 1;
    if (second - ST_VOWEL < ST_VOWELS && first - ST_LEAD < ST_LEADS)
        return ST_SYLLABLE + ((first - ST_LEAD) * ST_VOWELS + (second - ST_VOWEL)) * (ST_TRAILS + 1);
    if (second - ST_TRAIL < ST_TRAILS) {
        if (first - ST_SYLLABLE < ST_SYLLABLES && (first - ST_SYLLABLE) % (ST_TRAILS + 1) == 0)
            return first + 1 + (second - ST_TRAIL);
        *joins = first - ST_VOWEL < ST_VOWELS;
        return ST_NO_CHAR;
    }
    for (unsigned slot = (unsigned)(key * ST_NORMAL_PAIR_FACTOR >> 53); st_normal_pairs[slot]; slot = (slot + 1) & 2047)
        if (st_normal_pairs[slot] >> 21 == key) {
            const uint32_t made = (uint32_t)st_normal_pairs[slot] & 0x1FFFFF;
            return made == 0x1FFFFF ? ST_NO_CHAR : made;
        }
    *joins = 0;
    return ST_NO_CHAR;
}

/* The decomposition of a character that is not a syllable, as UTF-8 in *text; 0 bytes: it does not decompose in this form. */
ST_INLINE unsigned st_record_of(st_form form, unsigned entry, const uint8_t **text)
{
    if (!(entry & ST_ENTRY_DECOMPOSES))
        return 0;
    const uint8_t *record = st_normal_records + 2 * (entry & 0x7FFFu);
    const uint8_t *other = record + 1 + record[0];
    if (st_form_is_compatible(form) && other[0])
        record = other;
    *text = record + 1;
    return record[0];
}

/* Decomposes into at most ST_MOST_PARTS characters, and returns how many. */
ST_INLINE unsigned st_decompose(st_form form, uint32_t point, uint32_t *parts)
{
    const uint32_t syllable = point - ST_SYLLABLE, trail = syllable % (ST_TRAILS + 1);
    const uint8_t *text = 0;
    unsigned count = 0, size;
    if (syllable < ST_SYLLABLES) {
        parts[0] = ST_LEAD + syllable / (ST_VOWELS * (ST_TRAILS + 1));
        parts[1] = ST_VOWEL + syllable / (ST_TRAILS + 1) % ST_VOWELS;
        parts[2] = ST_TRAIL + trail - 1;
        return trail ? 3 : 2;
    }
    const unsigned n = st_record_of(form, st_normal_entry(point), &text);
    for (unsigned at = 0; at < n; at += size)
        parts[count++] = st_utf8_decode(text + at, &size);
    if (!count)
        parts[count++] = point;
    return count;
}

/* Does a run begin with the character, behind `front`? */
ST_INLINE int st_begins_run(st_form form, uint32_t point, uint32_t front)
{
    uint32_t parts[ST_MOST_PARTS];
    int joins;
    if (!st_normal_in(point, form) && !st_normal_in(point, ST_MASK_MARKS))
        return 1;
    st_decompose(form, point, parts);
    const uint32_t first = parts[0];
    const unsigned entry = st_normal_entry(first);
    if (st_class_of_entry(entry))
        return 0;
    if (!st_form_composes(form) || !(entry & ST_ENTRY_SECOND) || entry & ST_ENTRY_DECOMPOSES)
        return 1;
    const unsigned count = st_decompose(form, front, parts);
    st_compose_or_join(parts[count - 1], first, &joins);
    return !joins;
}

/* The same of the character at `text`. `before`: the character in front, NULL where there is none. */
ST_INLINE int st_starts_run(st_form form, const uint8_t *text, const uint8_t *before)
{
    unsigned size;
    if (*text < 0x80 || !before)
        return 1;
    return st_begins_run(form, st_utf8_decode(text, &size), st_utf8_decode(before, &size));
}

/* Is a character, one in the masks of the form, sure to stay behind `front` (ST_NO_CHAR: it is the first), where all in front is normal? */
ST_INLINE int st_char_fits(st_form form, uint32_t point, uint32_t front)
{
    const unsigned entry = st_normal_entry(point);
    const int may_change = st_normal_in(point, form);
    if (may_change && (entry & ST_ENTRY_DECOMPOSES || !(entry & (ST_ENTRY_CLASS | ST_ENTRY_SECOND))))
        return 0;
    if (front == ST_NO_CHAR)
        return 1;
    if (!may_change) /* a plain mark: it has to be in order */
        return st_class_of_entry(st_normal_entry(front)) <= (entry & ST_ENTRY_CLASS);
    if (!(entry & ST_ENTRY_CLASS))
        return st_begins_run(form, point, front);
    int joins = 1;
    if (!(st_normal_entry(front) & (ST_ENTRY_CLASS | ST_ENTRY_DECOMPOSES)))
        st_compose_or_join(front, point, &joins);
    return !joins;
}

/* Is a run that is this character alone sure to stay so, whatever follows? Conservative where it decomposes. */
ST_INLINE int st_is_inert(st_form form, uint32_t point)
{
    uint32_t parts[ST_MOST_PARTS];
    if (st_form_composes(form) && point - ST_SYLLABLE < ST_SYLLABLES)
        return (point - ST_SYLLABLE) % (ST_TRAILS + 1) != 0;
    const unsigned count = st_decompose(form, point, parts), entry = st_normal_entry(parts[count - 1]);
    if (!st_form_composes(form))
        return !st_class_of_entry(entry);
    return count == 1 && !(entry & (ST_ENTRY_CLASS | ST_ENTRY_FIRST | ST_ENTRY_DECOMPOSES));
}

/* The lower case of a character; ST_NO_CHAR for the one that becomes two. */
ST_INLINE uint32_t st_lower_of(uint32_t point)
{
    const unsigned row = st_lower_middle[(unsigned)st_lower_top[point >> 12] * 64 + (point >> 6 & 63)];
    const unsigned number = st_lower_rows[row * 64 + (point & 63)];
    return number == ST_LOWER_TWO ? ST_NO_CHAR : (uint32_t)((int32_t)point + st_lower_distances[number]);
}

#endif
