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
    if (!((high & 0x80808080u) || owed))
        return 1;
    /* The block behind a full one looks for what its last character needs, unless another passage begins there. */
    const int is_cut = st_passage_ends(job, block) && st_fill(job, block) == 64 && st_owed(bytes + 64);
    return !is_cut && !st_bad_bytes(bytes, before, owed);
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
    if (number < job->found_capacity)
        job->found[number] = at << 16 | (set->before + name - 1);
}

/* Notes the longest name at each of the starts that the node at `at` gives up (special/special_tokens.h), if the start is in front of
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

/* Notes the names of a set that begin among the bytes of a block in front of `last`, and there only where `firsts` has a bit. They may end
 * behind the block, but within the passage. */
ST_INLINE void st_find_in_set(const st_job *job, const st_name_set *set, uint64_t block, uint64_t last, uint64_t firsts)
{
    uint64_t at = 64 * block;
    uint32_t node = 0;
    while (node || at < last) {
        if (!node) {
            const uint64_t left = firsts >> (at & 63);
            if (!left)
                return;
            at += st_first_bit(left);
        }
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

/* Which of the first `fill` bytes of a block begin a name, maybe. All are loaded at once: a loop that stops at the first one would wait for
 * each byte, 20 us in a short text. */
ST_INLINE uint64_t st_name_firsts(const st_job *job, const uint8_t *bytes, unsigned fill)
{
    const uint32_t *sets = (const uint32_t *)job->name_firsts;
    uint64_t found = 0;
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        uint4 some = {0, 0, 0, 0};
        if (16 * k < fill)
            some = ((const uint4 *)bytes)[k];
        const uint32_t words[4] = {some.x, some.y, some.z, some.w};
#pragma unroll
        for (unsigned i = 0; i < 16; i++) {
            const uint32_t byte = words[i / 4] >> 8 * (i & 3) & 0xFF;
            found |= (uint64_t)(sets[byte >> 5] >> (byte & 31) & 1) << (16 * k + i);
        }
    }
    return fill < 64 ? found & (((uint64_t)1 << fill) - 1) : found;
}

ST_INLINE void st_find_names(const st_job *job, uint64_t block)
{
    if (job->marks && job->marks[block] == ST_MARK_ID)
        return;
    const unsigned fill = st_fill(job, block);
    const uint64_t firsts = st_name_firsts(job, job->text + 64 * block, fill);
    for (uint64_t i = 0; firsts && i < job->name_count; i++)
        st_find_in_set(job, job->names + i, block, 64 * block + fill, firsts);
}
