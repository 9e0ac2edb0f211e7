#include "compiled/reader.h"

#include "split/dfa_table.h"
#include "text/utf8_check.h"

static const uint8_t nothing[1];

static const uint8_t *take(st_reader *r, size_t n)
{
    if (r->failed || n > (size_t)(r->end - r->at)) {
        r->failed = r->failed ? r->failed : 1;
        return NULL;
    }
    const uint8_t *found = r->at;
    r->at += n;
    return found;
}

uint32_t st_read_number(st_reader *r)
{
    const uint8_t *bytes = take(r, 4);
    return bytes ? st_number_at((st_span){bytes, 4}, 0) : 0;
}

st_span st_read_span(st_reader *r)
{
    const size_t n = st_read_number(r);
    const uint8_t *bytes = take(r, n);
    return (st_span){bytes ? bytes : nothing, bytes ? n : 0};
}

st_span st_read_text(st_reader *r)
{
    st_text_error error;
    const st_span found = st_read_span(r);
    if (st_text_check(found.bytes, found.n, &error) != found.n)
        r->failed = 1;
    return found;
}

size_t st_read_count(st_reader *r, size_t least)
{
    const size_t count = st_read_number(r);
    if (!r->failed && count > (size_t)(r->end - r->at) / least)
        r->failed = 1;
    return r->failed ? 0 : count;
}

uint32_t *st_read_numbers(st_reader *r, size_t *count)
{
    *count = st_read_count(r, 4);
    const st_span numbers = {take(r, 4 * *count), 4 * *count};
    uint32_t *made = *count && !r->failed ? st_malloc(numbers.n) : NULL;
    if (!made) {
        r->failed = *count && !r->failed ? 2 : r->failed;
        *count = 0;
    }
    for (size_t i = 0; i < *count; i++)
        made[i] = st_number_at(numbers, i);
    return made;
}

st_status st_read_table(st_reader *r, st_dfa **dfa)
{
    st_dfa_table table = {0};
    *dfa = NULL;
    if (!st_read_number(r))
        return st_reader_status(r);
    table.classes = st_read_number(r);
    table.states = st_read_number(r);
    const st_span index = st_read_span(r), blocks = st_read_span(r), entries = st_read_span(r), ops = st_read_span(r);
    ST_TRY(st_reader_status(r));
    if (table.classes > ST_DFA_CLASSES || table.states > ST_DFA_STATES || index.n != ST_DFA_INDEX_BYTES || blocks.n % ST_DFA_BLOCK ||
        ops.n % 2 || entries.n != (size_t)4 * table.classes * table.states)
        return ST_BAD_IMAGE;
    table.index = index.bytes;
    table.blocks = blocks.bytes;
    table.block_count = blocks.n / ST_DFA_BLOCK;
    table.entries = entries.bytes;
    table.ops = ops.bytes;
    table.op_count = ops.n / 2;
    const st_status status = st_dfa_new(&table, dfa);
    return status == ST_NO_MEMORY ? status : status ? ST_BAD_IMAGE : ST_OK;
}
