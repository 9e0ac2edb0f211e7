/* decode.cu - ids to bytes, in three kernels: the bytes of each tile are counted, the counts added up, and a warp a tile writes them. A
 * token of up to 15 bytes is one load. The bytes of a tile are gathered in shared memory, and go from there to their place by 16. */
#include "cuda/ids/job.h"
#include "cuda/ids/numbers.cu"

typedef struct st_decode_memory {
    uint4 words[ST_DECODE_BUFFER / 16];
} st_decode_memory;

/* Index of the id among the others, or other_count. */
ST_INLINE uint64_t st_find_other(const st_decode *job, uint32_t id)
{
    uint64_t low = 0, high = job->other_count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (job->other_ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < job->other_count && job->other_ids[low] == id ? low : job->other_count;
}

/* A token: its bytes are in the slot, or at a place that the slot says. */
typedef struct st_token {
    uint4 slot;
    uint32_t length;
    int is_long, is_bad;
} st_token;

/* The slot of a token that is not long is read where `With_bytes` is set. */
template <int With_bytes> ST_FORCE_INLINE st_token st_token_of(const st_decode *job, uint64_t id)
{
    st_token token = {{0, 0, 0, 0}, 0, 0, 0};
    if (id < job->table) {
        token.length = job->lengths[id];
        token.is_long = token.length == ST_TOKEN_LONG;
        token.is_bad = token.length == ST_TOKEN_UNKNOWN;
        if (token.is_long || (With_bytes && token.length))
            token.slot = job->slots[id];
    } else {
        const uint64_t at = id > UINT32_MAX ? job->other_count : st_find_other(job, (uint32_t)id);
        token.is_bad = at == job->other_count;
        token.is_long = !token.is_bad;
        if (token.is_long)
            token.slot = job->other_slots[at];
    }
    if (token.is_long)
        token.length = token.slot.z;
    if (token.is_bad)
        token.length = 0;
    return token;
}

ST_FORCE_INLINE uint32_t st_length_of(const st_decode *job, uint64_t at)
{
    return at < job->count ? st_token_of<0>(job, st_number_at(job->ids, job->id_bytes, job->is_signed, at)).length : 0;
}

/* ---- how many bytes ---- */

ST_INLINE void st_count_bytes(const st_decode *job, unsigned lane, uint64_t tile)
{
    const uint64_t first = tile * ST_ID_TILE + lane;
    uint64_t ids[ST_IDS_A_LANE];
    uint32_t sum = 0;
    int is_bad = 0;
#pragma unroll
    for (unsigned k = 0; k < ST_IDS_A_LANE; k++)
        ids[k] = first + 32 * k < job->count ? st_number_at(job->ids, job->id_bytes, job->is_signed, first + 32 * k) : 0;
#pragma unroll
    for (unsigned k = 0; k < ST_IDS_A_LANE; k++) {
        if (first + 32 * k >= job->count)
            break;
        const st_token token = st_token_of<0>(job, ids[k]);
        sum += token.length;
        is_bad |= token.is_bad;
    }
    sum = st_sum_of_lanes(sum);
    if (lane == 0)
        job->tiles[tile] = sum;
    if (is_bad)
        atomicOr((uint32_t *)&job->report->flags, ST_FLAG_BAD_ID);
}

/* ---- the bytes ---- */

/* A token of up to 15 bytes; each byte is a store of its own, because it may go to any address. */
ST_FORCE_INLINE void st_put_short(uint8_t *to, uint4 slot, uint32_t length)
{
    const uint32_t words[4] = {slot.x, slot.y, slot.z, slot.w};
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        if (length <= 4 * i)
            break;
#pragma unroll
        for (unsigned k = 0; k < 4; k++)
            if (4 * i + k < length)
                to[4 * i + k] = (uint8_t)(words[i] >> 8 * k);
    }
}

/* The long tokens among those of the lanes, each by all lanes. */
ST_INLINE void st_put_long(const st_decode *job, uint8_t *to, unsigned lane, const st_token *token, uint32_t at)
{
    uint32_t left = __ballot_sync(0xFFFFFFFFu, token->is_long && token->length);
    while (left) {
        const int from = __ffs((int)left) - 1;
        const uint64_t low = __shfl_sync(0xFFFFFFFFu, token->slot.x, from), high = __shfl_sync(0xFFFFFFFFu, token->slot.y, from);
        const uint8_t *bytes = job->bytes + (low | high << 32);
        const uint32_t length = __shfl_sync(0xFFFFFFFFu, token->length, from), place = __shfl_sync(0xFFFFFFFFu, at, from);
        for (uint32_t i = lane; i < length; i += 32)
            to[place + i] = bytes[i];
        left &= left - 1;
    }
}

