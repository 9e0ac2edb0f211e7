/* lookup.cu - atoms to tokens, a warp a stretch: one look into the first table (tables.cu) for each.
 *
 * What is not in its place there is deferred: it gets as many slots as it has bytes, holes for now, and a record of it goes to
 * a list, for again.cu. Slots never run ahead of the text: the slots of a stretch begin where its first atom starts, so what a stretch's
 * last atom needs beyond its end is free. */
#include "queue.h"
#include "tables.cu"

typedef struct st_lookup_memory {
    uint4 text[ST_STRETCH / 16 + 2];
    uint64_t queues[2][ST_QUEUE]; /* of atoms that fit a key, and of longer ones */
    uint16_t starts[ST_STRETCH + 2];
} st_lookup_memory;

/* A warp's way through its stretches. */
typedef struct st_lookup {
    const st_job *job;
    st_lookup_memory *memory;
    unsigned lane;
    uint32_t queued[2];
} st_lookup;

/* ---- what is read before the first probe ---- */

/* The text of the stretch, and 32 bytes behind it; ST_PAD where there is none. */
ST_INLINE void st_load_stretch(const st_lookup *l, uint64_t stretch)
{
    const uint64_t size = l->job->size, first = stretch * ST_STRETCH;
    for (unsigned i = l->lane; i < ST_STRETCH / 16 + 2; i += 32) {
        const uint64_t at = first + 16 * i;
        const uint8_t *text = l->job->text + at;
        uint4 bytes = {0, 0, 0, 0};
        if (at + 16 <= size) {
            bytes = *(const uint4 *)text;
        } else {
            uint32_t words[4];
            for (unsigned k = 0; k < 4; k++) {
                words[k] = 0;
                for (unsigned byte = 0; byte < 4; byte++)
                    words[k] |= (at + 4 * k + byte < size ? text[4 * k + byte] : (uint32_t)ST_PAD) << 8 * byte;
            }
            bytes.x = words[0], bytes.y = words[1], bytes.z = words[2], bytes.w = words[3];
        }
        l->memory->text[i] = bytes;
    }
}

/* 32 bits of the atoms' starts. */
ST_INLINE uint32_t st_start_bits(const st_job *job, uint64_t word)
{
    return word < 2 * job->blocks ? ((const uint32_t *)job->atoms)[word] : 0;
}

/* Where the stretch's last atom ends, from the stretch's start on: with the next one, or the text; ST_STRETCH + 2048 if that
 * is more than 1,024 bytes beyond the stretch. */
ST_INLINE unsigned st_next_start(const st_lookup *l, uint64_t stretch)
{
    const uint64_t left = l->job->size - stretch * ST_STRETCH;
    if (left <= ST_STRETCH)
        return (unsigned)left;
    const uint32_t bits = st_start_bits(l->job, (stretch + 1) * ST_STRETCH_WORDS + l->lane);
    const uint32_t some = __ballot_sync(0xFFFFFFFFu, bits != 0);
    const unsigned from = some ? __ffs((int)some) - 1 : 0;
    const uint32_t first = __shfl_sync(0xFFFFFFFFu, bits, (int)from);
    const unsigned end = some ? ST_STRETCH + 32 * from + __ffs((int)first) - 1 : ST_STRETCH + 2048;
    return left < end ? (unsigned)left : end;
}

/* Lists the starts of the stretch's atoms and the end of the last one; returns how many atoms. */
ST_INLINE unsigned st_list_starts(const st_lookup *l, uint64_t stretch)
{
    const uint64_t word = stretch * ST_STRETCH_WORDS + l->lane;
    uint32_t bits = l->lane < ST_STRETCH_WORDS ? st_start_bits(l->job, word) : 0, total;
    uint32_t at = st_prefix((uint32_t)__popc(bits), l->lane, &total);
    for (; bits; bits &= bits - 1)
        l->memory->starts[at++] = (uint16_t)(32 * l->lane + __ffs((int)bits) - 1);
    const unsigned end = st_next_start(l, stretch);
    if (l->lane == 0)
        l->memory->starts[total] = (uint16_t)end;
    return total;
}

/* ---- one atom ---- */

/* All ones in the bytes of the n that are in word number k. */
ST_FORCE_INLINE uint32_t st_keep_bytes(unsigned n, int k)
{
    return ~__funnelshift_lc(0, 0xFFFFFFFFu, (unsigned)max(8 * (int)n - 32 * k, 0)); /* a shift by 32 or more leaves nothing */
}

