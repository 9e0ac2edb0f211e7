#include "normal/joined.h"

#include "base/alloc.h"
#include "base/atomic.h"

#include <string.h>

#define ROW 64
#define ROWS (0x110000 / ROW)

struct st_joined {
    st_clean clean;
    int lower;
    void *rows[ROWS]; /* of ROW entries; NULL: not made yet */
};

/* Adds one character of a decomposition, as the steps behind NFD make it. 0: the character is hard. */
static int add_part(const st_joined *joined, st_joined_entry *entry, uint32_t point)
{
    uint8_t bytes[4];
    if (st_normal_in(point, ST_MASK_NONSPACING))
        return 1;
    if (st_class_of_entry(st_normal_entry(point)))
        return 0; /* it may change places with others that stay */
    if (joined->lower)
        point = st_lower_of(point);
    if (point == ST_NO_CHAR)
        return 0;
    const unsigned n = st_utf8_write(bytes, point);
    if (entry->n + n > ST_JOINED_BYTES)
        return 0;
    memcpy(entry->bytes + entry->n, bytes, n);
    entry->n = (uint8_t)(entry->n + n);
    return 1;
}

static st_joined_entry entry_of(const st_joined *joined, uint32_t point)
{
    st_joined_entry entry = {0, {0}};
    uint8_t made[ST_MOST_CLEANED];
    unsigned size;
    int is_easy = 1;
    const size_t n = st_clean_character(&joined->clean, made, point);
    for (size_t at = 0; at < n; at += size) {
        uint32_t parts[ST_MOST_PARTS];
        const unsigned count = st_decompose(ST_NFD, st_utf8_decode(made + at, &size), parts);
        for (unsigned i = 0; i < count; i++)
            is_easy &= add_part(joined, &entry, parts[i]);
    }
    if (!is_easy)
        entry.n = ST_JOINED_HARD;
    return entry;
}

static st_joined_entry *make_row(st_joined *joined, uint32_t row)
{
    st_joined_entry *made = st_malloc(ROW * sizeof *made);
    for (uint32_t i = 0; made && i < ROW; i++) {
        const st_joined_entry hard = {ST_JOINED_HARD, {0}};
        const uint32_t point = row * ROW + i;
        made[i] = point - 0xD800 < 0x800 ? hard : entry_of(joined, point); /* no text has surrogates */
    }
    if (!made)
        return NULL;
    st_joined_entry *other = st_publish(&joined->rows[row], made);
    if (other)
        st_free(made);
    return other ? other : made;
}

const st_joined_entry *st_joined_of(st_joined *joined, uint32_t point)
{
    const st_joined_entry *row = st_acquire(&joined->rows[point / ROW]);
    if (!row)
        row = make_row(joined, point / ROW);
    return row ? &row[point % ROW] : NULL;
}

st_joined *st_joined_new(st_clean clean, int lower)
{
    st_joined *joined = st_calloc(1, sizeof *joined);
    if (joined) {
        joined->clean = clean;
        joined->lower = lower;
    }
    return joined;
}

void st_joined_free(st_joined *joined)
{
    for (size_t i = 0; joined && i < ROWS; i++)
        st_free(joined->rows[i]);
    st_free(joined);
}
