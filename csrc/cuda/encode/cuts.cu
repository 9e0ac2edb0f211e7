/* cuts.cu - exact cuts of long pieces (cut/cut_rule.h), a warp a stretch. A cut is entered as one more start, so atoms
 * are looked up and merged like pieces. That needs a vocabulary in which merging gives back every token; for any other the job
 * has no cut tables. Only pieces longer than a key are cut, and with a pattern only beside characters beyond ASCII. Such borders
 * are listed first, so that all lanes have work. Without a pattern each lane also looks at the ASCII borders of its own bytes. */
#include "cuda/job.h"

#define ST_CUT_BEFORE 16 /* bytes in front of the stretch, for the character that ends there */

typedef struct st_cut_memory {
    uint4 text[(ST_CUT_BEFORE + ST_STRETCH + 16) / 16];
    uint32_t cuts[ST_STRETCH_WORDS];
    uint16_t borders[ST_STRETCH];
} st_cut_memory;

/* The highest bits of four bytes, as a number of four bits. */
ST_FORCE_INLINE uint32_t st_high_bits(uint32_t word)
{
    return ((word >> 7 & 0x01010101u) * 0x10204080u) >> 28;
}

/* Which of 32 bytes lie in pieces longer than a key, from the starts among the 32 bytes before, these, and the 32 behind. */
ST_INLINE uint32_t st_in_long_pieces(uint32_t before, uint32_t here, uint32_t behind)
{
    int begin = before ? (int)st_last_bit(before) - 32 : -32;
    uint32_t inside = 0;
    for (uint32_t starts = here;; starts &= starts - 1) {
        const int end = starts ? (int)st_first_bit(starts) : behind ? 32 + (int)st_first_bit(behind) : 64;
        if (end - begin > ST_KEY_BYTES) {
            const uint32_t upto = end < 32 ? (1u << end) - 1 : 0xFFFFFFFFu;
            inside |= begin < 0 ? upto : upto & ~((1u << begin) - 1);
        }
        if (!starts)
            return inside;
        begin = end;
    }
}

ST_INLINE int st_is_cut(const st_cut_tables *tables, const uint8_t *text, size_t border)
{
    if (text[border] >= ST_PAD || text[border - 1] >= ST_PAD)
        return 0;
    const size_t x = border - st_utf8_size_before(text, border), end = border + st_utf8_size(text[border]);
    const uint32_t left = st_char_bits(text + x, border - x), right = st_char_bits(text + border, end - border);
    return (int)st_cut_is_here(tables, left, right, text, x, border, end);
}

/* The text from ST_CUT_BEFORE bytes in front of the stretch on; ST_PAD where there is none. */
ST_INLINE void st_load_for_cuts(const st_job *job, st_cut_memory *memory, unsigned lane, uint64_t stretch)
{
    for (unsigned i = lane; i < sizeof memory->text / 16; i += 32) {
        const uint64_t at = stretch * ST_STRETCH + 16 * i; /* + ST_CUT_BEFORE */
        uint4 bytes = {0xFEFEFEFEu, 0xFEFEFEFEu, 0xFEFEFEFEu, 0xFEFEFEFEu};
        if (at >= ST_CUT_BEFORE && at - ST_CUT_BEFORE + 16 <= job->size)
            bytes = *(const uint4 *)(job->text + at - ST_CUT_BEFORE);
        else if (at >= ST_CUT_BEFORE)
            for (unsigned k = 0; k < 16; k++)
                if (at - ST_CUT_BEFORE + k < job->size)
                    ((uint8_t *)&bytes)[k] = job->text[at - ST_CUT_BEFORE + k];
        memory->text[i] = bytes;
    }
    if (lane < ST_STRETCH_WORDS)
        memory->cuts[lane] = 0;
    __syncwarp();
}

ST_FORCE_INLINE uint32_t st_starts_word(const st_job *job, uint64_t word)
{
    return word < 2 * job->blocks ? ((const uint32_t *)job->starts)[word] : 1; /* the text's end is one */
}

/* The cuts in front of 32 bytes between two ASCII characters; bits of other borders are undefined. */
ST_INLINE uint32_t st_ascii_cuts(const st_cut_tables *tables, const uint32_t *words)
{
    uint32_t left = words[-1] >> 24, cuts = 0;
#pragma unroll
    for (int i = 0; i < 32; i++) {
        const uint32_t right = words[i / 4] >> 8 * (i % 4) & 0xFF;
        cuts |= (uint32_t)!st_cut_is_ascii_pair(tables, left & 0x7F, right & 0x7F) << i;
        left = right;
    }
    return cuts;
}

/* Returns the places in this lane's 32 bytes that are to be listed: there a character begins and a cut may be. *cuts receives the
 * cuts between ASCII characters, which are not listed. */
ST_INLINE uint32_t st_cut_places(const st_job *job, const st_cut_memory *memory, unsigned lane, uint64_t word, uint32_t starts,
                                 uint32_t *cuts)
{
    const uint32_t *words = (const uint32_t *)memory->text + ST_CUT_BEFORE / 4 + 8 * lane;
    uint32_t high = 0, tail = 0;
    for (int i = 0; i < 8; i++) {
        high |= st_high_bits(words[i]) << 4 * i;
        tail |= st_high_bits(words[i] & ~(words[i] << 1)) << 4 * i;
    }
    const uint32_t before = words[-1] >> 31, beside = high | high << 1 | before;
    if (ST_FAMILY != ST_SPLIT_NONE && !(beside & ~tail & ~starts))
        return 0;
    const uint32_t inside =
        st_in_long_pieces(word ? st_starts_word(job, word - 1) : 1, starts, st_starts_word(job, word + 1)) & ~tail & ~starts;
    *cuts = ST_FAMILY == ST_SPLIT_NONE ? st_ascii_cuts(job->cuts, words) & inside & ~beside : 0;
    return inside & beside;
}

ST_INLINE void st_cut_stretch(const st_job *job, st_cut_memory *memory, unsigned lane, uint64_t stretch)
{
    const uint64_t word = stretch * ST_STRETCH_WORDS + lane, segment = word / (2 * job->segment_blocks);
    const int is_mine = lane < ST_STRETCH_WORDS && word < 2 * job->blocks;
    const uint32_t starts = is_mine ? st_starts_word(job, word) : 0;
    const int high = is_mine && job->cuts && (ST_FAMILY == ST_SPLIT_NONE || job->high[segment]);
    uint32_t places = 0, cuts = 0, total;
    if (__any_sync(0xFFFFFFFFu, high)) {
        st_load_for_cuts(job, memory, lane, stretch);
        places = is_mine ? st_cut_places(job, memory, lane, word, starts, &cuts) : 0;
        uint32_t at = st_prefix((uint32_t)__popc(places), lane, &total);
        for (; places; places &= places - 1)
            memory->borders[at++] = (uint16_t)(32 * lane + __ffs((int)places) - 1);
        __syncwarp();
        for (uint32_t i = lane; i < total; i += 32) {
            const uint32_t border = memory->borders[i];
            if (st_is_cut(job->cuts, (const uint8_t *)memory->text, ST_CUT_BEFORE + border))
                atomicOr(&memory->cuts[border / 32], 1u << (border & 31));
        }
        __syncwarp();
        cuts |= is_mine ? memory->cuts[lane] : 0;
        __syncwarp();
    }
    if (is_mine)
        ((uint32_t *)job->atoms)[word] = starts | cuts;
}