/* All bytes from the warp's memory, where they stand as many bytes behind a multiple of 16 as at their place. */
ST_INLINE void st_move_out(const st_decode_memory *memory, unsigned lane, uint8_t *out, uint32_t size)
{
    const uint32_t ahead = (uint32_t)((uint64_t)out & 15), end = ahead + size;
    const uint8_t *from = (const uint8_t *)memory->words;
    uint8_t *base = out - ahead;
    for (uint32_t i = lane; 16 * i < end; i += 32) {
        const uint32_t first = 16 * i, last = first + 16;
        if (first >= ahead && last <= end) {
            ((uint4 *)base)[i] = memory->words[i];
            continue;
        }
        for (uint32_t k = first < ahead ? ahead : first; k < (last < end ? last : end); k++)
            base[k] = from[k];
    }
}

/* Writes the bytes of some ids, this lane's first one of which is number `first`, behind the `done` bytes of the tile that are there.
 * Returns how many are there then. `before`: bytes in front of the tile. */
ST_FORCE_INLINE uint32_t st_put_tokens(const st_decode *job, uint8_t *to, unsigned lane, uint64_t first, uint64_t before, uint32_t done)
{
    st_token tokens[ST_DECODE_LOADS];
#pragma unroll
    for (unsigned k = 0; k < ST_DECODE_LOADS; k++) {
        const uint64_t at = first + 32 * k;
        const st_token none = {{0, 0, 0, 0}, 0, 0, 0};
        tokens[k] = at < job->count ? st_token_of<1>(job, st_number_at(job->ids, job->id_bytes, job->is_signed, at)) : none;
    }
#pragma unroll
    for (unsigned k = 0; k < ST_DECODE_LOADS; k++) {
        uint32_t total;
        const uint32_t at = done + st_before_lane(tokens[k].length, lane, &total);
        if (!tokens[k].is_long)
            st_put_short(to + at, tokens[k].slot, tokens[k].length);
        st_put_long(job, to, lane, &tokens[k], at);
        if (job->starts && first + 32 * k < job->count)
            job->starts[first + 32 * k] = before + at;
        done += total;
    }
    return done;
}

/* Writes the bytes of a tile, and of each id how many bytes are before it, if that is asked for. */
ST_INLINE void st_write_tile(const st_decode *job, st_decode_memory *memory, unsigned lane, uint64_t tile)
{
    const uint64_t before = job->tiles[tile], size = job->tiles[tile + 1] - before, first = tile * ST_ID_TILE + lane;
    if (before + size > job->out_capacity)
        return;
    uint8_t *out = job->out + before;
    const int is_near = size + 16 <= ST_DECODE_BUFFER;
    uint8_t *to = is_near ? (uint8_t *)memory->words + ((uint64_t)out & 15) : out;
    uint32_t done = 0;
#pragma unroll 1
    for (uint64_t at = first; at - first < ST_ID_TILE; at += 32 * ST_DECODE_LOADS)
        done = st_put_tokens(job, to, lane, at, before, done);
    if (job->starts && lane == 0 && tile + 1 == (job->count + ST_ID_TILE - 1) / ST_ID_TILE)
        job->starts[job->count] = before + size;
    __syncwarp();
    if (is_near)
        st_move_out(memory, lane, out, done);
    __syncwarp();
}

/* Bytes before a row; a warp a row. */
ST_INLINE void st_decode_row_start(const st_decode *job, unsigned lane, uint64_t row)
{
    const uint64_t first = job->rows[row], tile = first / ST_ID_TILE;
    uint32_t sum = 0;
    if (first > job->count || (row && job->rows[row - 1] > first)) {
        if (lane == 0)
            atomicOr((uint32_t *)&job->report->flags, ST_FLAG_BAD_ROWS);
        return;
    }
    for (uint64_t at = tile * ST_ID_TILE + lane; at - lane < first; at += 32)
        sum += at < first ? st_length_of(job, at) : 0;
    sum = st_sum_of_lanes(sum);
    if (lane == 0)
        job->row_starts[row] = job->tiles[tile] + sum;
}
