/* rows.cu - ids in the shapes that models take: rows of one length with pads, documents one behind the other, cut into rows, or by a
 * plan of the host; and rows with the ids of a model's template around them. */
#include "cuda/ids/numbers.cu"

/* ---- padded ---- */

ST_INLINE uint64_t st_row_size(const st_pad *job, uint64_t row) { return job->row_starts[row + 1] - job->row_starts[row]; }

/* The longest row, of a thread's share. */
ST_INLINE void st_find_longest_row(const st_pad *job, uint64_t first, uint64_t step)
{
    uint64_t longest = 0;
    for (uint64_t row = first; row < job->row_count; row += step)
        longest = st_row_size(job, row) > longest ? st_row_size(job, row) : longest;
    if (longest)
        atomicMax((unsigned long long *)&job->report->longest_row, (unsigned long long)longest);
}

/* The id at place `at` of a row: `size` ids from `from` on, and those around them. */
template <typename Job> ST_FORCE_INLINE uint64_t st_templated_id(const Job *job, uint64_t from, uint64_t size, uint64_t at)
{
    if (at < job->prefix_size)
        return job->prefix[at];
    at -= job->prefix_size;
    return at < size ? st_number_at(job->ids, job->id_bytes, 0, from + at) : job->suffix[at - size];
}

/* A row, or its first or last ids; a warp a row. */
ST_INLINE void st_pad_row(const st_pad *job, unsigned lane, uint64_t row)
{
    const uint64_t all = st_row_size(job, row), around = job->prefix_size + job->suffix_size;
    const uint64_t own = all < job->most - around ? all : job->most - around, size = own + around;
    const uint64_t pads = job->length - size, first = job->is_left ? pads : 0, from = job->row_starts[row] + (job->keeps_end ? all - own : 0);
    for (uint64_t i = lane; i < job->length; i += 32) {
        const int is_id = i - first < size;
        const uint64_t at = row * job->length + i;
        st_put_number(job->out, job->out_bytes, at, is_id ? st_templated_id(job, from, own, i - first) : job->pad);
        st_put_number(job->mask, job->out_bytes, at, (uint64_t)is_id);
    }
}

/* ---- parts one behind the other: documents, rows with a template, sequences of a plan ---- */

/* Where a part begins. */
ST_FORCE_INLINE uint64_t st_part_place(const st_pack *job, uint64_t doc) { return job->doc_starts[doc] + (job->has_end ? doc : 0); }

ST_FORCE_INLINE uint64_t st_part_place(const st_template *job, uint64_t row)
{
    return job->row_starts[row] + row * (job->prefix_size + job->suffix_size);
}

ST_FORCE_INLINE uint64_t st_part_place(const st_planned *job, uint64_t sequence) { return (uint64_t)job->plan[sequence].place; }

/* The last of the parts low .. high that begins at or in front of the place. Of empty ones at one place it is the last. */
template <typename Job> ST_INLINE uint64_t st_part_at(const Job *job, uint64_t place, uint64_t low, uint64_t high)
{
    while (low < high) {
        const uint64_t middle = low + (high - low + 1) / 2;
        if (st_part_place(job, middle) <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- ids in their template ---- */

/* Ids of a tile; a warp a tile. */
ST_INLINE void st_template_tile(const st_template *job, unsigned lane, uint64_t tile)
{
    const uint64_t first = tile * ST_ID_TILE, end = first + ST_ID_TILE < job->total ? first + ST_ID_TILE : job->total;
    const uint64_t low = st_part_at(job, first, 0, job->row_count - 1), high = st_part_at(job, end - 1, low, job->row_count - 1);
    for (uint64_t at = first + lane; at < end; at += 32) {
        const uint64_t row = st_part_at(job, at, low, high), from = job->row_starts[row], size = job->row_starts[row + 1] - from;
        st_put_number(job->out, job->id_bytes, at, st_templated_id(job, from, size, at - st_part_place(job, row)));
    }
}

/* ---- packed ---- */

/* The id at a place of a document. */
ST_FORCE_INLINE uint64_t st_packed_id(const st_pack *job, uint64_t place, uint64_t doc)
{
    if (job->has_end && place + 1 == st_part_place(job, doc + 1))
        return job->end;
    return st_number_at(job->ids, job->id_bytes, 0, place - (job->has_end ? doc : 0));
}

/* Ids and positions of a tile, and how many sequences begin in it; a warp a tile. */
ST_INLINE void st_pack_tile(const st_pack *job, unsigned lane, uint64_t tile)
{
    const uint64_t first = tile * ST_ID_TILE, last = first + ST_ID_TILE - 1;
    const uint64_t low = first < job->total ? st_part_at(job, first, 0, job->doc_count - 1) : 0;
    const uint64_t high = first < job->total ? st_part_at(job, last, low, job->doc_count - 1) : 0;
    uint32_t begin = 0;
    for (uint64_t at = first + lane; at < first + lane + ST_ID_TILE; at += 32) {
        uint64_t id = job->pad, position = 0;
        if (at < job->total) {
            const uint64_t doc = st_part_at(job, at, low, high), row = at - at % job->length, place = st_part_place(job, doc);
            id = st_packed_id(job, at, doc);
            position = at - (place > row ? place : row);
            begin += position == 0;
        }
        if (at < job->capacity) {
            st_put_number(job->out, job->out_bytes, at, id);
            st_put_number(job->positions, job->out_bytes, at, position);
        }
    }
    begin = st_sum_of_lanes(begin);
    if (lane == 0)
        job->tiles[tile] = begin;
}

/* Where the sequences of a tile begin; a warp a tile. */
ST_INLINE void st_list_sequences(const st_pack *job, unsigned lane, uint64_t tile)
{
    uint64_t number = job->tiles[tile];
    const uint64_t first = tile * ST_ID_TILE;
    for (uint64_t at = first + lane; at < first + lane + ST_ID_TILE; at += 32) {
        const int begins = at < job->total && st_number_at(job->positions, job->out_bytes, 0, at) == 0;
        const uint32_t all = __ballot_sync(0xFFFFFFFFu, begins);
        if (begins) {
            const uint64_t own = number + __popc(all & ((1u << lane) - 1));
            job->sequences[own] = (uint32_t)at;
            if (job->sources)
                job->sources[own] = st_part_at(job, at, 0, job->doc_count - 1);
        }
        number += (uint32_t)__popc(all);
    }
    if (lane == 0 && (tile + 1) * ST_ID_TILE >= job->capacity)
        job->sequences[number] = (uint32_t)job->total;
}

/* ---- packed by a plan ---- */

/* Ids and positions of a tile; a warp a tile. */
ST_INLINE void st_planned_tile(const st_planned *job, unsigned lane, uint64_t tile)
{
    const uint64_t first = tile * ST_ID_TILE, end = first + ST_ID_TILE < job->capacity ? first + ST_ID_TILE : job->capacity;
    const uint64_t low = st_part_at(job, first, 0, job->count), high = st_part_at(job, end - 1, low, job->count);
    for (uint64_t at = first + lane; at < end; at += 32) {
        const uint64_t number = st_part_at(job, at, low, high);
        const st_sequence *own = &job->plan[number];
        uint64_t id = job->pad, position = 0;
        if (own->document != ST_PADS) {
            position = at - (uint64_t)own->place;
            const int is_end = own->has_end && at + 1 == (uint64_t)own[1].place;
            id = is_end ? job->end : st_number_at(job->ids, job->id_bytes, 0, (uint64_t)own->first + position);
        }
        st_put_number(job->out, job->out_bytes, at, id);
        st_put_number(job->positions, job->out_bytes, at, position);
    }
}
