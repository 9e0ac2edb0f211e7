#include "train/text.h"

#include <stdlib.h>

void st_train_text_init(st_train_text *text, const uint8_t *alphabet)
{
    memset(text, 0, sizeof *text);
    for (uint32_t i = 0; i < 256; i++)
        text->alphabet[alphabet[i]] = i;
}

void st_train_text_free(st_train_text *text)
{
    st_free(text->tokens);
    st_free(text->ranges);
    st_free(text->steps);
    st_free(text->small);
    text->tokens = text->steps = NULL;
    text->ranges = NULL;
    text->small = NULL;
    text->range_count = text->range_capacity = text->places = 0;
}

/* ---- ranges ---- */

static st_status add_range(st_train_text *text, uint64_t count, uint64_t places)
{
    if (text->range_count == text->range_capacity) {
        const size_t capacity = 2 * text->range_capacity + 1024;
        st_train_range *ranges = st_realloc(text->ranges, capacity * sizeof *ranges);
        if (!ranges)
            return ST_NO_MEMORY;
        text->ranges = ranges;
        text->range_capacity = capacity;
    }
    text->ranges[text->range_count++] = (st_train_range){count, places, 0};
    return ST_OK;
}

/* Places that a record takes, without a border. */
static size_t places_of(const st_train_text *text, const st_train_record *record)
{
    return text->given ? record->n / sizeof(uint32_t) : record->n;
}

st_status st_train_text_measure(st_train_text *text, const uint8_t *records, size_t n)
{
    if (!text->small && !(text->small = st_calloc(ST_TRAIN_SMALL, sizeof *text->small)))
        return ST_NO_MEMORY;
    for (size_t at = 0; at < n;) {
        st_train_record record;
        ST_TRY(st_train_record_read(records, n, &at, &record));
        const size_t places = places_of(text, &record) + 1;
        if (record.count < ST_TRAIN_SMALL)
            text->small[record.count] += places;
        else
            ST_TRY(add_range(text, record.count, places));
        text->places += places;
        text->pieces++;
    }
    return ST_OK;
}

static int by_count(const void *a, const void *b)
{
    const uint64_t left = ((const st_train_range *)a)->count, right = ((const st_train_range *)b)->count;
    return left < right ? 1 : left > right ? -1 : 0;
}

/* Sorts the ranges, one for each count, the greatest count first. `end` is still the number of places of the range. */
static st_status order_ranges(st_train_text *text)
{
    size_t kept = 0;
    if (text->range_count)
        qsort(text->ranges, text->range_count, sizeof *text->ranges, by_count);
    for (size_t i = 0; i < text->range_count; i++) {
        if (kept && text->ranges[kept - 1].count == text->ranges[i].count)
            text->ranges[kept - 1].end += text->ranges[i].end;
        else
            text->ranges[kept++] = text->ranges[i];
    }
    text->range_count = kept;
    for (size_t count = ST_TRAIN_SMALL; text->small && count-- > 1;) {
        if (!text->small[count])
            continue;
        ST_TRY(add_range(text, count, text->small[count]));
        text->small[count] = text->range_count - 1;
    }
    return ST_OK;
}

st_status st_train_text_lay_out(st_train_text *text)
{
    uint64_t at = 1; /* place 0 is the first border */
    if (text->places >= ST_TRAIN_MAX_PLACES)
        return ST_TOO_MUCH_TEXT;
    ST_TRY(order_ranges(text));
    for (size_t i = 0; i < text->range_count; i++) {
        st_train_range *range = &text->ranges[i];
        range->limit = at + range->end;
        range->end = at;
        at = range->limit;
    }
    text->places++;
    text->tokens = st_alloc_large(text->places * sizeof *text->tokens);
    if (!text->tokens)
        return ST_NO_MEMORY;
    text->tokens[0] = ST_TRAIN_BORDER;
    return ST_OK;
}

/* ---- pieces ---- */

static st_train_range *range_with(st_train_text *text, uint64_t count)
{
    size_t low = 0, high = text->range_count;
    if (count < ST_TRAIN_SMALL)
        return text->small && text->range_count ? &text->ranges[text->small[count]] : NULL;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (text->ranges[middle].count >= count)
            low = middle;
        else
            high = middle;
    }
    return text->range_count ? &text->ranges[low] : NULL;
}

/* Writes the tokens of a record. */
static st_status write_tokens(const st_train_text *text, const st_train_record *record, uint32_t *to)
{
    for (size_t i = 0; !text->given && i < record->n; i++)
        to[i] = text->alphabet[record->piece[i]];
    for (size_t i = 0; text->given && i < record->n / sizeof *to; i++) {
        memcpy(&to[i], record->piece + i * sizeof *to, sizeof *to); /* in the order of this machine */
        if (to[i] >= text->given)
            return ST_BAD_STATE;
    }
    return ST_OK;
}

st_status st_train_text_place(st_train_text *text, const uint8_t *records, size_t n)
{
    for (size_t at = 0; at < n;) {
        st_train_record record;
        ST_TRY(st_train_record_read(records, n, &at, &record));
        st_train_range *range = range_with(text, record.count);
        const size_t places = places_of(text, &record);
        if (!range || range->count != record.count || range->limit - range->end < places + 1)
            return ST_BAD_STATE;
        uint32_t *to = text->tokens + range->end;
        ST_TRY(write_tokens(text, &record, to));
        to[places] = ST_TRAIN_BORDER;
        range->end += places + 1;
    }
    return ST_OK;
}

st_status st_train_text_finish(st_train_text *text)
{
    const size_t steps = (text->places >> ST_TRAIN_STEP_BITS) + 1;
    uint32_t range = 0;
    for (size_t i = 0; i < text->range_count; i++)
        if (text->ranges[i].end != text->ranges[i].limit)
            return ST_BAD_STATE;
    st_free(text->small);
    text->small = NULL;
    text->steps = st_malloc(steps * sizeof *text->steps);
    if (!text->steps)
        return ST_NO_MEMORY;
    for (size_t i = 0; i < steps; i++) {
        while (range + 1 < text->range_count && text->ranges[range].end <= (uint64_t)i << ST_TRAIN_STEP_BITS)
            range++;
        text->steps[i] = range;
    }
    return ST_OK;
}
