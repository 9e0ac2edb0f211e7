/* hold.cu - rows of text that comes in parts: each gives whole characters, and bytes that begin one wait for the next part. */
#include "base/utf8.h"
#include "cuda/ids/job.h"

ST_FORCE_INLINE uint64_t st_held_size(uint32_t held) { return held >> 24; }

/* Byte `at` of what waited and the row behind it. */
ST_FORCE_INLINE uint8_t st_held_byte(uint32_t held, const uint8_t *row, uint64_t at)
{
    return at < st_held_size(held) ? (uint8_t)(held >> 8 * at) : row[at - st_held_size(held)];
}

/* How many bytes a row gives, and what of it waits; a thread a row. */
ST_INLINE void st_hold_row(const st_hold *job, uint64_t row)
{
    const uint32_t held = job->before[row];
    const uint8_t *text = job->text + job->row_starts[row];
    const uint64_t size = st_held_size(held) + job->row_starts[row + 1] - job->row_starts[row];
    const uint64_t seen = size < 4 ? size : 4;
    uint8_t last[4];
    for (uint64_t i = 0; i < seen; i++)
        last[i] = st_held_byte(held, text, size - seen + i);
    const unsigned waits = job->final ? 0 : st_utf8_unfinished(last, seen);
    uint32_t after = waits << 24;
    for (unsigned i = 0; i < waits; i++)
        after |= (uint32_t)last[seen - waits + i] << 8 * i;
    job->after[row] = after;
    job->sizes[row] = size - waits;
}

/* What a row gives; a warp a row. */
ST_INLINE void st_give_row(const st_hold *job, unsigned lane, uint64_t row)
{
    const uint64_t to = job->sizes[row], size = job->sizes[row + 1] - to;
    for (uint64_t i = lane; i < size; i += 32)
        job->out[to + i] = st_held_byte(job->before[row], job->text + job->row_starts[row], i);
}
