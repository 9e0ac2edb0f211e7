/* second_look.cu - the atoms that the first look left, a thread an atom. They are looked up in the image's tables, which hold every
 * token and frequent word. An atom that these do not hold is entered into the list of its class, for merge.cu. */
#ifndef ST_CUDA_ENCODE_SECOND_LOOK_CU
#define ST_CUDA_ENCODE_SECOND_LOOK_CU

#include "cuda/encode/queue.h"
#include "cuda/encode/learned.cu"

/* An atom: the slots that it owns and its bytes. */
typedef struct st_atom {
    uint32_t slot, n, stretch;
    const uint8_t *text;
} st_atom;

ST_FORCE_INLINE void st_find_atom(const st_job *job, uint64_t record, st_atom *atom)
{
    const uint32_t slot = (uint32_t)(record >> 32), at = slot + ((uint32_t)record >> 21);
    atom->slot = slot;
    atom->n = (uint32_t)record >> 11 & 0x3FF;
    atom->stretch = at / ST_STRETCH;
    atom->text = job->text + job->first_stretch * ST_STRETCH + at;
}

/* The number of characters in the record. */
ST_FORCE_INLINE uint32_t st_characters_of(uint64_t record)
{
    return (uint32_t)record >> 1 & 0x3FF;
}

/* Counts the tokens of an atom. */
ST_INLINE void st_account(const st_job *job, const st_atom *atom, uint32_t count)
{
    atomicAdd(&job->tokens[atom->stretch], count);
    if (count == 0 || count > atom->n)
        atomicOr(&job->counts->flags, ST_FLAG_WORD);
}

/* ---- tables ---- */

/* The first n of eight bytes at any address; the others are undefined. Only aligned uint64 that contain one of the n are read, so
 * nothing beyond the text's memory. */
ST_FORCE_INLINE uint64_t st_load_eight_at(const uint8_t *text, unsigned n)
{
    const unsigned skipped = (unsigned)(size_t)text & 7;
    const uint64_t *words = (const uint64_t *)(text - skipped);
    const uint64_t low = words[0] >> 8 * skipped;
    return skipped + n > 8 ? low | words[1] << (64 - 8 * skipped) : low;
}

/* The key of n bytes, at most ST_KEY_BYTES. */
ST_INLINE st_key st_key_at(const uint8_t *text, unsigned n)
{
    st_key key;
    key.low = st_load_eight_at(text, n < 8 ? n : 8);
    key.high = 0;
    if (n < 8)
        key.low &= ((uint64_t)1 << 8 * n) - 1;
    else if (n > 8)
        key.high = st_load_eight_at(text + 8, n - 8) & (((uint64_t)1 << 8 * (n - 8)) - 1);
    key.high |= (uint64_t)n << 56;
    return key;
}

/* The entry of the key, or NULL. */
ST_INLINE const st_piece_entry *st_find_entry(const st_job *job, st_key key)
{
    for (uint64_t line = st_hash_key(key) >> job->piece_shift;; line = (line + 1) & job->piece_mask) {
        const st_piece_entry *entry = &job->entries[2 * line];
        const int first = st_piece_matches(entry, key), second = st_piece_matches(entry + 1, key); /* both loads overlap */
        if (first | second)
            return entry + second;
        if (!st_line_overflowed(entry))
            return 0;
    }
}

/* st_hash_bytes (base/hash.h) of n > 8 bytes. */
ST_INLINE uint64_t st_hash_long(const uint8_t *text, unsigned n)
{
    uint64_t hash = ST_HASH_BEGIN ^ n;
    for (unsigned i = 0; i + 8 < n; i += 8)
        hash = st_fold_multiply(hash ^ st_load_eight_at(text + i, 8), ST_HASH_STEP);
    return st_fold_multiply(hash ^ st_load_eight_at(text + n - 8, 8), ST_HASH_END);
}