/* The n bytes at `at` of the stretch, n at most ST_FIRST_BYTES, as the first table has them: the place and the key, to
 * which the length is still to be added. */
ST_FORCE_INLINE uint4 st_first_key(const st_lookup *l, unsigned at, unsigned n)
{
    const uint32_t *words = (const uint32_t *)l->memory->text + at / 4;
    const unsigned shift = 8 * (at & 3);
    const uint32_t w1 = words[1], w2 = words[2];
    uint4 key;
    key.x = __funnelshift_r(words[0], w1, shift) & st_keep_bytes(n, 0);
    key.y = __funnelshift_r(w1, w2, shift) & st_keep_bytes(n, 1);
    key.z = __funnelshift_r(w2, words[3], shift) & st_keep_bytes(n, 2);
    key.w = n;
    return key;
}

/* ---- deferred atoms ---- */

ST_FORCE_INLINE st_list st_deferred(const st_job *job, unsigned which)
{
    const st_list list = {job->deferred + (which ? job->deferred_rooms[0] : 0), &job->counts->deferred[which], job->deferred_rooms[which]};
    return list;
}

/* Queues the records of this round's deferred atoms of one kind. */
ST_FORCE_INLINE void st_defer(st_lookup *l, unsigned which, int deferred, uint64_t record)
{
    l->queued[which] = st_push(l->job, st_deferred(l->job, which), l->lane, l->memory->queues[which], l->queued[which], deferred,
                               record);
}

/* A piece that no kernel merges: the host is told, and one token stands in its place. */
ST_INLINE void st_leave_huge(const st_job *job, uint64_t at, uint32_t *slot)
{
    const uint32_t number = atomicAdd(&job->counts->huge, 1u);
    *slot = ST_HUGE | number;
    if (number < job->huge_room)
        job->huge_starts[number] = at;
    else
        atomicOr(&job->counts->flags, ST_FLAG_LISTS);
}

/* ---- a stretch ---- */

ST_INLINE void st_put_ids(uint32_t *slots, const st_piece_entry *entry, unsigned count)
{
    const uint4 ids = *(const uint4 *)entry->ids;
    slots[0] = ids.x;
    slots[1] = ids.y;
    if (count > 2)
        slots[2] = ids.z;
    if (count > 3)
        slots[3] = ids.w;
}

#define ST_FEW_OTHERS 4 /* so many, one by one, take less time than a sum over all lanes */

/* What an atom became. */
typedef enum st_fate { ST_NOT_THERE, ST_ONE_ID, ST_SOME_IDS, ST_LATER, ST_BY_HOST, ST_NO_TEXT } st_fate;

/* Continuation bytes in a word. */
ST_FORCE_INLINE unsigned st_tail_bytes(uint32_t word)
{
    return (unsigned)__popc(word & ~(word << 1) & 0x80808080u);
}

/* The atom of n bytes at `at` of the stretch: its fate; its id or entry, or, of one deferred, its characters << 1 | whether
 * the image's tables may hold it; and the slots that it takes. */
ST_FORCE_INLINE st_fate st_look_first(const st_lookup *l, unsigned at, unsigned n, uint32_t *found, unsigned *width)
{
    const unsigned byte = ((const uint8_t *)l->memory->text)[at];
    *width = n;
    if (byte >= ST_PAD) {
        const uint4 key = st_first_key(l, at, 5);
        *found = key.x >> 8 | key.y << 24;
        *width = byte == ST_ID;
        return byte == ST_ID ? ST_ONE_ID : ST_NO_TEXT;
    }
    if (n > ST_FIRST_BYTES) {
        *width = n <= ST_LONGEST ? n : 1;
        *found = 0 << 1 | 1;
        return n <= ST_LONGEST ? ST_LATER : ST_BY_HOST;
    }
    const uint4 key = st_first_key(l, at, n);
    const uint4 entry = l->job->first[st_first_hash(key.x, key.y, key.z) >> l->job->first_shift];
    if ((entry.x ^ key.x) | (entry.y ^ key.y) | (entry.z ^ key.z) | ((entry.w >> 21 & 15) ^ n)) {
        const unsigned characters = n - st_tail_bytes(key.x) - st_tail_bytes(key.y) - st_tail_bytes(key.z);
        *found = characters << 1 | entry.w >> ST_FIRST_CROWDED;
        return ST_LATER;
    }
    *found = entry.w & ST_FIRST_ID;
    *width = entry.w >> 25 & 7;
    return *width == 1 ? ST_ONE_ID : ST_SOME_IDS;
}

