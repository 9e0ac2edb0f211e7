/* lookup.cu - atoms to tokens, a warp a stretch: one look into the first table (tables.cu) for each.
 *
 * An atom that is not found there is deferred: it gets as many slots as it has bytes, filled with holes for now, and a record of it
 * is appended to a list, for second_look.cu. Slots never run ahead of the text: the slots of a stretch begin where its first atom
 * starts, so the slots that its last atom needs behind the end of the stretch are free. */
#include "cuda/encode/queue.h"
#include "cuda/encode/learned.cu"
#include "cuda/split_words.cu"

#define ST_BATCH 256         /* atoms looked up before the first id is written: an English stretch has 230 */
#define ST_NOT_ONE UINT32_MAX

#define ST_BEHIND 64 /* bytes of text behind the stretch that are read: most words learned that begin in it end there */

typedef struct st_lookup_memory {
    uint4 text[(ST_STRETCH + ST_BEHIND) / 16];
    uint64_t queue[ST_QUEUE]; /* records of deferred atoms that fit a key */
    uint16_t starts[ST_STRETCH + 2];
    uint32_t others[ST_BATCH + 1]; /* atoms without exactly one id; then the slots in excess of atoms in front of each */
} st_lookup_memory;

/* A warp's way through its stretches. */
typedef struct st_lookup {
    const st_job *job;
    st_lookup_memory *memory;
    unsigned lane;
    uint32_t queued;
} st_lookup;

/* ---- what is read before the first probe ---- */

