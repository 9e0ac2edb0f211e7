/* quick_template.h - st_normal_quick (quick.h) for the tier of the file that includes it (base/vector.h): 64 bytes at a time.
 *
 * Blocks of ASCII are passed over. Elsewhere the first two bytes tell most characters that no form touches. The others are looked
 * up by rows: 64 code points that share all but the last byte, whose low six bits pick a bit of the row's masks. Most texts need
 * two rows, so the two rows used last are looked up without a branch. A mark that does not stand behind another mark is in order.
 * What is left goes to st_normal_fits, one by one. */
#include "base/bits.h"
#include "normal/quick.h"

/* A block, and the blocks that begin one, two and three bytes later. */
typedef struct shifted {
    st_vector by[4];
} shifted;

/* The first bytes of the characters of a row, how many bytes each has, and the row's masks. */
typedef struct known_row {
    uint8_t bytes[4];
    unsigned size;
    uint64_t suspects, marks;
} known_row;

/* What was found in a block, as masks of first bytes. behind: places behind a mark; beyond: the same in the next block. */
typedef struct found_chars {
    uint64_t suspects, marks, behind, beyond;
} found_chars;

static inline known_row row_of_char(st_form form, const uint8_t *text)
{
    known_row row = {{0}, 0, 0, 0};
    const uint64_t *masks = st_normal_masks + st_normal_row(st_utf8_decode(text, &row.size)) * ST_MASKS;
    memcpy(row.bytes, text, row.size - 1);
    row.suspects = masks[form];
    row.marks = masks[ST_MASK_MARKS];
    return row;
}

/* Looks up all characters of the row; returns their first bytes. */
ST_FORCE_INLINE uint64_t look_up_row(const known_row *row, const shifted *v, uint64_t leads, found_chars *found)
{
    const st_vector *last = &v->by[1];
    uint64_t same = leads & st_vector_is(v->by[0], row->bytes[0]);
    if (row->size > 2) {
        same &= st_vector_is(v->by[1], row->bytes[1]);
        last = &v->by[2];
    }
    if (row->size > 3) {
        same &= st_vector_is(v->by[2], row->bytes[2]);
        last = &v->by[3];
    }
    const uint64_t marks = same & st_vector_bits(*last, row->marks);
    found->suspects |= same & st_vector_bits(*last, row->suspects);
    found->marks |= marks;
    found->behind |= marks << row->size;
    found->beyond |= marks >> (64 - row->size);
    return same;
}

/* First bytes of the characters of a block that have to be looked at one by one. *behind: the lowest bits, where the block before
 * ends with a mark; then the same for the next block. */
ST_FORCE_INLINE uint64_t find_suspects(st_form form, const uint8_t *text, const shifted *v, uint64_t leads, known_row rows[2],
                                       uint64_t *behind)
{
    found_chars found = {0, 0, *behind, 0};
    const uint64_t first = look_up_row(&rows[0], v, leads, &found), second = look_up_row(&rows[1], v, leads, &found);
    leads &= ~(first | second);
    while (leads) {
        rows[1] = rows[0];
        rows[0] = row_of_char(form, text + st_first_bit(leads));
        leads &= ~look_up_row(&rows[0], v, leads, &found);
    }
    *behind = found.beyond;
    return found.suspects | (found.marks & found.behind);
}

static size_t ST_OF_TIER(st_normal_quick)(unsigned number, const uint8_t *text, size_t n)
{
    const st_form form = (st_form)number;
    const uint8_t *filter = st_normal_filters + 128 * (size_t)form;
    known_row rows[2] = {{{0}, 2, 0, 0}, {{0}, 2, 0, 0}};
    size_t at = 0;
    uint64_t behind = 0;
    for (; n - at >= ST_VECTOR_BYTES + 3; at += ST_VECTOR_BYTES) {
        shifted v = {{st_vector_load(text + at)}};
        uint64_t suspects = 0, leads = st_vector_any_high(v.by[0]);
        if (leads) {
            v.by[1] = st_vector_load(text + at + 1);
            leads = st_vector_at_least(v.by[0], 0xC0) &
                    st_vector_meet(st_vector_pick(v.by[0], filter), st_vector_pick(v.by[1], filter + 64));
        }
        if (leads) {
            v.by[2] = st_vector_load(text + at + 2);
            v.by[3] = st_vector_load(text + at + 3);
            suspects = find_suspects(form, text + at, &v, leads, rows, &behind);
        } else {
            behind = 0;
        }
        for (; suspects; suspects &= suspects - 1) {
            const size_t place = at + st_first_bit(suspects);
            if (!st_normal_fits(form, text, place))
                return place;
        }
    }
    while (at < n && st_utf8_is_continuation(text[at]))
        at++;
    return st_normal_quick_from(form, text, at, n);
}
