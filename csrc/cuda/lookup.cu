/* lookup.cu - atoms to tokens, a warp a stretch: one probe of the piece table for each.
 *
 * What the table does not hold is deferred: it gets as many slots as it has bytes, and its place goes to the list of its
 * length, so that merge.cu finds dense work. Slots never run ahead of the text: the slots of a stretch begin where its first
 * atom starts, so what a stretch's last atom needs beyond its end is free.
 *
 * A deferred atom's first slot holds, until it is merged, the distance from the slot to the atom's first byte << 10 | its
 * bytes. */
#include "job.h"

#define ST_QUEUE 64 /* deferred atoms of a class that a warp gathers before it takes room in the list for 32 of them */

typedef struct st_lookup_memory {
    uint4 text[ST_STRETCH / 16 + 2];
    uint32_t queue[ST_CLASSES][ST_QUEUE];
    uint16_t starts[ST_STRETCH + 2];
} st_lookup_memory;

/* A warp's way through its stretches. */
typedef struct st_lookup {
    const st_job *job;
    st_lookup_memory *memory;
    unsigned lane;
    uint32_t queued[ST_CLASSES];
} st_lookup;

ST_FORCE_INLINE unsigned st_class_of(unsigned n)
{
    return (n > 8) + (n > 16) + (n > 32) + (n > 64);
}

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

/* 32 bits of the atoms' starts; the text's end counts as one. */
ST_INLINE uint32_t st_start_bits(const st_job *job, uint64_t word)
{
    if (word < 2 * job->blocks)
        return ((const uint32_t *)job->atoms)[word];
    return word == 2 * job->blocks;
}

/* Where the stretch's last atom ends, from the stretch's start on; ST_STRETCH + 2048 if that is beyond 1,024 bytes. */
ST_INLINE unsigned st_next_start(const st_lookup *l, uint64_t stretch)
{
    const uint32_t bits = st_start_bits(l->job, (stretch + 1) * 32 + l->lane);
    const uint32_t some = __ballot_sync(0xFFFFFFFFu, bits != 0);
    const unsigned from = some ? __ffs((int)some) - 1 : 0;
    const uint32_t first = __shfl_sync(0xFFFFFFFFu, bits, (int)from);
    return some ? ST_STRETCH + 32 * from + __ffs((int)first) - 1 : ST_STRETCH + 2048;
}

ST_FORCE_INLINE uint32_t st_prefix(uint32_t value, unsigned lane, uint32_t *total)
{
    uint32_t sum = value;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(0xFFFFFFFFu, sum, (unsigned)step);
        sum += lane >= (unsigned)step ? other : 0;
    }
    *total = __shfl_sync(0xFFFFFFFFu, sum, 31);
    return sum - value;
}

/* Lists the starts of the stretch's atoms and the end of the last one; returns how many atoms. */
ST_INLINE unsigned st_list_starts(const st_lookup *l, uint64_t stretch)
{
    uint32_t bits = stretch * 32 + l->lane < 2 * l->job->blocks ? st_start_bits(l->job, stretch * 32 + l->lane) : 0, total;
    uint32_t at = st_prefix((uint32_t)__popc(bits), l->lane, &total);
    for (; bits; bits &= bits - 1)
        l->memory->starts[at++] = (uint16_t)(32 * l->lane + __ffs((int)bits) - 1);
    const unsigned end = st_next_start(l, stretch);
    if (l->lane == 0)
        l->memory->starts[total] = (uint16_t)end;
    return total;
}

/* ---- one atom ---- */

/* The key of the n bytes at `at` of the stretch, n at most ST_KEY_BYTES. */
ST_FORCE_INLINE st_key st_key_at(const st_lookup *l, unsigned at, unsigned n)
{
    const uint32_t *words = (const uint32_t *)l->memory->text + at / 4;
    const unsigned shift = 8 * (at & 3);
    const uint32_t w1 = words[1], w2 = words[2], w3 = words[3];
    const uint64_t low = __funnelshift_r(words[0], w1, shift) | (uint64_t)__funnelshift_r(w1, w2, shift) << 32;
    const uint64_t high = __funnelshift_r(w2, w3, shift) | (uint64_t)__funnelshift_r(w3, words[4], shift) << 32;
    st_key key;
    key.low = n < 8 ? low & (((uint64_t)1 << 8 * n) - 1) : low;
    key.high = (n > 8 ? high & (((uint64_t)1 << 8 * (n - 8)) - 1) : 0) | (uint64_t)n << 56;
    return key;
}

/* The entry of the key, or NULL; what it holds goes to *found. */
ST_FORCE_INLINE const st_piece_entry *st_probe(const st_job *job, st_key key, st_key *found)
{
    for (uint64_t line = st_hash_key(key) >> job->piece_shift;; line = (line + 1) & job->piece_mask) {
        const st_piece_entry *entry = &job->entries[2 * line];
        const ulonglong2 first = *(const ulonglong2 *)&entry->key;
        if (!((first.x ^ key.low) | (first.y ^ key.high) << 4)) {
            found->high = first.y;
            return entry;
        }
        const ulonglong2 second = *(const ulonglong2 *)&entry[1].key;
        if (!((second.x ^ key.low) | (second.y ^ key.high) << 4)) {
            found->high = second.y;
            return entry + 1;
        }
        if (!(first.y >> 63))
            return 0;
    }
}

/* ---- deferred atoms ---- */

