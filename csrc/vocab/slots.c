#include "vocab/slots.h"

#include <string.h>

#include "base/alloc.h"
#include "base/interrupt.h"

_Static_assert(sizeof(st_slot) == 16 && offsetof(st_slots, slot) == 64, "slots are quarters of cache lines");

/* When slots pay. A slot takes 6 ns to make, most of it for fresh memory. With slots an id takes 1.5 ns less than with the arrays of a
 * vocabulary whose ids are its indices, and some 25 ns less than where the index of an id is searched (Zen 5). They are made when ids
 * were decoded without them for as long as it takes to make them: whatever comes then, all takes at most twice the time of the best
 * choice. A program that decodes little never pays for them, nor for their memory: 3.2 MB for 200,000 ids. */
#define ID_COSTS 1
#define SEARCHED_ID_COSTS 16
#define SLOT_COSTS 4

/* Slots are for ids up to twice the number of tokens. Tokens with higher ids are few, or far apart. */
static size_t slots_for(const st_vocab *v)
{
    const size_t ids = (size_t)st_vocab_highest(v) + 1, most = 2 * (size_t)v->count;
    return ids < most ? ids : most;
}

static void release(st_attached *attached)
{
    st_free(attached); /* its first member */
}

static st_status build(st_attached *made, const st_vocab *v)
{
    st_slots *slots = (st_slots *)made; /* its first member */
    slots->count = slots_for(v);
    for (uint32_t i = 0; i < v->count; i++) {
        const size_t n = st_token_length(v, i);
        if (v->ids[i] >= slots->count || n > ST_SLOT_BYTES)
            continue;
        st_slot *slot = &slots->slot[v->ids[i]];
        memcpy(slot->bytes, st_token_bytes(v, i), n);
        slot->length = (uint8_t)n;
    }
    return ST_OK;
}

const st_slots *st_vocab_slots(st_vocab *v, size_t ids)
{
    const st_slots *made = st_acquire((void **)&v->slots);
    if (made)
        return made;
    const uint64_t costs = ids * (uint64_t)(v->identity ? ID_COSTS : SEARCHED_ID_COSTS);
    const size_t count = slots_for(v);
    if (st_number_add(&v->spent_decoding, costs) < SLOT_COSTS * (uint64_t)count)
        return NULL;
    const st_attached_kind kind = {sizeof(st_slots) + count * sizeof(st_slot), build, release};
    return st_attach(&v->slots, &kind, v);
}
