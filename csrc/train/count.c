#include "train/count.h"

#include "base/atomic.h"
#include "base/interrupt.h"
#include "base/prefetch.h"

void st_train_counter_init(st_train_counter *counter)
{
    memset(&counter->table, 0, sizeof counter->table);
    counter->pieces = counter->bytes = 0;
    counter->factor = 1;
}

void st_train_counter_free(st_train_counter *counter)
{
    st_train_table_free(&counter->table);
}

/* Computes the keys of the short pieces and prefetches their places. Text is readable up to `stop`. */
static size_t prepare(st_train_counter *c, const uint8_t *text, const uint8_t *stop, size_t count)
{
    size_t start = 0, shorts = 0;
    for (size_t i = 0; i < count; start = (size_t)c->ends[i++]) {
        const size_t n = (size_t)c->ends[i] - start;
        if (n > ST_KEY_BYTES)
            continue;
        const st_key key = stop - (text + start) >= 16 ? st_key_of_padded(text + start, n) : st_key_of(text + start, n);
        c->keys[shorts] = key;
        c->hashes[shorts] = st_hash_key(key);
        st_prefetch(st_train_table_place(&c->table, c->hashes[shorts]));
        shorts++;
    }
    return shorts;
}

/* Counts the pieces text[0..ends[0]), text[ends[0]..ends[1]), ..., whose ends are c->ends. */
static st_status count_kept(st_train_counter *c, const uint8_t *text, const uint8_t *stop, size_t count)
{
    ST_TRY(st_train_table_grow(&c->table, count));
    const size_t shorts = prepare(c, text, stop, count);
    for (size_t i = 0; i < shorts; i++) {
        st_train_short *place = st_train_table_find(&c->table, c->keys[i], c->hashes[i]);
        c->table.short_count += !place->count;
        place->key = c->keys[i];
        place->count += c->factor;
    }
    st_number_write(&c->pieces, c->pieces + count); /* other threads read the progress */
    if (shorts == count)
        return ST_OK;
    size_t start = 0;
    for (size_t i = 0; i < count; start = (size_t)c->ends[i++])
        if (c->ends[i] - start > ST_KEY_BYTES)
            ST_TRY(st_train_table_add(&c->table, text + start, (size_t)c->ends[i] - start, c->factor));
    return ST_OK;
}

/* The same, without those that are dropped. Returns in *end the last end. */
static st_status count_batch(st_train_counter *c, const uint8_t *text, const uint8_t *stop, size_t count, size_t *end)
{
    *end = count ? (size_t)(c->ends[count - 1] & ~ST_DROPPED) : 0;
    for (size_t start = 0, from = 0; from < count;) {
        const size_t kept = st_kept_ends(c->ends + from, count - from);
        if (from == 0 && kept == count)
            return count_kept(c, text, stop, count);
        const uint64_t next = from + kept < count ? c->ends[from + kept] & ~ST_DROPPED : 0;
        for (size_t i = 0; i < kept; i++)
            c->ends[i] = c->ends[from + i] - start;
        ST_TRY(count_kept(c, text + start, stop, kept));
        from += kept + 1;
        start = (size_t)next;
    }
    return ST_OK;
}

/* Counts the pieces of text that ends at a special token or at the end of everything. */
static st_status count_stretch(st_train_counter *c, st_pattern pattern, const uint8_t *text, size_t n,
                               const uint8_t *stop)
{
    st_scan scan;
    size_t at = 0, start = 0, used = 0, count, end;
    st_scan_init(&scan);
    for (; at < n; at += used) {
        count = st_scan_feed(pattern, &scan, text + at, n - at, &used, c->ends, ST_TRAIN_BATCH);
        ST_TRY(count_batch(c, text + start, stop, count, &end));
        start += end;
        ST_TRY(st_go_on(used));
    }
    count = st_scan_finish(pattern, &scan, c->ends);
    st_number_write(&c->bytes, c->bytes + n);
    return count_batch(c, text + start, stop, count, &end);
}

st_status st_train_count_text(st_train_counter *c, st_pattern pattern, const st_special *special,
                              const uint8_t *text, size_t n, int trusted, st_text_error *error)
{
    size_t at = 0;
    if (!trusted && st_text_check(text, n, error) != n)
        return ST_INVALID_UTF8;
    ST_TRY(st_go_on(0));
    st_special_match match;
    st_special_search search = st_special_search_from(0);
    while (special && st_special_find(special, &search, text, SIZE_MAX, n, 1, &match) == ST_SPECIAL_FOUND) {
        ST_TRY(count_stretch(c, pattern, text + at, match.start - at, text + n));
        at = match.end;
    }
    return count_stretch(c, pattern, text + at, n - at, text + n);
}

st_status st_train_count_spans(st_train_counter *c, const uint8_t *text, const int64_t *spans, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t start = (size_t)spans[2 * i], n = (size_t)spans[2 * i + 1] - start;
        if (n == 0)
            continue;
        ST_TRY(st_train_table_add(&c->table, text + start, n, c->factor));
        st_number_write(&c->pieces, c->pieces + 1);
        st_number_write(&c->bytes, c->bytes + n);
        ST_TRY(st_go_on(n));
    }
    return ST_OK;
}
