#include "vocab/vocab.h"

st_status st_vocab_refuse_fragments(const st_vocab *v, st_ids *ids, size_t from)
{
    for (size_t i = from; v->fragments && i < ids->size; i++)
        if (ids->data[i] >= ST_FIRST_FRAGMENT)
            return ST_MISSING_BYTE;
    return ST_OK;
}

st_status st_vocab_spell(const st_vocab *v, st_ids *ids, size_t from)
{
    size_t more = 0;
    for (size_t i = from; i < ids->size; i++) {
        if (ids->data[i] < ST_FIRST_FRAGMENT)
            continue;
        const size_t n = st_token_length(v, st_vocab_index(v, ids->data[i]));
        if (n == 1)
            return ST_MISSING_BYTE;
        more += n - 1;
    }
    ST_TRY(st_ids_reserve(ids, more));
    size_t read = ids->size, written = ids->size += more;
    while (read < written) { /* from the end on, so nothing is overwritten that is still to be read */
        const uint32_t id = ids->data[--read];
        if (id < ST_FIRST_FRAGMENT) {
            ids->data[--written] = id;
            continue;
        }
        const uint32_t index = st_vocab_index(v, id);
        for (size_t i = st_token_length(v, index); i > 0; i--)
            ids->data[--written] = v->ids[v->pairs.byte_token[st_token_bytes(v, index)[i - 1]]];
    }
    return ST_OK;
}