/* The text of the stretch, and behind it; ST_PAD where there is none. */
ST_INLINE void st_load_stretch(const st_lookup *l, uint64_t stretch)
{
    const uint64_t size = l->job->size, first = stretch * ST_STRETCH;
    for (unsigned i = l->lane; i < (ST_STRETCH + ST_BEHIND) / 16; i += 32) {
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

/* Where the stretch's last atom ends, counted from the start of the stretch. ST_STRETCH + 2048 if that is more than 1,024 bytes
 * behind the stretch. */
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

/* A mask of those of the first n bytes that lie in uint32 number k. */
ST_FORCE_INLINE uint32_t st_keep_bytes(unsigned n, int k)
{
    return ~__funnelshift_lc(0, 0xFFFFFFFFu, (unsigned)max(8 * (int)n - 32 * k, 0)); /* a shift by 32 or more gives 0 */
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
    uint64_t *const records = job->deferred + (which ? job->deferred_capacities[0] : 0);
    const st_list list = {records, &job->counts->deferred[which], job->deferred_capacities[which]};
    return list;
}

/* Records deferred atoms. Those that fit a key go to a queue first; longer ones are few and go to their list directly. */
ST_FORCE_INLINE void st_defer(st_lookup *l, int deferred, unsigned n, uint64_t record)
{
    const int is_long = deferred && n > ST_KEY_BYTES;
    l->queued = st_push(l->job, st_deferred(l->job, 0), l->lane, l->memory->queue, l->queued, deferred && !is_long, record);
    if (__any_sync(0xFFFFFFFFu, is_long))
        st_append(l->job, st_deferred(l->job, 1), l->lane, is_long, record);
}

/* Leaves a piece to the host, because no kernel merges it. One token stands in its place. */
ST_INLINE void st_leave_huge(const st_job *job, uint64_t at, uint32_t *slot)
{
    const uint32_t number = atomicAdd(&job->counts->huge, 1u);
    *slot = ST_HUGE | number;
    if (number < job->huge_capacity)
        job->huge_starts[number] = at;
    else
        atomicOr(&job->counts->flags, ST_FLAG_LISTS);
}

/* ---- the first look ---- */

/* Looks up the atom of n bytes at `at` of the stretch in the first table: its id or entry in the image, with the number of ids, as
 * in the table. For an atom that is not there: 1 if the image's tables may hold it, else 0. */
ST_FORCE_INLINE uint32_t st_first_look(const st_lookup *l, unsigned at, unsigned n)
{
    const uint4 key = st_first_key(l, at, n);
    const uint4 entry = l->job->first[st_first_hash(key.x, key.y, key.z) >> l->job->first_shift];
    const uint32_t length = min(n, 15u); /* no entry has this length */
    const uint32_t differs = (entry.x ^ key.x) | (entry.y ^ key.y) | (entry.z ^ key.z) |
                             ((entry.w >> ST_FIRST_LENGTH & 15) ^ length);
    if ((key.x & 0xFF) >= ST_PAD)
        return 0;
    return differs ? entry.w >> ST_FIRST_CROWDED : entry.w & ~(~0u << ST_FIRST_LENGTH);
}

/* An atom of the stretch, as st_word has words. */
typedef struct st_stretch_word {
    unsigned n, shift;
    const uint32_t *words;
} st_stretch_word;

ST_FORCE_INLINE uint32_t st_part(const st_stretch_word &word, unsigned k)
{
    return __funnelshift_r(word.words[k], word.words[k + 1], word.shift) & st_keep_bytes(word.n, (int)k);
}

/* The same of a word learned, where the first look found nothing, and of words that are longer than a key of the first table. */
ST_INLINE uint32_t st_look_learned(const st_lookup *l, unsigned at, unsigned n)
{
    const int is_here = n <= ST_KEY_BYTES || at + n + 4 <= ST_STRETCH + ST_BEHIND;
    if (n > ST_LEARNED_BYTES || !is_here || !l->job->learned_capacity)
        return 0;
    const st_stretch_word word = {n, 8 * (at & 3), (const uint32_t *)l->memory->text + at / 4};
    return st_find_learned(l->job, word);
}

/* What becomes of an atom. */
typedef enum st_fate { ST_ONE_ID, ST_SOME_IDS, ST_LATER, ST_BY_HOST, ST_NO_TEXT } st_fate;

/* Continuation bytes among four. */
ST_FORCE_INLINE unsigned st_tail_bytes(uint32_t word)
{
    return (unsigned)__popc(word & ~(word << 1) & 0x80808080u);
}

/* Whether the atom of n bytes is white space alone, which is in no word. */
ST_INLINE int st_is_white_space(const st_job *job, const uint8_t *text, unsigned n)
{
    unsigned size, next;
    if (ST_FAMILY != ST_SPLIT_TABLE || !job->kinds || st_word_kind_at(job, text, n, &size) != ST_WHITE)
        return 0;
    return *text != ' ' || n == 1 || st_word_kind_at(job, text + 1, n - 1, &next) == ST_WHITE;
}

/* What becomes of the atom of n bytes at `at` of the stretch, for which st_first_look returned `first`. *found: its id or entry; of
 * a deferred atom its characters << 1 | whether the image's tables may hold it. *width: the slots that it takes. */
ST_INLINE st_fate st_look_closer(const st_lookup *l, unsigned at, unsigned n, uint32_t first, uint32_t *found, unsigned *width)
{
    const unsigned byte = ((const uint8_t *)l->memory->text)[at]; /* the last atom may be empty */
    *width = 1;
    if (byte >= ST_PAD) {
        const uint4 key = st_first_key(l, at, n);
        *found = byte == ST_ID ? key.x >> 8 | key.y << 24 : ST_HOLE;
        return byte == ST_ID ? ST_ONE_ID : ST_NO_TEXT;
    }
    if (st_is_white_space(l->job, (const uint8_t *)l->memory->text + at, n)) {
        *found = ST_HOLE;
        return ST_NO_TEXT;
    }
    if (n > ST_LONGEST)
        return ST_BY_HOST;
    const uint32_t known = n <= ST_FIRST_BYTES && first >> ST_FIRST_IDS ? first : st_look_learned(l, at, n);
    const unsigned ids = st_count_of(l->job, known);
    *width = ids ? ids : n;
    if (ids) {
        *found = known & ST_FIRST_ID;
        return ST_SOME_IDS;
    }
    const uint4 key = st_first_key(l, at, n);
    const unsigned characters = n - st_tail_bytes(key.x) - st_tail_bytes(key.y) - st_tail_bytes(key.z);
    *found = n > ST_FIRST_BYTES ? 1 : characters << 1 | (first & 1);
    return ST_LATER;
}

/* ---- a batch of atoms ---- */

/* Some atoms of a stretch: numbers first .. first + count - 1, whose slots begin with number `slot` of the slice. */
typedef struct st_batch {
    uint64_t stretch;
    uint32_t base;         /* what the stretch's first byte is in the slice */
    uint32_t first, count; /* at most ST_BATCH */
    uint32_t slot;
    uint32_t others;       /* atoms without exactly one id */
    uint32_t tokens;       /* of those a lane looked at, the ones known */
} st_batch;

/* A passage begins with the atom at `at` of the stretch: its row of ids begins with `slot`. */
ST_FORCE_INLINE void st_mark_passage(const st_job *job, const st_batch *batch, unsigned at, uint32_t slot)
{
    if (job->marks && !(at & 63) && st_passage_begins(job, batch->stretch * ST_STRETCH_BLOCKS + at / 64))
        job->row_slots[(batch->base + at) / 64] = slot - batch->base;
}

/* Looks the batch up: found[k], of atom 32 k + lane, becomes its id and, above it, how many others stand in front of it, or
 * ST_NOT_ONE. The others are listed: what the first table says, and above it their number. */
ST_FORCE_INLINE void st_look_first(const st_lookup *l, st_batch *batch, uint32_t *found)
{
    const uint16_t *starts = l->memory->starts + batch->first;
#pragma unroll
    for (unsigned k = 0; k < ST_BATCH / 32; k++) {
        if (32 * k >= batch->count)
            break;
        const unsigned i = 32 * k + l->lane, last = batch->count - 1;
        const uint16_t *own = starts + min(i, last); /* lanes behind the last atom repeat it, without effect */
        const uint32_t first = st_first_look(l, own[0], own[1] - own[0]);
        const int is_one = first >> ST_FIRST_IDS == 1, is_other = i <= last && !is_one;
        const uint32_t those = __ballot_sync(0xFFFFFFFFu, is_other);
        const uint32_t before = batch->others + (uint32_t)__popc(those & ((1u << l->lane) - 1));
        if (is_other)
            l->memory->others[before] = i << ST_FIRST_LENGTH | first;
        found[k] = is_one ? (first & ST_FIRST_ID) | before << ST_FIRST_IDS : ST_NOT_ONE;
        batch->others += (uint32_t)__popc(those);
    }
    __syncwarp();
}

/* Writes the ids of an entry of the image, or of a word learned, as the first table numbers them; returns how many. */
ST_INLINE uint32_t st_put_ids(const st_job *job, uint32_t *slots, uint32_t number, unsigned count)
{
    const uint4 *word = st_record_of(job, number);
    const uint4 ids = number < st_entry_count(job) ? *(const uint4 *)job->entries[number].ids : st_load_new(word);
    slots[0] = ids.x;
    slots[1] = ids.y;
    if (count > 2)
        slots[2] = ids.z;
    if (count > 3)
        slots[3] = ids.w;
    if (count <= 4)
        return count - (ids.y == ST_HOLE);
    const uint4 more = st_load_new(word + 1);
    slots[4] = more.x;
    if (count > 5)
        slots[5] = more.y;
    if (count > 6)
        slots[6] = more.z;
#pragma unroll 1
    for (unsigned at = ST_HEAD_IDS; at < count; at += 4) {
        const uint4 some = st_load_new(word + 2 + (at - ST_HEAD_IDS) / 4);
        slots[at] = some.x;
        if (at + 1 < count)
            slots[at + 1] = some.y;
        if (at + 2 < count)
            slots[at + 2] = some.z;
        if (at + 3 < count)
            slots[at + 3] = some.w;
    }
    return count;
}

/* Looks at the others number k + lane, in front of which there are `more` more slots than atoms; returns that number for the ones
 * behind them. Their slots, and those of all atoms between them, are filled with holes by all lanes together. */
ST_INLINE uint32_t st_look_at_others(st_lookup *l, st_batch *batch, uint32_t k, uint32_t more)
{
    const st_job *job = l->job;
    const int there = k + l->lane < batch->others;
    const uint32_t other = there ? l->memory->others[k + l->lane] : 0;
    const unsigned i = other >> ST_FIRST_LENGTH;
    const uint16_t *starts = l->memory->starts + batch->first + i;
    const unsigned at = starts[0], n = starts[1] - at;
    unsigned width = 1;
    uint32_t found = 0, tokens = 1, total;
    const st_fate fate = there ? st_look_closer(l, at, n, other & ~(~0u << ST_FIRST_LENGTH), &found, &width) : ST_NO_TEXT;
    const uint32_t before = more + st_prefix(width - 1, l->lane, &total), slot = batch->slot + i + before;
    if (there)
        l->memory->others[k + l->lane] = before;
    if (__any_sync(0xFFFFFFFFu, fate == ST_LATER)) {
        const uint32_t first = __shfl_sync(0xFFFFFFFFu, slot, 0);
        const uint32_t left = batch->others - k, last = left < 32 ? left - 1 : 31;
        const uint32_t end = __shfl_sync(0xFFFFFFFFu, slot + width, (int)last);
#pragma unroll 1
        for (uint32_t place = first + l->lane; place < end; place += 32)
            job->slots[place] = ST_HOLE;
        __syncwarp();
    }
    if (there && (fate == ST_ONE_ID || fate == ST_NO_TEXT))
        job->slots[slot] = found;
    else if (fate == ST_SOME_IDS)
        tokens = st_put_ids(job, job->slots + slot, found, width);
    else if (fate == ST_BY_HOST)
        st_leave_huge(job, batch->stretch * ST_STRETCH + at, job->slots + slot);
    batch->tokens += fate == ST_LATER || fate == ST_NO_TEXT ? 0 : tokens;
    if (there)
        st_mark_passage(job, batch, at, slot);
    st_defer(l, fate == ST_LATER, n, ST_RECORD(slot, batch->base + at - slot, n, found >> 1, found & 1));
    return more + total;
}

/* Writes the ids of the atoms with one id. */
ST_FORCE_INLINE void st_put_found(const st_lookup *l, const st_batch *batch, const uint32_t *found)
{
    const st_job *job = l->job;
#pragma unroll
    for (unsigned k = 0; k < ST_BATCH / 32; k++) {
        const unsigned i = 32 * k + l->lane;
        if (32 * k >= batch->count)
            break;
        if (i >= batch->count || found[k] == ST_NOT_ONE)
            continue;
        const uint32_t slot = batch->slot + i + l->memory->others[found[k] >> ST_FIRST_IDS];
        job->slots[slot] = found[k] & ST_FIRST_ID;
        st_mark_passage(job, batch, l->memory->starts[batch->first + i], slot);
    }
}

/* ---- a stretch ---- */

/* Looks the batch up and fills its slots; returns how many. */
ST_FORCE_INLINE uint32_t st_look_up_batch(st_lookup *l, st_batch *batch)
{
    uint32_t found[ST_BATCH / 32], more = 0;
    st_look_first(l, batch, found);
    for (uint32_t k = 0; k < batch->others; k += 32)
        more = st_look_at_others(l, batch, k, more);
    if (l->lane == 0)
        l->memory->others[batch->others] = more;
    __syncwarp();
    st_put_found(l, batch, found);
    __syncwarp(); /* the list is free again */
    return batch->count + more;
}

ST_INLINE void st_look_up_stretch(st_lookup *l, uint64_t stretch)
{
    const st_job *job = l->job;
    __syncwarp(); /* the memory is free again */
    st_load_stretch(l, stretch);
    const unsigned total = st_list_starts(l, stretch);
    __syncwarp();
    const uint32_t first = total ? l->memory->starts[0] : 0, base = (uint32_t)(stretch - job->first_stretch) * ST_STRETCH;
    uint32_t used = first, tokens = 0, sum;
    for (unsigned i = 0; i < total; i += ST_BATCH) {
        st_batch batch = {stretch, base, i, total - i < ST_BATCH ? total - i : ST_BATCH, base + used, 0, 0};
        used += st_look_up_batch(l, &batch);
        tokens += batch.tokens + (l->lane == 0 ? batch.count - batch.others : 0);
    }
    st_prefix(tokens, l->lane, &sum);
    if (l->lane == 0) {
        job->spans[stretch - job->first_stretch] = first << 16 | (used - first);
        job->tokens[stretch - job->first_stretch] = sum;
    }
}

/* Looks up the stretches of warp number `warp` of `warps`. */
ST_INLINE void st_look_up_all(const st_job *job, st_lookup_memory *memory, unsigned lane, uint64_t warp, uint64_t warps)
{
    st_lookup l = {job, memory, lane, 0};
    for (uint64_t i = warp; i < job->stretches; i += warps) {
        const uint64_t next = (job->first_stretch + i + warps) * ST_STRETCH + 32 * lane;
        if (next < job->size)
            st_send_for(job->text + next);
        st_look_up_stretch(&l, job->first_stretch + i);
    }
    st_flush(job, st_deferred(job, 0), lane, memory->queue, l.queued);
}
