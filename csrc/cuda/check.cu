/* check.cu - what must be known of a text before its ids may be used: whether it is UTF-8, and where the names of special tokens
 * are. A thread a block. */
#include "cuda/planes.h"

/* ---- UTF-8 ---- */

/* How many continuation bytes the character at the end of the block in front still needs. */
ST_INLINE unsigned st_owed(const uint8_t *bytes)
{
    if (bytes[-1] >= 0xC0)
        return st_utf8_size(bytes[-1]) - 1;
    if (bytes[-2] >= 0xE0)
        return st_utf8_size(bytes[-2]) - 2;
    return bytes[-3] >= 0xF0;
}

/* The bytes of the block that are not valid UTF-8: continuation bytes without a lead byte, lead bytes without enough continuation
 * bytes, and bytes that no character has. `before` is the byte in front of the block, and `owed` is as st_owed gives it. */
ST_INLINE uint64_t st_bad_bytes(const uint8_t *bytes, unsigned before, unsigned owed)
{
    uint32_t halves[2][8];
    uint64_t p[8];
    st_read_planes(bytes, halves);
    for (int i = 0; i < 8; i++)
        p[i] = halves[0][i] | (uint64_t)halves[1][i] << 32;
    const uint64_t lead = p[7] & p[6], lead_3 = lead & p[5] & ~p[4], lead_4 = lead & p[5] & p[4], tail = p[7] & ~p[6];
    const uint64_t wanted = lead << 1 | (lead_3 | lead_4) << 2 | lead_4 << 3 | (((uint64_t)1 << owed) - 1);
    const uint64_t never = (lead & ~p[5] & ~(p[4] | p[3] | p[2] | p[1])) | (lead_4 & (p[3] | (p[2] & (p[1] | p[0]))));
    /* Second bytes that would make a character too long for its code point, a surrogate, or one beyond U+10FFFF. */
    const uint64_t e0 = (lead_3 & ~(p[3] | p[2] | p[1] | p[0])) << 1 | (before == 0xE0);
    const uint64_t ed = (lead_3 & p[3] & p[2] & ~p[1] & p[0]) << 1 | (before == 0xED);
    const uint64_t f0 = (lead_4 & ~(p[2] | p[1] | p[0])) << 1 | (before == 0xF0);
    const uint64_t f4 = (lead_4 & p[2]) << 1 | (before == 0xF4);
    return (tail ^ wanted) | never | (e0 & ~p[5]) | (ed & p[5]) | (f0 & ~(p[5] | p[4])) | (f4 & (p[5] | p[4]));
}

ST_INLINE int st_block_is_utf8(const st_job *job, uint64_t block)
{
    const int begins = (int)st_passage_begins(job, block);
    const uint8_t *left = job->text + 64 * block;
    const unsigned before = begins ? 0 : left[-1], owed = begins ? 0 : st_owed(left);
    st_copy copy;
    uint32_t high = 0;
    if (job->marks && job->marks[block] == ST_MARK_ID)
        return 1;
    const uint8_t *bytes = st_block_bytes(job, block, &copy);
    for (int i = 0; i < 4; i++) {
        const uint4 w = ((const uint4 *)bytes)[i];
        high |= w.x | w.y | w.z | w.w;
    }
    return !((high & 0x80808080u) || owed) || !st_bad_bytes(bytes, before, owed);
}

ST_INLINE void st_check_block(const st_job *job, uint64_t block)
{
    if (!st_block_is_utf8(job, block))
        atomicOr(&job->counts->flags, ST_FLAG_UTF8);
}

/* ---- names ---- */

ST_INLINE void st_note_name(const st_job *job, const st_name_set *set, uint64_t at, uint32_t name)
{
    const uint32_t number = atomicAdd(&job->counts->specials, 1u);
    if (number < job->found_room)
        job->found[number] = at << 16 | (set->before + name - 1);
}

/* Notes the longest name at each of the starts that the node at `at` gives up (special/names.h), if the start is in front of
 * `last`. */
ST_INLINE void st_note_starts(const st_job *job, const st_name_set *set, uint32_t node, uint64_t at, uint64_t last)
{
    const uint32_t depth = set->depth[node], given_up = depth - set->depth[set->nodes[node].fail];
    const uint64_t start = at - depth, bytes = (uint64_t)set->place[node] + 1 - depth;
    if (!(set->nodes[node].bits & ST_SPECIAL_LOUD))
        return;
    for (uint32_t i = 0; i < given_up && start + i < last; i++) {
        const uint32_t name = i == 0 ? set->name[node] : set->inner ? set->inner[bytes + i] : 0;
        if (name)
            st_note_name(job, set, start + i, name);
    }
}

/* Notes the names of a set that begin in text[at..last), the bytes of a block. They may end behind it, but within the passage. */
ST_INLINE void st_find_in_set(const st_job *job, const st_name_set *set, uint64_t at, uint64_t last)
{
    uint32_t node = 0;
    while (node || at < last) {
        const int ends = at == job->size || (at >= last && !(at & 63) && st_passage_begins(job, at >> 6));
        const uint8_t byte = ends ? 0 : job->text[at];
        const uint32_t child = ends  ? 0
                               : node ? st_special_step(set->nodes, &set->edges, node, byte)
                                      : set->first[byte];
        if (child || !node) {
            node = child;
            at++;
            continue;
        }
        st_note_starts(job, set, node, at, last);
        node = set->nodes[node].fail;
        if (at - set->depth[node] >= last)
            return;
    }
}

ST_INLINE void st_find_names(const st_job *job, uint64_t block)
{
    const uint64_t last = 64 * block + st_fill(job, block);
    uint64_t at = 64 * block;
    if (job->marks && job->marks[block] == ST_MARK_ID)
        return;
    for (; at < last; at++) {
        const unsigned byte = job->text[at];
        if (job->name_firsts[byte >> 6] >> (byte & 63) & 1)
            break;
    }
    for (uint64_t i = 0; i < job->name_count && at < last; i++)
        st_find_in_set(job, job->names + i, at, last);
}
