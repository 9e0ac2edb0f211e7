/* form.cu - whether a text is in its normal form already, by the rule and the tables of the CPU (normal/chars.h). A thread a block.
 *
 * A character is sure to stay if it does so behind the character in front, where all in front stays (st_char_fits). So the borders of
 * blocks are no cuts: a thread looks at the character in front of its block, within the passage. Where no thread has a doubt, each
 * character stays because all in front of it do, and the text is normal. A part of such a text is normal, too. Elsewhere the blocks
 * with doubts are noted: in front of a character that no form touches the text falls into parts that are normalized by themselves, so
 * the host normalizes what lies between two such characters around a noted block, and no more (streamtok/gpu/_repair.py). In a form of
 * characters each stays or changes by itself, as a bit set says. */
#ifndef ST_CUDA_FORM_CU
#define ST_CUDA_FORM_CU

#include "cuda/grid.h"
#include "cuda/job.h"
#include "cuda/planes.h"

#define ST_NORMAL_NUMBERS
#include "normal/chars.h"

/* ASCII characters of a block, as 16 numbers, that the form changes. */
ST_INLINE uint64_t st_low_suspects(const st_job *job, const uint32_t *words)
{
    uint64_t found = 0;
#pragma unroll
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t byte = words[i / 4] >> 8 * (i & 3) & 0xFF;
        found |= (uint64_t)(byte < 0x80 && job->low_changes[byte >> 6 & 1] >> (byte & 63) & 1) << i;
    }
    return found;
}

/* Bytes of a block with which a character begins that the form may change, by the first byte alone. The loads do not wait for each
 * other, as in st_name_firsts. */
ST_INLINE uint64_t st_form_suspects(const st_job *job, const uint8_t *bytes)
{
    const uint64_t firsts = job->form_firsts;
    uint32_t words[16], high = 0;
    uint64_t found = 0;
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        const uint4 some = ((const uint4 *)bytes)[k];
        words[4 * k] = some.x, words[4 * k + 1] = some.y, words[4 * k + 2] = some.z, words[4 * k + 3] = some.w;
    }
#pragma unroll
    for (unsigned k = 0; k < 16; k++)
        high |= words[k];
    if (job->low_changes[0] | job->low_changes[1])
        found = st_low_suspects(job, words);
    if (!(high & 0x80808080u))
        return found;
#pragma unroll
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t byte = words[i / 4] >> 8 * (i & 3) & 0xFF;
        found |= (uint64_t)(byte >= 0xC0 && firsts >> (byte & 63) & 1) << i;
    }
    return found;
}

/* The character in front of a byte of a block; ST_NO_CHAR where the passage begins, or the text is not UTF-8. */
ST_INLINE uint32_t st_char_before(const st_job *job, uint64_t block, unsigned at)
{
    const uint8_t *end = job->text + 64 * block + at;
    const unsigned most = st_passage_begins(job, block) && at < 4 ? at : 4;
    unsigned size = 1, read;
    if (!most)
        return ST_NO_CHAR;
    while (size < most && st_utf8_is_continuation(*(end - size)))
        size++;
    if (st_utf8_size(*(end - size)) != size)
        return ST_NO_CHAR;
    const uint32_t point = st_utf8_decode(end - size, &read);
    return point < 0x110000 ? point : ST_NO_CHAR;
}

/* Is the character that begins with a byte of a block sure to stay? */
ST_INLINE int st_stays(const st_job *job, uint64_t block, const uint8_t *bytes, unsigned at)
{
    unsigned size;
    if (job->form == ST_FORM_OF_CHARACTERS) {
        const uint32_t character = st_utf8_decode(bytes + at, &size);
        if (character < 0x80)
            return 0;
        return character >= 0x110000 || !(job->changes[character >> 6] >> (character & 63) & 1);
    }
    const st_form form = (st_form)(job->form - 1);
    const uint8_t *filter = st_normal_filters + 128 * (unsigned)form;
    if (!(filter[bytes[at] & 63] & filter[64 + (bytes[at + 1] & 63)]))
        return 1;
    const uint32_t point = st_utf8_decode(bytes + at, &size);
    if (point >= 0x110000) /* not UTF-8, as the check will find */
        return 1;
    if (!st_normal_in(point, form) && !st_normal_in(point, ST_MASK_MARKS))
        return 1;
    return st_char_fits(form, point, st_char_before(job, block, at));
}

ST_INLINE void st_check_form(const st_job *job, uint64_t block)
{
    st_copy copy;
    if (job->marks && job->marks[block] == ST_MARK_ID)
        return;
    const uint8_t *bytes = st_block_bytes(job, block, &copy);
    for (uint64_t suspects = st_form_suspects(job, bytes); suspects; suspects &= suspects - 1) {
        if (st_stays(job, block, bytes, st_first_bit(suspects)))
            continue;
        const uint32_t number = atomicAdd(&job->counts->doubts, 1u);
        atomicOr(&job->counts->flags, ST_FLAG_FORM);
        if (number < job->doubts_capacity)
            job->doubts[number] = block;
        return;
    }
}

#ifndef ST_SHORT_TEXTS

ST_KERNEL st_kernel_form(const __grid_constant__ st_job job)
{
    for (uint64_t i = ST_THREAD; i < job.blocks; i += ST_THREADS)
        st_check_form(&job, i);
}

/* What was found in a text, for the host, where nothing else is done with it. */
ST_KERNEL st_kernel_tell(const __grid_constant__ st_job job)
{
    if (ST_THREAD == 0)
        *job.report = *job.counts;
}

#endif
#endif