/* Moves 32 queued atoms of a class to its list, or as many as there are. */
ST_FORCE_INLINE void st_flush(st_lookup *l, unsigned kind)
{
    const st_job *job = l->job;
    const uint32_t count = l->queued[kind] < 32 ? l->queued[kind] : 32, left = l->queued[kind] - count;
    const uint64_t room = job->list_starts[kind + 1] - job->list_starts[kind];
    uint32_t at = 0;
    if (l->lane == 0 && count)
        at = atomicAdd(&job->counts->lists[kind], count);
    at = __shfl_sync(0xFFFFFFFFu, at, 0);
    if (l->lane < count && at + l->lane < room)
        job->lists[job->list_starts[kind] + at + l->lane] = l->memory->queue[kind][left + l->lane];
    if (l->lane == 0 && at + count > room)
        atomicOr(&job->counts->flags, ST_FLAG_LISTS);
    l->queued[kind] = left;
    __syncwarp();
}

/* Queues the slots of this round's deferred atoms. */
ST_FORCE_INLINE void st_defer(st_lookup *l, int deferred, unsigned n, uint32_t slot)
{
    const unsigned kind = deferred ? st_class_of(n) : ST_CLASSES;
#pragma unroll /* so that the counts stay in registers */
    for (unsigned c = 0; c < ST_CLASSES; c++) {
        const uint32_t those = __ballot_sync(0xFFFFFFFFu, kind == c);
        if (!those)
            continue;
        if (kind == c)
            l->memory->queue[c][l->queued[c] + __popc(those & ((1u << l->lane) - 1))] = slot;
        __syncwarp();
        l->queued[c] += (uint32_t)__popc(those);
        if (l->queued[c] >= 32)
            st_flush(l, c);
    }
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
    if (count > 1)
        slots[1] = ids.y;
    if (count > 2)
        slots[2] = ids.z;
    if (count > 3)
        slots[3] = ids.w;
}

/* The atoms number i of each lane, of `total`: `used` slots before them are taken. Returns the slots that they take, adds
 * to *tokens. */
ST_FORCE_INLINE uint32_t st_look_up(st_lookup *l, uint64_t stretch, unsigned i, unsigned total, uint32_t first,
                                    uint32_t used, uint32_t *tokens)
{
    const st_job *job = l->job;
    const uint16_t *starts = l->memory->starts;
    const unsigned at = i < total ? starts[i] : 0, n = i < total ? starts[i + 1] - at : 0;
    const st_piece_entry *entry = 0;
    const unsigned short_one = n <= ST_KEY_BYTES;
    st_key key = {0, 0}, found = {0, 0};
    unsigned width = n;
    uint32_t literal = ST_HOLE;
    if (n && short_one) {
        key = st_key_at(l, at, n);
        if ((key.low & 0xFF) >= ST_PAD) { /* no text */
            width = (key.low & 0xFF) == ST_ID;
            literal = (uint32_t)(key.low >> 8);
        } else {
            entry = st_probe(job, key, &found);
        }
    } else if (n && ((const uint8_t *)l->memory->text)[at] == ST_PAD) {
        width = 0;
        literal = 0;
    }
    unsigned count = (unsigned)(found.high >> 60) & 7;
    if (count > ST_INLINE_IDS)
        entry = 0; /* merged anew: seldom */
    if (entry)
        width = count;
    else if (n > ST_LONGEST && literal == ST_HOLE)
        width = 1;
    uint32_t total_width, before = l->lane;
    if (__all_sync(0xFFFFFFFFu, width == 1))
        total_width = 32;
    else
        before = st_prefix(width, l->lane, &total_width);
    const uint64_t base = (stretch - job->first_stretch) * ST_STRETCH;
    const uint32_t slot = (uint32_t)base + first + used + before, distance = at - (first + used + before);
    const int deferred = n && !entry && literal == ST_HOLE && n <= ST_LONGEST;
    if (entry) {
        st_put_ids(job->slots + slot, entry, count);
        *tokens += count;
    } else if (literal != ST_HOLE) {
        if (width) {
            job->slots[slot] = literal;
            *tokens += 1;
        }
    } else if (deferred) {
        job->slots[slot] = distance << 10 | n;
    } else if (n) {
        st_leave_huge(job, stretch * ST_STRETCH + at, job->slots + slot);
        *tokens += 1;
    }
    if (job->marks && n && !(at & 63) && st_part_begins(job, stretch * ST_STRETCH_BLOCKS + at / 64))
        job->row_slots[base / 64 + at / 64] = slot;
    if (__any_sync(0xFFFFFFFFu, deferred))
        st_defer(l, deferred, n, slot);
    return total_width;
}

ST_INLINE void st_look_up_stretch(st_lookup *l, uint64_t stretch)
{
    const st_job *job = l->job;
    uint32_t used = 0, tokens = 0, sum;
    __syncwarp(); /* the memory is free again */
    st_load_stretch(l, stretch);
    const unsigned total = st_list_starts(l, stretch);
    __syncwarp();
    const uint32_t first = l->memory->starts[0];
    for (unsigned i = 0; i < total; i += 32)
        used += st_look_up(l, stretch, i + l->lane, total, first, used, &tokens);
    st_prefix(tokens, l->lane, &sum);
    if (l->lane == 0) {
        job->spans[stretch - job->first_stretch] = (total ? first : 0) << 16 | used;
        job->tokens[stretch - job->first_stretch] = sum;
    }
}

/* The stretches of warp number `warp` of `warps`. */
ST_INLINE void st_look_up_all(const st_job *job, st_lookup_memory *memory, unsigned lane, uint64_t warp, uint64_t warps)
{
    st_lookup l = {job, memory, lane, {0}};
    for (uint64_t i = warp; i < job->stretches; i += warps)
        st_look_up_stretch(&l, job->first_stretch + i);
#pragma unroll
    for (unsigned kind = 0; kind < ST_CLASSES; kind++)
        st_flush(&l, kind);
}
