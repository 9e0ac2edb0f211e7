/* again.cu - the atoms that the first look left, a thread an atom: the image's tables, which hold every token and frequent
 * word; what they do not hold goes, as parts, to the list of its class, for merge.cu. */
#include "job.h"

/* An atom: the slots that it owns and its bytes. */
typedef struct st_atom {
    uint32_t slot, n, stretch;
    const uint8_t *text;
} st_atom;

/* Fills `atom` from its slot, and the distance between slot and first byte, bytes. */
ST_FORCE_INLINE void st_find_atom(const st_job *job, uint32_t slot, uint32_t distance, uint32_t n, st_atom *atom)
{
    const uint32_t at = slot + distance;
    atom->slot = slot;
    atom->n = n;
    atom->stretch = at / ST_STRETCH;
    atom->text = job->text + job->first_stretch * ST_STRETCH + at;
}

/* An atom on a list: slot << 32 | distance << 21 | bytes << 11 | parts, which lie in its slots. */
ST_FORCE_INLINE uint64_t st_atom_record(const st_job *job, const st_atom *atom, uint32_t parts)
{
    const uint64_t distance = (uint64_t)(atom->text - job->text) - job->first_stretch * ST_STRETCH - atom->slot;
    return (uint64_t)atom->slot << 32 | distance << 21 | (uint64_t)atom->n << 11 | parts;
}

/* The atom gave `count` tokens: they count, and its other slots are holes. */
ST_INLINE void st_account(const st_job *job, const st_atom *atom, uint32_t count)
{
    for (uint32_t i = count; i < atom->n; i++)
        job->slots[atom->slot + i] = ST_HOLE;
    atomicAdd(&job->tokens[atom->stretch], count);
    if (count == 0 || count > atom->n)
        atomicOr(&job->counts->flags, ST_FLAG_WORD);
}

/* ---- tables ---- */

/* Eight bytes at any address, those of an aligned word that reach beyond the text included. */
ST_FORCE_INLINE uint64_t st_load_eight_at(const uint8_t *text)
{
    const unsigned shift = 8 * ((unsigned)(size_t)text & 7);
    const uint64_t *words = (const uint64_t *)(text - shift / 8);
    return shift ? words[0] >> shift | words[1] << (64 - shift) : words[0];
}

/* The key of n bytes, at most ST_KEY_BYTES. */
ST_INLINE st_key st_key_at(const uint8_t *text, unsigned n)
{
    st_key key;
    key.low = st_load_eight_at(text);
    key.high = 0;
    if (n < 8)
        key.low &= ((uint64_t)1 << 8 * n) - 1;
    else if (n > 8)
        key.high = st_load_eight_at(text + 8) & (((uint64_t)1 << 8 * (n - 8)) - 1);
    key.high |= (uint64_t)n << 56;
    return key;
}

/* The entry of the key, or NULL. */
ST_INLINE const st_piece_entry *st_find_entry(const st_job *job, st_key key)
{
    for (uint64_t line = st_hash_key(key) >> job->piece_shift;; line = (line + 1) & job->piece_mask) {
        const st_piece_entry *entry = &job->entries[2 * line];
        if (st_piece_matches(entry, key))
            return entry;
        if (st_piece_matches(entry + 1, key))
            return entry + 1;
        if (!st_line_overflowed(entry))
            return 0;
    }
}

/* st_hash_bytes (hash.h) of n > 8 bytes. */
ST_INLINE uint64_t st_hash_long(const uint8_t *text, unsigned n)
{
    uint64_t hash = ST_HASH_BEGIN ^ n;
    for (unsigned i = 0; i + 8 < n; i += 8)
        hash = st_fold_multiply(hash ^ st_load_eight_at(text + i), ST_HASH_STEP);
    return st_fold_multiply(hash ^ st_load_eight_at(text + n - 8), ST_HASH_END);
}

ST_INLINE int st_is_token(const st_job *job, uint32_t token, const uint8_t *text, unsigned n)
{
    const uint32_t start = job->token_starts[token];
    if (job->token_starts[token + 1] - start != n)
        return 0;
    for (unsigned i = 0; i < n; i++)
        if (job->token_bytes[start + i] != text[i])
            return 0;
    return 1;
}

