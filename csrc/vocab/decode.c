#include "vocab/decode.h"

#include "base/interrupt.h"
#include "base/search.h"

/* Ids between two calls of st_go_on. */
#define STEP 4096

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

st_status st_decode(const st_vocab *v, const st_names *names, const uint32_t *ids, size_t count, st_bytes *out,
                    size_t *bad)
{
    size_t before = out->size;
    for (size_t i = 0; i < count; i++) {
        size_t n;
        const uint8_t *bytes = st_decode_one(v, names, ids[i], &n);
        if (i % STEP == STEP - 1 && st_go_on(4 * STEP)) {
            out->size = before;
            return ST_INTERRUPTED;
        }
        if (!bytes || st_bytes_append(out, bytes, n)) {
            out->size = before;
            *bad = i;
            return bytes ? ST_NO_MEMORY : ST_UNKNOWN_TOKEN;
        }
    }
    return ST_OK;
}
