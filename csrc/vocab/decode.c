#include "vocab/decode.h"

#include "base/atomic.h"
#include "base/interrupt.h"
#include "base/load.h"
#include "base/prefetch.h"
#include "base/search.h"
#include "vocab/slots.h"

/* Every 64-bit x86 has SSE2. */
#if defined(__SSE2__) || (defined(_M_X64) && !defined(_M_ARM64EC))
#include <emmintrin.h>
#define ST_SSE2 1
#else
#define ST_SSE2 0
#endif

/* Ids between two calls of st_go_on. */
#define STEP 4096

/* The first ids of a call find nothing in the caches: their slots are prefetched all at once. */
#define PREFETCHED 1024

/* Bytes that are copied for a token, whatever its length: a slot. */
#define COPIED sizeof(st_slot)

/* Room for a token, as long as nothing is known of the text: tokens of English have 4.4 bytes. */
#define BYTES_A_TOKEN 5

const uint8_t *st_decode_one(const st_vocab *v, const st_names *names, uint32_t id, size_t *n)
{
    uint32_t index = st_vocab_index(v, id);
    if (index != ST_NONE && (!v->fragments || id < ST_FIRST_FRAGMENT)) {
        *n = st_token_length(v, index);
        return st_token_bytes(v, index);
    }
    const size_t at = st_find_sorted(names->ids, names->count, id);
    if (at == names->count)
        return NULL;
    *n = names->starts[at + 1] - names->starts[at];
    return names->bytes + names->starts[at];
}

/* Each of the following two writes the bytes of ids[0..count) to *to, COPIED bytes for each, up to one that it leaves to
 * st_decode_one. Returns how many it wrote, and moves *to behind them. */

static size_t copy_slots(const st_slots *slots, const uint32_t *ids, size_t count, uint8_t **to)
{
    uint8_t *at = *to;
    const uint32_t *next = ids;
    for (const uint32_t *const end = ids + count; next < end; next++) {
        const uint32_t id = st_read_once(next);
        if (id >= slots->count)
            break;
        const st_slot *slot = &slots->slot[id];
        const size_t n = slot->length;
        memcpy(at, slot, COPIED);
        if (!n)
            break;
        at += n;
    }
    *to = at;
    return (size_t)(next - ids);
}

/* From the arrays of a vocabulary whose ids are its indices. */
static size_t copy_tokens(const st_vocab *v, const uint32_t *ids, size_t count, uint8_t **to)
{
    const uint32_t total = v->starts[v->count];
    uint8_t *at = *to;
    size_t i = 0;
    for (; i < count; i++) {
        const uint32_t id = st_read_once(&ids[i]);
        if (id >= v->count)
            break;
        const uint32_t start = v->starts[id], n = v->starts[id + 1] - start;
        if (n > COPIED || total - start < COPIED)
            break;
        memcpy(at, v->bytes + start, COPIED);
        at += n;
    }
    *to = at;
    return i;
}

static size_t copy_some(const st_vocab *v, const st_slots *slots, const uint32_t *ids, size_t count, uint8_t **to)
{
    if (slots)
        return copy_slots(slots, ids, count, to);
    return v->identity ? copy_tokens(v, ids, count, to) : 0;
}

static void expect(const st_vocab *v, const st_slots *slots, const uint32_t *ids, size_t count)
{
    count = count < PREFETCHED ? count : PREFETCHED;
    for (size_t i = 0; i < count; i++) {
        const uint32_t id = st_read_once(&ids[i]);
        if (slots && id < slots->count)
            st_prefetch(&slots->slot[id]);
        else if (!slots && v->identity && id < v->count)
            st_prefetch(v->bytes + v->starts[id]);
    }
}

/* Writes the bytes of the next id, or says in d->next how many there is no room for. */
static st_status put_one(const st_vocab *v, const st_names *names, st_decoding *d, uint8_t **to, size_t capacity)
{
    size_t n;
    const uint8_t *bytes = st_decode_one(v, names, st_read_once(&d->ids[d->done]), &n);
    if (!bytes)
        return ST_UNKNOWN_TOKEN;
    if (n > capacity) {
        d->next = n;
        return ST_OK;
    }
    memcpy(*to, bytes, n);
    *to += n;
    d->done++;
    return ST_OK;
}

st_status st_decode_into(st_vocab *v, const st_names *names, st_decoding *d, uint8_t *to, size_t capacity, size_t *size)
{
    const st_slots *slots = st_vocab_slots(v, d->count - d->done);
    uint8_t *at = to + *size, *const end = to + capacity;
    st_status status = ST_OK;
    d->next = 0;
    expect(v, slots, d->ids + d->done, d->count - d->done);
    while (!status && !d->next && d->done < d->count) {
        const size_t left = d->count - d->done, fit = (size_t)(end - at) / COPIED, most = fit < left ? fit : left;
        const size_t count = most < STEP ? most : STEP, copied = copy_some(v, slots, d->ids + d->done, count, &at);
        d->done += copied;
        status = st_go_on(4 * copied + 4);
        if (!status && d->done < d->count && (copied < count || !count))
            status = put_one(v, names, d, &at, (size_t)(end - at));
    }
    *size = (size_t)(at - to);
    return status;
}

size_t st_decode_room(const st_decoding *d, size_t size)
{
    return (d->count - d->done) * (d->done ? size / d->done + 1 : BYTES_A_TOKEN) + d->next + 4 * COPIED;
}

