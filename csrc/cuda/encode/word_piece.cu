/* word_piece.cu - words of WordPiece that the first look left, a thread a word: the longest token that the word begins with, and behind
 * it, as long as something is left, the longest token of those that go on in a word. A word in which that fails, or that has too many
 * characters, is the unknown token. The ids do not have the blank in front of a word. */
#ifndef ST_CUDA_ENCODE_WORD_PIECE_CU
#define ST_CUDA_ENCODE_WORD_PIECE_CU

#include "cuda/encode/second_look.cu"

#define ST_MOST_PREFIX_BYTES 8

/* Bytes of a blank that belongs to a word. */
ST_FORCE_INLINE unsigned st_blank_in_front(const uint8_t *text, unsigned n)
{
    return n > 1 && *text == ' ';
}

/* The id of the token with these bytes, or ST_NONE. */
ST_INLINE uint32_t st_token_id(const st_job *job, const uint8_t *text, unsigned n)
{
    if (n <= ST_KEY_BYTES) {
        const st_piece_entry *entry = st_find_entry(job, st_key_at(text, n));
        return entry ? entry->ids[0] : ST_NONE;
    }
    const uint32_t place = st_filter_place(st_load_eight_at(text, 8), n);
    const uint32_t token = job->filter[place / 32] >> (place & 31) & 1 ? st_long_token(job, text, n) : 0;
    return token ? st_id_of(job, token - 1) : ST_NONE;
}

/* As st_take_short and st_take_long. */
ST_INLINE unsigned st_take_word(const st_job *job, uint64_t record)
{
    st_atom atom;
    st_find_atom(job, record, &atom);
    const unsigned skip = st_blank_in_front(atom.text, atom.n);
    const uint32_t id = record & 1 ? st_token_id(job, atom.text + skip, atom.n - skip) : ST_NONE;
    if (id == ST_NONE)
        return atom.n > ST_KEY_BYTES ? st_long_class(atom.n) : st_short_class(atom.n);
    job->slots[atom.slot] = id;
    st_account(job, &atom, 1);
    if (st_may_learn(job, atom.n, 1)) {
        const st_word word = st_word_at(atom.text, atom.n);
        st_learn_found(job, &word, &id, 1);
    }
    return ST_CLASSES;
}

/* The size of the longest token at bytes[at..n), ST_NONE in *id if there is none. What is in front of `at` was matched: there the prefix
 * of tokens that go on is put. */
ST_INLINE unsigned st_longest_at(const st_job *job, uint8_t *bytes, unsigned at, unsigned n, uint32_t *id)
{
    const unsigned front = at ? (unsigned)job->prefix_size : 0;
    const unsigned longest = (unsigned)job->longest_token > front ? (unsigned)job->longest_token - front : 0;
    unsigned size = n - at < longest ? n - at : longest;
    for (unsigned i = 0; i < front; i++)
        bytes[(int)at + (int)i - (int)front] = (uint8_t)(job->prefix >> 8 * i);
    for (*id = ST_NONE; size; size--) {
        if (at + size < n && st_utf8_is_continuation(bytes[at + size]))
            continue;
        *id = st_token_id(job, bytes + ((int)at - (int)front), front + size);
        if (*id != ST_NONE)
            break;
    }
    return size;
}

/* Writes the ids of bytes[0..n) to `slots` and returns how many. */
ST_INLINE uint32_t st_match_bytes(const st_job *job, uint8_t *bytes, unsigned n, uint32_t *slots)
{
    unsigned characters = 0;
    uint32_t count = 0, id = ST_NONE;
    for (unsigned i = 0; i < n; i++)
        characters += !st_utf8_is_continuation(bytes[i]);
    for (unsigned at = 0; at < n && characters <= job->most; count++) {
        at += st_longest_at(job, bytes, at, n, &id);
        if (id == ST_NONE)
            break;
        slots[count] = id;
    }
    if (id != ST_NONE)
        return count;
    while (count > 1)
        slots[--count] = ST_HOLE;
    slots[0] = (uint32_t)job->unknown;
    return 1;
}

/* room: for ST_MOST_PREFIX_BYTES and the word. All is read once: the text may be the caller's, who may write to it. */
ST_INLINE void st_match_word(const st_job *job, const st_atom *atom, uint8_t *room)
{
    const unsigned skip = st_blank_in_front(atom->text, atom->n), n = atom->n - skip;
    uint8_t *bytes = room + ST_MOST_PREFIX_BYTES;
    for (unsigned i = 0; i < atom->n; i++)
        bytes[(int)i - (int)skip] = atom->text[i];
    const int may_learn = atom->n <= ST_LEARNED_BYTES;
    st_word word;
    if (may_learn)
        word = st_word_at(bytes - skip, atom->n);
    uint32_t *slots = job->slots + atom->slot;
    const uint32_t count = st_match_bytes(job, bytes, n, slots);
    st_account(job, atom, count);
    if (may_learn && st_may_learn(job, atom->n, count))
        st_learn_found(job, &word, slots, count);
}

#endif
