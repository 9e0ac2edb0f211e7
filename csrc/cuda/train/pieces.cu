/* pieces.cu - the table of distinct pieces. Any thread may look up, enter and count a piece at any time.
 *
 * Hashes are not trusted: a short piece is its key, and of a long one all bytes are compared. A place is written once. A short key
 * has two halves and is written in two steps; a thread that reads it in between waits for the second. */
#ifndef ST_CUDA_TRAIN_PIECES_CU
#define ST_CUDA_TRAIN_PIECES_CU

#include "cuda/train/job.h"

ST_INLINE unsigned st_key_length(uint64_t high)
{
    return (unsigned)(high >> 56) & 15;
}

/* ---- short pieces ---- */

/* Whether the place is now that of the key. When it was read, it was free or held another value. */
ST_INLINE int st_claim_short(const st_counting *c, uint64_t at, st_key key)
{
    st_key *place = &c->table.keys[at];
    uint64_t high = st_look(&place->high);
    if (high == ST_FREE)
        high = st_swap64(&place->high, ST_FREE, key.high | ST_BUSY);
    if (high == ST_FREE) {
        *(volatile uint64_t *)&place->low = key.low;
        st_publish(&place->high, key.high);
        st_add64(&c->counted->shorts, 1);
        st_add64(&c->counted->short_bytes, st_key_length(key.high));
        return 1;
    }
    if ((high & ~ST_BUSY) != key.high)
        return 0;
    while (high & ST_BUSY) {
        ST_PAUSE();
        high = st_look(&place->high);
    }
    return *(volatile uint64_t *)&place->low == key.low;
}

ST_FORCE_INLINE void st_count_short(const st_counting *c, st_key key)
{
    uint64_t at = st_hash_key(key) & c->table.short_mask;
    for (;; at = (at + 1) & c->table.short_mask) {
        const ulonglong2 there = ((const ulonglong2 *)c->table.keys)[at];
        if (there.x == key.low && there.y == key.high)
            break;
        const int is_other = there.y != ST_FREE && (there.y & ~ST_BUSY) != key.high;
        if (!is_other && st_claim_short(c, at, key))
            break;
    }
    st_add64(&c->table.counts[at], 1);
}

/* ---- long pieces ---- */

ST_INLINE uint64_t st_hash_text(const uint8_t *text, unsigned n)
{
    uint64_t hash = ST_HASH_BEGIN ^ n, word = 0;
    for (unsigned i = 0; i < n; i++) {
        word |= (uint64_t)text[i] << 8 * (i & 7);
        if ((i & 7) == 7 || i + 1 == n) {
            hash = st_fold_multiply(hash ^ word, ST_HASH_STEP);
            word = 0;
        }
    }
    hash = st_fold_multiply(hash, ST_HASH_END);
    return hash ? hash : 1;
}

ST_INLINE int st_is_text(const uint8_t *bytes, uint64_t where, const uint8_t *text, unsigned n)
{
    if ((unsigned)(where & 0xFFFF) != n)
        return 0;
    bytes += where >> 16;
    for (unsigned i = 0; i < n; i++)
        if (((const volatile uint8_t *)bytes)[i] != text[i])
            return 0;
    return 1;
}

/* Tries to take a free place for the piece; whether the place is now the piece's. */
ST_INLINE int st_claim_long(const st_counting *c, uint64_t at, uint64_t hash, const uint8_t *text, unsigned n)
{
    if (st_swap64(&c->table.hashes[at], 0, hash) != 0)
        return 0;
    const uint64_t start = st_take64(&c->counted->long_bytes, n);
    for (unsigned i = 0; i < n; i++)
        c->table.bytes[start + i] = text[i];
    st_publish(&c->table.wheres[at], start << 16 | n);
    st_add64(&c->counted->longs, 1);
    return 1;
}

ST_INLINE void st_count_long(const st_counting *c, const uint8_t *text, unsigned n)
{
    const uint64_t hash = st_hash_text(text, n);
    uint64_t at = hash & c->table.long_mask;
    for (;; at = (at + 1) & c->table.long_mask) {
        uint64_t there = *(const volatile uint64_t *)&c->table.hashes[at], where;
        if (there == 0 && st_claim_long(c, at, hash, text, n))
            break;
        there = *(const volatile uint64_t *)&c->table.hashes[at];
        if (there != hash)
            continue;
        while ((where = st_look(&c->table.wheres[at])) == 0)
            ST_PAUSE();
        if (st_is_text(c->table.bytes, where, text, n))
            break;
    }
    st_add64(&c->table.long_counts[at], 1);
}

/* ---- a larger table ---- */

ST_INLINE void st_move_short(const st_growing *g, uint64_t number)
{
    const st_key key = g->from.keys[number];
    if (key.high == ST_FREE)
        return;
    uint64_t at = st_hash_key(key) & g->to.short_mask;
    while (st_swap64(&g->to.keys[at].high, ST_FREE, key.high) != ST_FREE)
        at = (at + 1) & g->to.short_mask;
    g->to.keys[at].low = key.low;
    g->to.counts[at] = g->from.counts[number];
}

ST_INLINE void st_move_long(const st_growing *g, uint64_t number)
{
    const uint64_t hash = g->from.hashes[number];
    if (hash == 0)
        return;
    uint64_t at = hash & g->to.long_mask;
    while (st_swap64(&g->to.hashes[at], 0, hash) != 0)
        at = (at + 1) & g->to.long_mask;
    g->to.wheres[at] = g->from.wheres[number];
    g->to.long_counts[at] = g->from.long_counts[number];
}

#endif