/* Is this token the n > 8 bytes? */
ST_INLINE int st_is_token(const st_job *job, uint32_t token, const uint8_t *text, unsigned n)
{
    const uint32_t start = job->token_starts[token];
    if (job->token_starts[token + 1] - start != n)
        return 0;
    for (unsigned i = 0; i + 8 < n; i += 8)
        if (st_load_eight_at(job->token_bytes + start + i, 8) != st_load_eight_at(text + i, 8))
            return 0;
    return st_load_eight_at(job->token_bytes + start + n - 8, 8) == st_load_eight_at(text + n - 8, 8);
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

/* Copies ids; four loads at a time overlap. */
ST_FORCE_INLINE void st_copy_ids(uint32_t *to, const uint32_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += 4) {
        uint32_t some[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            some[k] = i + k < count ? ids[i + k] : 0;
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            if (i + k < count)
                to[i + k] = some[k];
    }
}

/* n bytes of text, at most ST_LEARNED_BYTES. */
ST_INLINE st_word st_word_at(const uint8_t *text, unsigned n)
{
    st_word word;
    word.n = n;
    word.words[1] = word.words[2] = 0;
    for (unsigned k = 0; 4 * k < n; k++) {
        const unsigned left = n - 4 * k < 4 ? n - 4 * k : 4;
        word.words[k] = (uint32_t)st_load_eight_at(text + 4 * k, left) & 0xFFFFFFFFu >> (32 - 8 * left);
    }
    return word;
}

ST_INLINE st_word st_word_of(st_key key, unsigned n)
{
    const uint32_t high = (uint32_t)(key.high >> 32) & 0xFFFFFF; /* without the length */
    const st_word word = {n, {(uint32_t)key.low, (uint32_t)(key.low >> 32), (uint32_t)key.high, high}};
    return word;
}

/* Learns a word that the tables hold, so that it needs no second look. */
ST_INLINE void st_learn_found(const st_job *job, const st_word *word, const uint32_t *from, uint32_t count)
{
    const st_claim claim = st_claim_place(job, word);
    uint32_t *record = claim.place ? st_new_record(job, word, count) : 0;
    if (!record)
        return;
    for (uint32_t i = 0; i < count; i++)
        st_put_learned(record, i, from[i]);
    st_publish(job, claim, word, record, count);
}

/* Puts the ids of an atom that the tables hold into its slots; returns how many, 0 if they do not hold it. */
ST_INLINE uint32_t st_look_again_short(const st_job *job, const st_atom *atom, st_key key)
{
    const st_piece_entry *entry = st_find_entry(job, key);
    if (!entry)
        return 0;
    const int many = st_piece_count(entry) == ST_MORE_IDS;
    const uint32_t count = many ? entry->ids[1] : st_piece_count(entry);
    const uint32_t *ids = many ? job->more + entry->ids[0] : entry->ids;
    if (ids[0] >= ST_FIRST_FRAGMENT) { /* a byte that is no token: the host has the error */
        atomicOr(&job->counts->flags, ST_FLAG_WORD);
        return 1;
    }
    st_copy_ids(job->slots + atom->slot, ids, count);
    if (st_may_learn(job, atom->n, count)) {
        const st_word word = st_word_of(key, atom->n);
        st_learn_found(job, &word, ids, count);
    }
    return count;
}

ST_INLINE uint32_t st_look_again_long(const st_job *job, const st_atom *atom)
{
    const uint32_t place = st_filter_place(st_load_eight_at(atom->text, 8), atom->n);
    if (!(job->filter[place / 32] >> (place & 31) & 1))
        return 0;
    const uint32_t token = st_long_token(job, atom->text, atom->n);
    if (!token)
        return 0;
    const uint32_t id = job->slots[atom->slot] = st_id_of(job, token - 1);
    if (st_may_learn(job, atom->n, 1)) {
        const st_word word = st_word_at(job->token_bytes + job->token_starts[token - 1], atom->n);
        st_learn_found(job, &word, &id, 1);
    }
    return 1;
}

/* ---- symbols ---- */

/* st_cut_shapes, without a load between two ASCII characters. */
ST_FORCE_INLINE unsigned st_is_open(const st_job *job, unsigned last, unsigned first)
{
    return (last | first) & 0x80 ? st_cut_shapes(job->cuts, last, first) : 0;
}

/* The code point of a character of two or three bytes, the first one lowest; of others a number beyond all code points. */
ST_FORCE_INLINE uint32_t st_code_point(uint32_t bytes, unsigned size)
{
    const uint32_t second = bytes >> 8 & 0x3F, third = bytes >> 16 & 0x3F;
    return size == 2 ? (bytes & 0x1F) << 6 | second : size == 3 ? (bytes & 0x0F) << 12 | second << 6 | third : 0xFFFFFFFFu;
}

/* A character that begins among the first 12 of 16 bytes is contained in them, and so is the byte behind it. */
#define ST_WINDOW 12

/* Are the first n of these 16 bytes ASCII? */
ST_FORCE_INLINE int st_is_ascii(uint64_t low, uint64_t high, unsigned n)
{
    const uint64_t bits = UINT64_C(0x8080808080808080);
    const uint64_t in_low = n < 8 ? ~(~(uint64_t)0 << 8 * n) : ~(uint64_t)0, in_high = n > 8 ? ~(uint64_t)0 >> (128 - 8 * n) : 0;
    return !((low & in_low | high & in_high) & bits);
}

/* Writes the tokens of the n ASCII bytes in the window. */
template <unsigned Step>
ST_FORCE_INLINE void st_put_bytes(const st_job *job, uint64_t low, uint64_t high, unsigned n, uint32_t *symbols)
{
    uint32_t words[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
#pragma unroll
    for (unsigned i = 0; i < 16; i++) {
        if (i >= n)
            break;
        symbols[Step * i] = job->byte_tokens[words[i / 4] >> 8 * (i & 3) & 0xFF];
    }
}

/* Puts the tokens that an atom begins as to `symbols`, `Step` apart: whole characters where the rule says so (cut/cut_rule.h),
 * else bytes. Returns how many. With a `Step` of 0 it only counts them. */
template <unsigned Step> ST_INLINE uint32_t st_put_symbols(const st_job *job, const st_atom *atom, uint32_t *symbols)
{
    const unsigned n = atom->n;
    uint32_t count = 0;
    unsigned open_before = 0;
    for (unsigned at = 0; at < n;) {
        const unsigned left = n - at < 16 ? n - at : 16;
        uint64_t low = st_load_eight_at(atom->text + at, left < 8 ? left : 8);
        uint64_t high = left > 8 ? st_load_eight_at(atom->text + at + 8, left - 8) : 0;
        const unsigned stop = n - at > 16 ? at + ST_WINDOW : n;
        if (st_is_ascii(low, high, left)) {
            if (Step)
                st_put_bytes<Step>(job, low, high, stop - at, symbols + Step * count);
            count += stop - at;
            at = stop;
            open_before = 0; /* the byte behind the border is ASCII too, or there is none */
            continue;
        }
        while (at < stop) {
            const uint32_t bytes = (uint32_t)low;
            unsigned size = job->characters ? st_utf8_size((uint8_t)bytes) : 1;
            size = size < n - at ? size : n - at; /* in what is no UTF-8 */
            low = low >> 8 * size | high << (64 - 8 * size);
            high >>= 8 * size;
            at += size;
            unsigned open_behind = 0;
            if (job->characters && at < n)
                open_behind = st_is_open(job, bytes >> 8 * (size - 1) & 0xFF, (unsigned)low & 0xFF);
            const uint32_t whole = st_whole_character(job->cuts, st_code_point(bytes, size), open_before | open_behind);
            if (Step && whole != ST_NONE)
                symbols[Step * count] = whole;
            else if (Step)
                for (unsigned i = 0; i < size; i++)
                    symbols[Step * (count + i)] = job->byte_tokens[bytes >> 8 * i & 0xFF];
            count += whole != ST_NONE ? 1 : size;
            open_before = open_behind;
        }
    }
    return count;
}

/* ---- lists ---- */

typedef struct st_again_memory {
    uint64_t queues[ST_CLASSES][ST_QUEUE];
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

ST_FORCE_INLINE unsigned st_long_class(uint32_t symbols)
{
    return ST_SHORT_CLASSES + (symbols > 16) + (symbols > 32) + (symbols > 64);
}

/* How many characters the n bytes of a key have. */
ST_FORCE_INLINE unsigned st_count_characters(st_key key, unsigned n)
{
    const uint64_t bytes = UINT64_C(0x8080808080808080), high = key.high & ~((uint64_t)0xFF << 56);
    return n - (unsigned)(__popcll(key.low & ~(key.low << 1) & bytes) + __popcll(high & ~(high << 1) & bytes));
}

ST_FORCE_INLINE st_list st_class_list(const st_job *job, unsigned kind)
{
    const uint64_t start = job->list_starts[kind];
    const st_list list = {job->lists + start, &job->counts->lists[kind], job->list_starts[kind + 1] - start};
    return list;
}

/* Queues the record of each lane that has one, for its class among First .. Beyond - 1; ST_CLASSES: it has none. */
template <unsigned First, unsigned Beyond> ST_FORCE_INLINE void st_enlist(st_again *a, unsigned kind, uint64_t record)
{
#pragma unroll /* so that the counts stay in registers */
    for (unsigned k = First; k < Beyond; k++)
        a->queued[k] = st_push(a->job, st_class_list(a->job, k), a->lane, a->memory->queues[k], a->queued[k], kind == k, record);
}

/* Moves the rest of the queues to the lists. Room is reserved in all lists at once, a lane a list: one after the other would be the
 * longest wait of a short text. */
ST_INLINE void st_flush_all(st_again *a)
{
    const unsigned lane = a->lane;
    uint32_t mine = 0, start = 0;
#pragma unroll
    for (unsigned kind = 0; kind < ST_CLASSES; kind++)
        mine = lane == kind ? a->queued[kind] : mine;
    __syncwarp();
    if (mine)
        start = atomicAdd(&a->job->counts->lists[lane], mine);
#pragma unroll
    for (unsigned kind = 0; kind < ST_CLASSES; kind++) {
        const st_list list = st_class_list(a->job, kind);
        const uint64_t at = (uint64_t)__shfl_sync(0xFFFFFFFFu, start, (int)kind) + lane;
        if (lane < a->queued[kind] && at < list.capacity)
            list.records[at] = a->memory->queues[kind][lane];
        else if (lane < a->queued[kind])
            atomicOr(&a->job->counts->flags, ST_FLAG_LISTS);
    }
}

/* Writes the ids of an atom to its slots if the image's tables hold it, and returns ST_CLASSES; else returns its class. */
ST_FORCE_INLINE unsigned st_take_short(const st_job *job, uint64_t record)
{
    if (!(record & 1))
        return st_short_class(st_characters_of(record));
    st_atom atom;
    st_find_atom(job, record, &atom);
    const st_key key = st_key_at(atom.text, atom.n);
    const uint32_t found = st_look_again_short(job, &atom, key);
    if (!found)
        return st_short_class(st_count_characters(key, atom.n));
    st_account(job, &atom, found);
    return ST_CLASSES;
}

/* The same of an atom that is too long for a key. */
ST_FORCE_INLINE unsigned st_take_long(const st_job *job, uint64_t record)
{
    st_atom atom;
    st_find_atom(job, record, &atom);
    const uint32_t found = st_look_again_long(job, &atom);
    if (!found)
        return st_long_class(atom.n > 64 ? atom.n : st_put_symbols<0>(job, &atom, 0)); /* more begin as bytes */
    st_account(job, &atom, found);
    return ST_CLASSES;
}

ST_INLINE unsigned st_take_word(const st_job *job, uint64_t record); /* word_piece.cu */

/* Takes the deferred atom of this lane's record, 0 for none. Which: 0 for atoms that fit a key, 1 for longer ones. */
template <unsigned Which> ST_FORCE_INLINE void st_take_again(st_again *a, uint64_t record)
{
    unsigned kind = ST_CLASSES;
    if (ST_FAMILY == ST_SPLIT_TABLE && a->job->most)
        kind = record ? st_take_word(a->job, record) : ST_CLASSES;
    else if (record)
        kind = Which ? st_take_long(a->job, record) : st_take_short(a->job, record);
    if (Which)
        st_enlist<ST_SHORT_CLASSES, ST_CLASSES>(a, kind, record);
    else
        st_enlist<0, ST_SHORT_CLASSES>(a, kind, record);
}

/* The record of this lane. Prefetches its text, which has left the cache. */
ST_FORCE_INLINE uint64_t st_next_record(const st_job *job, const uint64_t *records, uint64_t number, uint64_t count)
{
    const uint64_t record = number < count ? records[number] : 0;
    if (record & 1)
        st_send_for(job->text + job->first_stretch * ST_STRETCH + (uint32_t)(record >> 32) + ((uint32_t)record >> 21));
    return record;
}

/* Takes the deferred atoms of one kind that belong to warp number `warp` of `warps`. */
template <unsigned Which> ST_INLINE void st_take_list_again(st_again *a, uint64_t warp, uint64_t warps)
{
    const st_job *job = a->job;
    const uint64_t listed = job->counts->deferred[Which], capacity = job->deferred_capacities[Which];
    const uint64_t count = listed < capacity ? listed : capacity, *records = job->deferred + (Which ? job->deferred_capacities[0] : 0);
    uint64_t next = st_next_record(job, records, 32 * warp + a->lane, count);
    for (uint64_t i = 32 * warp; i < count; i += 32 * warps) {
        const uint64_t record = next;
        next = st_next_record(job, records, i + 32 * warps + a->lane, count);
        st_take_again<Which>(a, record);
    }
}

/* All of them; the longer ones first. */
ST_INLINE void st_take_all_again(const st_job *job, st_again_memory *memory, unsigned lane, uint64_t warp, uint64_t warps)
{
    st_again a = {job, memory, lane, {0}};
    st_take_list_again<1>(&a, warp, warps);
    st_take_list_again<0>(&a, warp, warps);
    st_flush_all(&a);
}

#endif
