#include "lookup/first_look.h"

#include "base/tier.h"

size_t st_add_pieces_portable(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at,
                              const uint64_t *ends, size_t count)
{
    size_t i = 0;
    for (; i < count; i++) {
        const size_t end = (size_t)ends[i], n = end - at;
        if (n > ST_KEY_BYTES || at >= readable)
            break;
        st_add_span(s, hot, at - s->first, st_key_of_padded(text + at, n));
        at = end;
    }
    return i;
}

size_t st_add_apart_portable(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, const uint64_t *starts,
                             const uint64_t *ends, size_t count)
{
    size_t i = 0;
    for (; i < count; i++) {
        const size_t at = (size_t)starts[i], n = (size_t)ends[i] - at;
        if (n > ST_KEY_BYTES || at >= readable)
            break;
        st_add_span(s, hot, at - s->first, st_key_of_padded(text + at, n));
    }
    return i;
}

void st_add_spans_portable(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends, size_t count)
{
    for (size_t i = 0, start = 0; i < count; start = ends[i++]) {
        const size_t n = ends[i] - start;
        const st_key key = n > ST_KEY_BYTES ? st_key_of_long(n) : st_key_of_padded(text + at + start, n);
        st_add_span(s, hot, at + start - s->first, key);
    }
}

void st_first_look_portable(st_spans *s, const st_hot *hot)
{
    const st_waiting *w = &s->waiting;
    uint32_t *found = s->found + s->found_count;
    size_t missed = s->missed;
    for (size_t i = 0; i < s->waiting_count; i++) {
        const st_key key = {w->low[i], w->high[i]};
        const st_piece_entry *entry = st_hot_entry(hot, w->places[i]);
        const uint64_t differ = (entry->key.low ^ key.low) | (entry->key.high ^ key.high) << 4;
        const uint64_t count = entry->key.high >> 60;
        memcpy(found, entry->ids, sizeof entry->ids);
        s->keys[missed] = key;
        s->starts[missed] = (uint32_t)w->starts[i];
        s->places[missed] = found;
        missed += differ != 0;
        if (count > ST_INLINE_IDS) /* seldom; also for a miss, where it does no harm */
            memcpy(found + count - ST_INLINE_IDS, hot->last[w->places[i] >> ST_ENTRY_SHIFT], sizeof hot->last[0]);
        found += count & (0 - (uint64_t)(differ == 0));
    }
    s->found_count = (size_t)(found - s->found);
    s->missed = missed;
    s->waiting_count = 0;
}

/* With so few spans most lanes of a vector would be empty, and reading them one by one would wait for the vector to be written. */
#define FEW_SPANS 4

size_t st_add_pieces(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at, const uint64_t *ends,
                     size_t count)
{
    return (count > FEW_SPANS ? st_tier()->add_pieces : st_add_pieces_portable)(s, hot, text, readable, at, ends, count);
}

size_t st_add_apart(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, const uint64_t *starts,
                    const uint64_t *ends, size_t count)
{
    return (count > FEW_SPANS ? st_tier()->add_apart : st_add_apart_portable)(s, hot, text, readable, starts, ends, count);
}

void st_add_spans(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends, size_t count)
{
    st_tier()->add_spans(s, hot, text, at, ends, count);
}

void st_first_look(st_spans *s, const st_hot *hot)
{
    (s->waiting_count > FEW_SPANS ? st_tier()->first_look : st_first_look_portable)(s, hot);
}
