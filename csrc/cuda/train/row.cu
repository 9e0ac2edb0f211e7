/* row.cu - distinct pieces to the row of tokens that merges work on, from the table on the device or from a row of the CPU. */
#include "cuda/train/pieces.cu"

ST_INLINE uint32_t st_weight_of(const st_placing *p, uint64_t count)
{
    if (count < ST_HEAVY)
        return (uint32_t)count;
    const uint64_t number = st_take64(&p->top->heavy, 1);
    p->heavy[number] = count;
    return ST_HEAVY | (uint32_t)number;
}

/* Places the piece of each lane that has one (n > 0), and a border behind it. */
ST_INLINE void st_place_pieces(const st_placing *p, unsigned lane, const uint8_t *piece, unsigned n, uint64_t count)
{
    const uint64_t at = st_take_for_warp(&p->top->places, n ? n + 1 : 0, lane);
    if (n == 0)
        return;
    const uint32_t weight = st_weight_of(p, count);
    for (unsigned i = 0; i < n; i++) {
        p->row[at + i] = p->alphabet[piece[i]];
        p->weights[at + i] = weight;
    }
    p->row[at + n] = ST_BORDER;
    p->weights[at + n] = 0;
}

/* The places number 32 * row .. 32 * row + 31 of the table, of which the longer pieces come second. */
ST_INLINE void st_place_row(const st_placing *p, unsigned lane, uint64_t row)
{
    const uint64_t shorts = p->table.short_mask + 1, number = 32 * row + lane;
    if (number < shorts) {
        const st_key key = p->table.keys[number];
        uint64_t bytes[2] = {key.low, key.high};
        st_place_pieces(p, lane, (const uint8_t *)bytes, key.high == ST_FREE ? 0 : st_key_length(key.high),
                        p->table.counts[number]);
        return;
    }
    const uint64_t at = number - shorts, where = p->table.wheres[at];
    st_place_pieces(p, lane, p->table.bytes + (where >> 16), (unsigned)(where & 0xFFFF), p->table.long_counts[at]);
}

/* ---- a row from the CPU ---- */

ST_INLINE uint64_t st_range_of(const st_widening *w, uint64_t place)
{
    uint64_t low = 0, high = w->ranges - 1;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (w->ends[middle] <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ST_INLINE void st_widen_place(const st_widening *w, uint64_t place)
{
    const uint32_t token = w->source[place];
    const uint64_t range = st_range_of(w, place), count = w->counts[range];
    w->weights[place] = token == ST_BORDER ? 0 : count < ST_HEAVY ? (uint32_t)count : ST_HEAVY | (uint32_t)(w->heavy + range);
    if (place && w->source[place - 1] != ST_BORDER)
        return; /* the thread of the piece's first place writes this one */
    uint64_t at = place;
    for (uint32_t here; (here = w->source[at]) != ST_BORDER;) {
        const uint64_t end = at + w->lengths[here];
        w->row[at] = here;
        while (++at < end)
            w->row[at] = at + 1 < end ? ST_INSIDE : here | ST_LAST;
    }
    w->row[at] = ST_BORDER;
}