/* 1 + the token with these bytes, more than a key has; 0: there is none. */
ST_INLINE uint32_t st_long_token(const st_job *job, const uint8_t *text, unsigned n)
{
    const uint64_t hash = st_hash_long(text, n);
    for (uint64_t at = hash & job->long_mask;; at = (at + 1) & job->long_mask) {
        const uint64_t slot = job->long_tokens[at];
        if (slot == UINT64_MAX)
            return 0;
        if (slot >> 32 == hash >> 32 && st_is_token(job, (uint32_t)slot, text, n))
            return (uint32_t)slot + 1;
    }
}

ST_FORCE_INLINE uint32_t st_id_of(const st_job *job, uint32_t token)
{
    return job->identity ? token : job->ids[token];
}

/* Puts the ids of an atom that the tables hold into its slots; returns how many, 0 if they do not hold it. */
ST_INLINE uint32_t st_look_again_short(const st_job *job, const st_atom *atom)
{
    const st_piece_entry *entry = st_find_entry(job, st_key_at(atom->text, atom->n));
    const uint32_t count = entry ? st_piece_count(entry) : 0;
    if (count > ST_INLINE_IDS) /* a word of more ids is merged anew */
        return 0;
    for (uint32_t i = 0; i < count; i++)
        job->slots[atom->slot + i] = entry->ids[i];
    return count;
}

ST_INLINE uint32_t st_look_again_long(const st_job *job, const st_atom *atom)
{
    const uint32_t token = st_long_token(job, atom->text, atom->n);
    if (token)
        job->slots[atom->slot] = st_id_of(job, token - 1);
    return token != 0;
}

/* ---- parts ---- */

/* Can a token reach over the border without covering all of both characters? */
ST_INLINE int st_is_open(const st_job *job, const uint8_t *text, unsigned x, unsigned border, unsigned end)
{
    if (!((text[border - 1] | text[border]) & 0x80))
        return 0;
    const unsigned shapes = st_cut_shapes(job->cuts, text, border);
    return shapes && st_cut_is_partial(job->cuts, shapes, text, x, border, end);
}

/* Puts the tokens that an atom begins as to `parts`, `step` apart: single bytes, but whole characters that no token can
 * break into (see merge_words_template.h). Returns how many. */
ST_INLINE uint32_t st_put_parts(const st_job *job, const st_atom *atom, uint32_t *parts, unsigned step)
{
    const uint8_t *text = atom->text;
    uint32_t count = 0;
    int open_before = 0;
    for (unsigned at = 0, end; at < atom->n; at = end) {
        const unsigned byte = text[at], size = job->characters ? st_utf8_size((uint8_t)byte) : 1;
        unsigned same;
        int open_behind = 0;
        uint32_t whole = 0xFFFFFFFFu;
        end = at + size;
        if (job->characters && end < atom->n)
            open_behind = st_is_open(job, text, at, end, end + st_utf8_size(text[end]));
        if ((size == 2 || size == 3) && !open_before && !open_behind)
            whole = job->cuts->characters[st_utf8_decode(text + at, &same)];
        if (whole != 0xFFFFFFFFu)
            parts[step * count++] = whole;
        else
            for (unsigned i = at; i < end; i++)
                parts[step * count++] = job->byte_tokens[text[i]];
        open_before = open_behind;
    }
    return count;
}

/* ---- lists ---- */

#define ST_AGAIN_QUEUE 64 /* as in lookup.cu */

typedef struct st_again_memory {
    uint64_t queues[ST_CLASSES][ST_AGAIN_QUEUE];
} st_again_memory;

typedef struct st_again {
    const st_job *job;
    st_again_memory *memory;
    unsigned lane;
    uint32_t queued[ST_CLASSES];
} st_again;

ST_FORCE_INLINE unsigned st_short_class(unsigned characters)
{
    return (characters > 4) + (characters > 6) + (characters > 8) + (characters > 10);
}

