/* count.cu - counts the pieces of a text whose piece starts are known, a warp a stretch. */
#include "cuda/job.h"
#include "cuda/train/pieces.cu"

typedef struct st_count_memory {
    uint4 text[ST_STRETCH / 16 + 2];
    uint16_t starts[ST_STRETCH];
} st_count_memory;

/* 32 bits of the pieces' starts; the end of the text counts as a start. */
ST_FORCE_INLINE uint32_t st_piece_bits(const st_counting *c, uint64_t word)
{
    return word < 2 * c->blocks ? ((const uint32_t *)c->starts)[word] : 1;
}

/* Lists the starts of the stretch's pieces; returns how many. */
ST_INLINE unsigned st_list_pieces(const st_counting *c, st_count_memory *m, unsigned lane, uint64_t stretch)
{
    const uint64_t word = stretch * 32 + lane;
    uint32_t bits = word < 2 * c->blocks ? st_piece_bits(c, word) : 0, total;
    uint32_t at = st_prefix((uint32_t)__popc(bits), lane, &total);
    for (; bits; bits &= bits - 1)
        m->starts[at++] = (uint16_t)(32 * lane + __ffs((int)bits) - 1);
    return total;
}

/* Where the stretch's last piece ends, in bytes of the text. */
ST_INLINE uint64_t st_last_end(const st_counting *c, unsigned lane, uint64_t stretch)
{
    for (uint64_t word = (stretch + 1) * 32;; word += 32) {
        const uint32_t bits = st_piece_bits(c, word + lane);
        const uint32_t some = __ballot_sync(0xFFFFFFFFu, bits != 0);
        if (!some)
            continue;
        const unsigned from = __ffs((int)some) - 1;
        const uint64_t end = 32 * (word + from) + __ffs((int)__shfl_sync(0xFFFFFFFFu, bits, (int)from)) - 1;
        return end < 64 * c->blocks ? end : 64 * c->blocks;
    }
}

/* The key of n bytes at byte `at` of the stretch. */
ST_FORCE_INLINE st_key st_key_in(const st_count_memory *m, unsigned at, unsigned n)
{
    const uint32_t *words = (const uint32_t *)m->text + at / 4;
    const unsigned shift = 8 * (at & 3);
    const uint64_t low = __funnelshift_r(words[0], words[1], shift) | (uint64_t)__funnelshift_r(words[1], words[2], shift) << 32;
    const uint64_t high = __funnelshift_r(words[2], words[3], shift) | (uint64_t)__funnelshift_r(words[3], words[4], shift) << 32;
    const unsigned more = n > 8 ? n - 8 : 0;
    st_key key;
    key.low = n >= 8 ? low : low & (((uint64_t)1 << 8 * n) - 1);
    key.high = (high & (((uint64_t)1 << 8 * more) - 1)) | (uint64_t)n << 56;
    return key;
}

/* Leaves a piece to the host, which counts it. */
ST_INLINE void st_leave_to_host(const st_counting *c, uint64_t start, uint64_t end)
{
    const uint64_t number = st_take64(&c->counted->huge, 1);
    if (number < c->huge_room) {
        c->huge[2 * number] = start;
        c->huge[2 * number + 1] = end;
    }
}

ST_INLINE void st_count_stretch(const st_counting *c, st_count_memory *m, unsigned lane, uint64_t stretch)
{
    const uint64_t first = stretch * ST_STRETCH;
    uint32_t pieces = 0, sum;
    __syncwarp(); /* the shared memory may be overwritten now */
    for (unsigned i = lane; i < ST_STRETCH / 16 + 2; i += 32)
        m->text[i] = ((const uint4 *)(c->text + first))[i];
    const unsigned total = st_list_pieces(c, m, lane, stretch);
    const uint64_t last_end = st_last_end(c, lane, stretch);
    __syncwarp();
    for (unsigned i = lane; i < total; i += 32) {
        const unsigned at = m->starts[i];
        const uint64_t n = i + 1 < total ? m->starts[i + 1] - at : last_end - first - at;
        if (((const uint8_t *)m->text)[at] >= ST_PAD)
            continue;
        pieces += n <= ST_TRAIN_LONGEST;
        if (n <= ST_KEY_BYTES)
            st_count_short(c, st_key_in(m, at, (unsigned)n));
        else if (n <= ST_TRAIN_LONGEST)
            st_count_long(c, c->text + first + at, (unsigned)n);
        else
            st_leave_to_host(c, first + at, first + at + n);
    }
    __syncwarp();
    st_prefix(pieces, lane, &sum);
    if (lane == 0)
        st_add64(&c->counted->pieces, sum);
}

/* Whether there is room for one more stretch besides those that are being counted. */
ST_INLINE int st_has_room(const st_counting *c)
{
    const volatile st_counted *counted = c->counted;
    return counted->shorts < c->short_limit && counted->longs < c->long_limit && counted->long_bytes < c->byte_limit;
}

/* Counts stretches until none is left or there is no room. */
ST_INLINE void st_count_all(const st_counting *c, st_count_memory *m, unsigned lane)
{
    if (*c->flags)
        return;
    for (;;) {
        uint64_t stretch = c->stretches;
        if (lane == 0 && st_has_room(c))
            stretch = st_take64(&c->counted->next, 1);
        stretch = __shfl_sync(0xFFFFFFFFu, stretch, 0);
        if (stretch >= c->stretches)
            return;
        st_count_stretch(c, m, lane, stretch);
    }
}
