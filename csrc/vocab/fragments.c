#include "vocab/vocab.h"

/* Whether a text can hold the byte: UTF-8 never has the others. */
static int is_in_texts(uint8_t byte)
{
    return byte < 0xC0 || (byte > 0xC1 && byte < 0xF5);
}

void st_vocab_find_fragments(st_vocab *v)
{
    const uint32_t *ids = v->sorted_ids ? v->sorted_ids : v->ids;
    while (v->fragments + 1 < v->count && ids[v->count - v->fragments - 1] >= ST_FIRST_FRAGMENT) {
        const uint32_t at = v->count - ++v->fragments, index = v->by_id ? v->by_id[at] : at;
        v->spells |= st_token_length(v, index) > 1 || is_in_texts(*st_token_bytes(v, index));
    }
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