st_status st_decode(st_vocab *v, const st_names *names, const uint32_t *ids, size_t count, st_bytes *out, size_t *bad)
{
    const size_t before = out->size;
    st_decoding d = {ids, count, 0, 0};
    st_status status = ST_OK;
    while (!status && d.done < count) {
        status = st_bytes_reserve(out, st_decode_room(&d, out->size - before));
        if (!status)
            status = st_decode_into(v, names, &d, out->data, out->capacity, &out->size);
    }
    if (status) {
        out->size = before;
        *bad = d.done;
    }
    return status;
}

/* ---- ids against a text ---- */

#if ST_SWAR
#if !ST_SSE2
/* FIRST[8 + n] has the bits of the first n bytes of eight, for n from -8 on: none where it is negative, all from 8 on. */
#define BITS(n) ((UINT64_C(1) << (8 * (n))) - 1)
static const uint64_t FIRST[24] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, BITS(1), BITS(2), BITS(3), BITS(4), BITS(5), BITS(6), BITS(7), UINT64_MAX, UINT64_MAX, UINT64_MAX,
    UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
#endif

/* Not 0 if a slot has no bytes, or they are not those at a place with room for COPIED bytes. Without a branch on their number, which
 * nothing predicts. */
static inline uint64_t slot_differs(const st_slot *slot, const uint8_t *at)
{
    const size_t n = slot->length;
#if ST_SSE2
    const __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)slot), _mm_loadu_si128((const __m128i *)at));
    const uint32_t first = n ? (UINT32_C(1) << n) - 1 : UINT32_MAX;
    return ~(uint32_t)_mm_movemask_epi8(same) & first; /* the mask has 16 bits: its complement is not 0 where n is */
#else
    const uint8_t *bytes = slot->bytes;
    const uint64_t low = st_load64(bytes) ^ st_load64(at), high = st_load64(bytes + 8) ^ st_load64(at + 8);
    return (low & FIRST[8 + n]) | (high & FIRST[n]) | !n;
#endif
}

/* The ids, from the first on, that have slots and that the text goes on with; *at moves behind them. Four at a time: one branch says
 * that all of them fit, and otherwise they are looked at one by one. */
static size_t match_slots(const st_slots *slots, const uint32_t *ids, size_t count, const uint8_t **at, const uint8_t *end)
{
    const uint8_t *place = *at;
    const size_t fit = (size_t)(end - place) / COPIED, ids_with_slots = slots->count;
    size_t i = 0;
    for (count = fit < count ? fit : count; i + 4 <= count; i += 4) {
        const uint32_t a = st_read_once(&ids[i]), b = st_read_once(&ids[i + 1]), c = st_read_once(&ids[i + 2]);
        const uint32_t d = st_read_once(&ids[i + 3]);
        if (a >= ids_with_slots || b >= ids_with_slots || c >= ids_with_slots || d >= ids_with_slots)
            break;
        const st_slot *slot = slots->slot;
        const uint8_t *second = place + slot[a].length, *third = second + slot[b].length, *fourth = third + slot[c].length;
        if (slot_differs(&slot[a], place) | slot_differs(&slot[b], second) | slot_differs(&slot[c], third)
            | slot_differs(&slot[d], fourth))
            break;
        place = fourth + slot[d].length;
    }
    for (; i < count; i++) {
        const uint32_t id = st_read_once(&ids[i]);
        if (id >= ids_with_slots || slot_differs(&slots->slot[id], place))
            break;
        place += slots->slot[id].length;
    }
    *at = place;
    return i;
}
#endif

size_t st_decode_match(st_vocab *v, const st_names *names, const uint32_t *ids, size_t count, const uint8_t *text, size_t n,
                       size_t *bytes)
{
    const st_slots *slots = st_vocab_slots(v, count);
    const uint8_t *at = text, *const end = text + n;
    size_t i = 0;
    expect(v, slots, ids, count);
    while (i < count) {
#if ST_SWAR
        if (slots && (size_t)(end - at) >= COPIED) {
            const size_t matched = match_slots(slots, ids + i, count - i, &at, end);
            i += matched;
            if (i == count || matched)
                continue;
        }
#endif
        size_t size;
        const uint8_t *token = st_decode_one(v, names, st_read_once(&ids[i]), &size);
        if (!token || size > (size_t)(end - at) || memcmp(token, at, size))
            break;
        at += size;
        i++;
    }
    *bytes = (size_t)(at - text);
    return i;
}

size_t st_decode_match_back(const st_vocab *v, const st_names *names, const uint32_t *ids, size_t count, const uint8_t *text,
                            size_t n, size_t *bytes)
{
    size_t i = 0, left = n;
    for (; i < count; i++) {
        size_t size;
        const uint8_t *token = st_decode_one(v, names, st_read_once(&ids[count - 1 - i]), &size);
        if (!token || size > left || memcmp(token, text + left - size, size))
            break;
        left -= size;
    }
    *bytes = n - left;
    return i;
}

size_t st_ids_without(const uint32_t *ids, size_t count, const uint32_t *sorted, size_t sorted_count, uint32_t *to)
{
    const uint32_t first = sorted_count ? sorted[0] : UINT32_MAX, last = sorted_count ? sorted[sorted_count - 1] : 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t id = st_read_once(&ids[i]);
        to[kept] = id;
        kept += id < first || id > last || st_find_sorted(sorted, sorted_count, id) == sorted_count;
    }
    return kept;
}
