/* cuts.cu - exact cuts of long pieces (cut_tables.h), a thread a block: a cut is one more start, and atoms are looked up
 * and merged like pieces. That is right because no token spans a cut, and where merging gives back every token: a job
 * for another vocabulary has no cut tables. Only pieces that the piece table cannot hold are cut. */
#include "job.h"

/* High bits of the bytes of a word, as four bits. */
ST_FORCE_INLINE uint32_t st_high_bits(uint32_t word)
{
    return ((word >> 7 & 0x01010101u) * 0x10204080u) >> 28;
}

/* The bytes of the block in pieces longer than a key, by the starts of the blocks before, here and behind. */
ST_INLINE uint64_t st_in_long_pieces(uint64_t before, uint64_t here, uint64_t behind)
{
    int begin = before ? (int)st_last_bit(before) - 64 : -64;
    uint64_t inside = 0;
    for (uint64_t starts = here;; starts &= starts - 1) {
        const int end = starts ? (int)st_first_bit(starts) : behind ? 64 + (int)st_first_bit(behind) : 128;
        if (end - begin > ST_KEY_BYTES) {
            const uint64_t upto = end < 64 ? ((uint64_t)1 << end) - 1 : ~(uint64_t)0;
            inside |= begin < 0 ? upto : upto & ~(((uint64_t)1 << begin) - 1);
        }
        if (!starts)
            return inside;
        begin = end;
    }
}

ST_INLINE int st_is_cut(const st_cut_tables *tables, const uint8_t *text, size_t border)
{
    const size_t left = st_utf8_size_before(text, border), right = st_utf8_size(text[border]);
    if (st_cut_is_pair(tables, st_char_bits(text + border - left, left), st_char_bits(text + border, right)))
        return 0;
    const unsigned shapes = st_cut_shapes(tables, text, border);
    return !shapes || !st_cut_is_partial(tables, shapes, text, border - left, border, border + right);
}

ST_INLINE void st_cut_block(const st_job *job, uint64_t block)
{
    const uint64_t starts = job->starts[block];
    const uint4 *bytes = (const uint4 *)(job->text + 64 * block);
    const unsigned fill = st_fill(job, block);
    uint64_t high = 0, cuts = 0;
    job->atoms[block] = starts;
    if (!job->cuts || (fill < 64 && block + 1 == job->blocks && !job->marks)) /* the last bytes may not be readable */
        return;
    for (int i = 0; i < 4; i++) {
        const uint4 w = bytes[i];
        if (!((w.x | w.y | w.z | w.w) & 0x80808080u))
            continue;
        const uint32_t sixteen = st_high_bits(w.x) | st_high_bits(w.y) << 4 | st_high_bits(w.z) << 8 | st_high_bits(w.w) << 12;
        high |= (uint64_t)sixteen << 16 * i;
    }
    if (!high || job->marks && job->marks[block] == ST_MARK_ID)
        return;
    const uint64_t filled = fill < 64 ? ((uint64_t)1 << fill) - 1 : ~(uint64_t)0;
    const uint64_t inside = st_in_long_pieces(st_part_begins(job, block) ? 1 : job->starts[block - 1], starts,
                                              st_part_ends(job, block) ? 1 : job->starts[block + 1]);
    uint64_t borders = inside & filled & ~starts & (high | high << 1 | 1);
    if (st_part_begins(job, block))
        borders &= ~(uint64_t)1;
    for (; borders; borders &= borders - 1) {
        const uint64_t at = 64 * block + st_first_bit(borders);
        const uint8_t *text = job->text + at - 8; /* no cut is the first byte of a part, nor in its first character */
        if (st_utf8_is_continuation(text[8]) || !((text[7] | text[8]) & 0x80))
            continue;
        if (st_is_cut(job->cuts, text, 8))
            cuts |= (uint64_t)1 << (at & 63);
    }
    job->atoms[block] = starts | cuts;
}