/* Slots before this lane's, in which `width` are taken, and all that the lanes take. Nearly all take one. */
ST_FORCE_INLINE uint32_t st_slots_before(unsigned lane, unsigned width, uint32_t *total)
{
    uint32_t others = __ballot_sync(0xFFFFFFFFu, width != 1), before = lane;
    if (__popc(others) > ST_FEW_OTHERS)
        return st_prefix(width, lane, total);
    *total = 32;
    for (; others; others &= others - 1) {
        const int other = __ffs((int)others) - 1;
        const uint32_t more = __shfl_sync(0xFFFFFFFFu, width, other) - 1;
        before += lane > (unsigned)other ? more : 0;
        *total += more;
    }
    return before;
}

/* The atoms number i of each lane, of `total`: `used` slots before them are taken. Returns the slots that they take, adds
 * to *tokens. */
ST_FORCE_INLINE uint32_t st_look_up(st_lookup *l, uint64_t stretch, unsigned i, unsigned total, uint32_t used, uint32_t *tokens)
{
    const st_job *job = l->job;
    const uint16_t *starts = l->memory->starts;
    const unsigned at = i < total ? starts[i] : 0, n = i < total ? starts[i + 1] - at : 0;
    unsigned width = 0;
    uint32_t found = 0, total_width;
    const st_fate fate = n ? st_look_first(l, at, n, &found, &width) : ST_NOT_THERE;
    const uint32_t before = st_slots_before(l->lane, width, &total_width);
    const uint32_t base = (uint32_t)(stretch - job->first_stretch) * ST_STRETCH, slot = base + used + before;
    if (__any_sync(0xFFFFFFFFu, fate == ST_LATER)) {
#pragma unroll 1
        for (uint32_t k = l->lane; k < total_width; k += 32) /* a row at a time, where whoever has an atom would write one by one */
            job->slots[base + used + k] = ST_HOLE;
        __syncwarp();
    }
    if (fate == ST_ONE_ID)
        job->slots[slot] = found;
    else if (fate == ST_SOME_IDS)
        st_put_ids(job->slots + slot, &job->entries[found], width);
    else if (fate == ST_BY_HOST)
        st_leave_huge(job, stretch * ST_STRETCH + at, job->slots + slot);
    *tokens += fate == ST_LATER ? 0 : width;
    if (job->marks && n && !(at & 63) && st_part_begins(job, stretch * ST_STRETCH_BLOCKS + at / 64))
        job->row_slots[(base + at) / 64] = slot;
    const uint64_t record = ST_RECORD(slot, base + at - slot, n, found >> 1, found & 1);
    st_defer(l, 0, fate == ST_LATER && n <= ST_KEY_BYTES, record);
    if (__any_sync(0xFFFFFFFFu, n > ST_KEY_BYTES))
        st_defer(l, 1, fate == ST_LATER && n > ST_KEY_BYTES, record);
    return total_width;
}

ST_INLINE void st_look_up_stretch(st_lookup *l, uint64_t stretch)
{
    const st_job *job = l->job;
    uint32_t tokens = 0, sum;
    __syncwarp(); /* the memory is free again */
    st_load_stretch(l, stretch);
    const unsigned total = st_list_starts(l, stretch);
    __syncwarp();
    const uint32_t first = total ? l->memory->starts[0] : 0;
    uint32_t used = first;
    for (unsigned i = 0; i < total; i += 32)
        used += st_look_up(l, stretch, i + l->lane, total, used, &tokens);
    st_prefix(tokens, l->lane, &sum);
    if (l->lane == 0) {
        job->spans[stretch - job->first_stretch] = first << 16 | (used - first);
        job->tokens[stretch - job->first_stretch] = sum;
    }
}

/* The stretches of warp number `warp` of `warps`. */
ST_INLINE void st_look_up_all(const st_job *job, st_lookup_memory *memory, unsigned lane, uint64_t warp, uint64_t warps)
{
    st_lookup l = {job, memory, lane, {0, 0}};
    for (uint64_t i = warp; i < job->stretches; i += warps) {
        const uint64_t next = (job->first_stretch + i + warps) * ST_STRETCH + 32 * lane;
        if (next < job->size)
            st_send_for(job->text + next);
        st_look_up_stretch(&l, job->first_stretch + i);
    }
    for (unsigned which = 0; which < 2; which++)
        st_flush(job, st_deferred(job, which), lane, memory->queues[which], l.queued[which]);
}
