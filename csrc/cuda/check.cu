/* check.cu - what must be known of a text before its ids may be used: is it UTF-8, and where are names of special tokens in
 * it? A thread a block. */
#include "job.h"

/* ---- UTF-8 ---- */

/* Is text[at..) a whole valid character that ends at or in front of `end`? Its size, or 0. */
ST_INLINE unsigned st_valid_size(const uint8_t *text, uint64_t at, uint64_t end)
{
    const uint8_t lead = text[at];
    const unsigned size = st_utf8_size(lead);
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4 || at + size > end || !st_utf8_may_follow(lead, text[at + 1]))
        return 0;
    for (unsigned i = 2; i < size; i++)
        if (!st_utf8_is_continuation(text[at + i]))
            return 0;
    return size;
}

/* How many bytes at `at`, which is in a part that begins at `begin`, a character further left could own. */
ST_INLINE unsigned st_owned_by_left(const uint8_t *text, uint64_t at, uint64_t begin)
{
    for (unsigned back = 1; back <= 3 && begin + back <= at; back++)
        if (!st_utf8_is_continuation(text[at - back])) {
            const unsigned size = st_utf8_size(text[at - back]);
            return size > back ? size - back : 0;
        }
    return 0;
}

ST_INLINE int st_block_is_utf8(const st_job *job, uint64_t block)
{
    const uint64_t first = 64 * block, last = first + st_fill(job, block);
    uint64_t at = first, end = last;
    uint32_t high = 0;
    if (job->marks && job->marks[block] == ST_MARK_ID)
        return 1;
    if (last - first == 64)
        for (int i = 0; i < 4; i++) {
            const uint4 w = ((const uint4 *)(job->text + first))[i];
            high |= w.x | w.y | w.z | w.w;
        }
    if (last - first == 64 && !(high & 0x80808080u))
        return 1;
    if (!st_part_ends(job, block))
        end += st_fill(job, block + 1); /* a character may go on in the next block */
    if (!st_part_begins(job, block))
        at += st_owned_by_left(job->text, first, first - 64);
    while (at < last) {
        const unsigned size = st_valid_size(job->text, at, end);
        if (!size)
            return 0;
        at += size;
    }
    return 1;
}

ST_INLINE void st_check_block(const st_job *job, uint64_t block)
{
    if (!st_block_is_utf8(job, block))
        atomicOr(&job->counts->flags, ST_FLAG_UTF8);
}

/* ---- names ---- */

ST_INLINE int st_name_is_at(const st_job *job, uint64_t at, uint64_t end, uint64_t name)
{
    const uint64_t start = job->name_starts[name], n = job->name_starts[name + 1] - start;
    if (at + n > end)
        return 0;
    for (uint64_t i = 0; i < n; i++)
        if (job->text[at + i] != job->names[start + i] || (i && !((at + i) & 63) && st_part_begins(job, (at + i) >> 6)))
            return 0;
    return 1;
}

ST_INLINE void st_find_names(const st_job *job, uint64_t block)
{
    const uint64_t first = 64 * block, last = first + st_fill(job, block);
    if (job->marks && job->marks[block] == ST_MARK_ID)
        return;
    for (uint64_t at = first; at < last; at++) {
        const unsigned byte = job->text[at];
        if (!(job->name_firsts[byte >> 6] >> (byte & 63) & 1))
            continue;
        for (uint64_t name = 0; name < job->name_count; name++) {
            if (!st_name_is_at(job, at, job->size, name))
                continue;
            const uint32_t number = atomicAdd(&job->counts->specials, 1u);
            if (number < job->found_room)
                job->found[number] = at << 16 | name;
        }
    }
}