ST_FORCE_INLINE unsigned st_long_class(uint32_t parts)
{
    return ST_SHORT_CLASSES + (parts > 16) + (parts > 32) + (parts > 64);
}

/* How many characters an atom of at most ST_KEY_BYTES bytes has. */
ST_INLINE unsigned st_count_characters(const st_atom *atom)
{
    unsigned count = 0;
    for (unsigned i = 0; i < atom->n; i++)
        count += !st_utf8_is_continuation(atom->text[i]);
    return count;
}

/* Moves 32 queued atoms of a class to its list, or as many as there are. */
ST_FORCE_INLINE void st_flush_class(st_again *a, unsigned kind)
{
    const st_job *job = a->job;
    const uint32_t count = a->queued[kind] < 32 ? a->queued[kind] : 32, left = a->queued[kind] - count;
    const uint64_t room = job->list_starts[kind + 1] - job->list_starts[kind];
    uint32_t at = 0;
    __syncwarp();
    if (a->lane == 0 && count)
        at = atomicAdd(&job->counts->lists[kind], count);
    at = __shfl_sync(0xFFFFFFFFu, at, 0);
    if (a->lane < count && at + a->lane < room)
        job->lists[job->list_starts[kind] + at + a->lane] = a->memory->queues[kind][left + a->lane];
    if (a->lane == 0 && at + count > room)
        atomicOr(&job->counts->flags, ST_FLAG_LISTS);
    a->queued[kind] = left;
    __syncwarp();
}

/* Queues the record of each lane that has one, for its class; ST_CLASSES: it has none. */
ST_FORCE_INLINE void st_enlist(st_again *a, unsigned kind, uint64_t record)
{
#pragma unroll /* so that the counts stay in registers */
    for (unsigned k = 0; k < ST_CLASSES; k++) {
        const uint32_t those = __ballot_sync(0xFFFFFFFFu, kind == k);
        if (kind == k)
            a->memory->queues[k][a->queued[k] + __popc(those & ((1u << a->lane) - 1))] = record;
        a->queued[k] += (uint32_t)__popc(those);
        if (a->queued[k] >= 32)
            st_flush_class(a, k);
    }
}

/* The deferred atom of this lane; which: 0 if it fits a key. */
ST_INLINE void st_take_again(st_again *a, unsigned which, uint64_t number, uint64_t count)
{
    const st_job *job = a->job;
    unsigned kind = ST_CLASSES;
    uint64_t record = 0;
    if (number < count) {
        const uint32_t slot = job->deferred[which * job->deferred_room + number], held = job->slots[slot];
        st_atom atom;
        st_find_atom(job, slot, held >> 10, held & 0x3FF, &atom);
        const uint32_t found = which ? st_look_again_long(job, &atom) : st_look_again_short(job, &atom);
        if (found) {
            st_account(job, &atom, found);
        } else if (which) {
            const uint32_t parts = atom.n > 64 ? atom.n : st_put_parts(job, &atom, job->slots + slot, 1); /* or a warp does */
            record = st_atom_record(job, &atom, parts);
            kind = st_long_class(parts);
        } else {
            record = st_atom_record(job, &atom, 0);
            kind = st_short_class(st_count_characters(&atom));
        }
    }
    st_enlist(a, kind, record);
}

/* The atoms of warp number `warp` of `warps`; the longer ones first. */
ST_INLINE void st_take_all_again(const st_job *job, st_again_memory *memory, unsigned lane, uint64_t warp, uint64_t warps)
{
    st_again a = {job, memory, lane, {0}};
    for (int which = 1; which >= 0; which--) {
        const uint64_t listed = job->counts->deferred[which];
        const uint64_t count = listed < job->deferred_room ? listed : job->deferred_room;
        for (uint64_t i = 32 * warp; i < count; i += 32 * warps)
            st_take_again(&a, (unsigned)which, i + lane, count);
    }
#pragma unroll
    for (unsigned kind = 0; kind < ST_CLASSES; kind++)
        st_flush_class(&a, kind);
}
