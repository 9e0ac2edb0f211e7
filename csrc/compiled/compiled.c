#include "compiled/compiled.h"

#include <string.h>

#include "base/search.h"
#include "checksum/sum64.h"
#include "split/dfa_table.h"
#include "split/scan.h"
#include "text/utf8_check.h"

static const uint8_t magic[8] = {'s', 't', 'm', 'o', 'd', 'e', 'l', 0x1a};
static const uint8_t nothing[1];

#define BYTE_ORDER_MARK 0x01020304u
#define CHECKED_FROM (offsetof(st_compiled_header, checksum) + sizeof(uint64_t))

_Static_assert(sizeof(st_compiled_header) <= ST_COMPILED_HEAD, "the head has room for its numbers");

/* ---- the head ---- */

static st_status read_head(const uint8_t *file, size_t n, st_span *sections, st_compiled_fault *fault)
{
    st_compiled_header h;
    *fault = ST_COMPILED_OTHER_FILE;
    if (n < ST_COMPILED_HEAD || memcmp(file, magic, sizeof magic))
        return ST_BAD_IMAGE;
    memcpy(&h, file, sizeof h);
    *fault = ST_COMPILED_OTHER_MACHINE;
    if (h.byte_order != BYTE_ORDER_MARK)
        return ST_BAD_IMAGE;
    *fault = ST_COMPILED_OTHER_VERSION;
    if (h.version != ST_COMPILED_VERSION || h.image_version != ST_IMAGE_VERSION || h.table_version != ST_COMPILED_TABLE_VERSION)
        return ST_BAD_IMAGE;
    *fault = ST_COMPILED_DAMAGED;
    if ((uintptr_t)file % ST_COMPILED_ALIGNMENT || h.size != n || h.checksum != st_sum64(file + CHECKED_FROM, n - CHECKED_FROM))
        return ST_BAD_IMAGE;
    for (int i = 0; i < ST_COMPILED_SECTIONS; i++) {
        const st_image_place place = h.sections[i];
        if (place.start > n || place.size > n - place.start)
            return ST_BAD_IMAGE;
        sections[i] = (st_span){file + place.start, (size_t)place.size};
    }
    return ST_OK;
}

/* ---- what splits, and names ---- */

st_status st_compiled_read_table(st_reader *r, st_dfa **dfa)
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

static st_status read_pattern(st_compiled *c, st_reader *r)
{
    const st_span name = st_read_span(r);
    int family = ST_SPLIT_NONE;
    ST_TRY(st_compiled_read_table(r, &c->dfa));
    for (int i = 0; i < ST_SPLIT_FAMILIES; i++) {
        const char *known = st_row_name((st_split_family)i);
        if (known && strlen(known) == name.n && !memcmp(known, name.bytes, name.n))
            family = i;
    }
    if (name.n == 5 && !memcmp(name.bytes, "table", 5))
        family = ST_SPLIT_TABLE;
    else if (family == ST_SPLIT_NONE && (name.n != 4 || memcmp(name.bytes, "none", 4)))
        return ST_BAD_IMAGE;
    if (!c->dfa && family != ST_SPLIT_NONE) {
        const st_status status = family == ST_SPLIT_TABLE ? ST_BAD_TABLE : st_dfa_of_row((st_split_family)family, &c->dfa);
        if (status)
            return status == ST_NO_MEMORY ? status : ST_BAD_IMAGE;
    } else if (c->dfa && family == ST_SPLIT_NONE) {
        return ST_BAD_IMAGE;
    }
    c->pattern = st_pattern_of((st_split_family)family, c->dfa);
    return st_reader_status(r);
}

#define NAME_FLAGS (ST_NAME_TAKES_LEFT | ST_NAME_TAKES_RIGHT | ST_NAME_ALONE | ST_ADDED_SPECIAL | ST_ADDED_LATE)

static st_status read_added(st_compiled *c, st_reader *r)
{
    c->added_count = st_read_count(r, 16);
    c->added = st_calloc(c->added_count + 1, sizeof *c->added);
    if (!c->added)
        return ST_NO_MEMORY;
    for (size_t i = 0; i < c->added_count; i++) {
        st_added *each = &c->added[i];
        each->id = st_read_number(r);
        each->flags = st_read_number(r);
        each->name = st_read_text(r);
        each->sought = st_read_text(r);
        each->sought = each->sought.n ? each->sought : each->name;
        c->lowest_added = !i || each->id < c->lowest_added ? each->id : c->lowest_added;
        c->highest_added = each->id > c->highest_added ? each->id : c->highest_added;
        if (!each->name.n || each->flags & ~(unsigned)NAME_FLAGS)
            return st_reader_status(r) ? st_reader_status(r) : ST_BAD_IMAGE;
    }
    c->words = st_read_numbers(r, &c->word_count);
    for (size_t i = 0; i < c->word_count; i++)
        if (c->words[i] > 0x10FFFF || (i && c->words[i] < c->words[i - 1] + !(i % 2)))
            return ST_BAD_IMAGE;
    return c->word_count % 2 ? ST_BAD_IMAGE : st_reader_status(r);
}

/* ---- other ids ---- */

static st_status read_names(st_compiled *c, st_reader *r)
{
    const size_t count = st_read_count(r, 8);
    uint32_t *ids = st_malloc((count + 1) * sizeof *ids);
    size_t *starts = st_malloc((count + 1) * sizeof *starts);
    c->names = (st_names){NULL, starts, ids, count};
    st_bytes all = {0};
    st_status status = ids && starts ? ST_OK : ST_NO_MEMORY;
    for (size_t i = 0; i < count && !status; i++) {
        ids[i] = st_read_number(r);
        const st_span text = st_read_span(r);
        starts[i] = all.size;
        status = st_bytes_append(&all, text.bytes, text.n);
    }
    if (!status)
        status = st_bytes_reserve(&all, 1); /* so that it is not NULL */
    c->names.bytes = all.data;
    if (status)
        return status;
    starts[count] = all.size;
    if (!st_ascends(ids, count))
        return ST_BAD_IMAGE;
    c->skipped = st_read_numbers(r, &c->skipped_count);
    size_t of_bytes;
    c->of_bytes = st_read_numbers(r, &of_bytes);
    ST_TRY(st_reader_status(r));
    return (of_bytes && of_bytes != 256) || !st_ascends(c->skipped, c->skipped_count) ? ST_BAD_IMAGE : ST_OK;
}

static st_status read_rules(st_compiled *c, st_reader *r)
{
    if (!st_read_number(r))
        return st_reader_status(r);
    c->rules = st_calloc(1, sizeof *c->rules);
    return c->rules ? st_rules_read(c->rules, r) : ST_NO_MEMORY;
}

/* ---- all of it ---- */

static st_status read_parts(st_compiled *c, st_reader *r)
{
    c->name = st_read_text(r);
    ST_TRY(read_pattern(c, r));
    ST_TRY(read_added(c, r));
    ST_TRY(st_compiled_read_steps(c, r));
    ST_TRY(read_names(c, r));
    c->prefix = st_read_numbers(r, &c->prefix_count);
    c->suffix = st_read_numbers(r, &c->suffix_count);
    ST_TRY(read_rules(c, r));
    ST_TRY(st_reader_status(r));
    return r->at == r->end ? ST_OK : ST_BAD_IMAGE;
}

st_status st_compiled_open(const uint8_t *file, size_t n, st_find_model *models, st_compiled **compiled, st_compiled_fault *fault)
{
    st_span sections[ST_COMPILED_SECTIONS];
    *compiled = NULL;
    ST_TRY(read_head(file, n, sections, fault));
    st_compiled *c = st_calloc(1, sizeof *c);
    if (!c)
        return ST_NO_MEMORY;
    const st_span parts = sections[ST_COMPILED_PARTS], image = sections[ST_COMPILED_IMAGE];
    st_reader r = {parts.n ? parts.bytes : nothing, parts.n ? parts.bytes + parts.n : nothing, 0};
    st_status status = read_parts(c, &r);
    if (!status)
        status = st_image_open_foreign(image.bytes, image.n, models, &c->vocab);
    if (status) {
        st_compiled_free(c);
        return status == ST_NO_MEMORY ? status : ST_BAD_IMAGE;
    }
    *compiled = c;
    return ST_OK;
}

void st_compiled_free(st_compiled *c)
{
    if (!c)
        return;
    st_vocab_free(c->vocab);
    st_dfa_free(c->dfa);
    for (size_t i = 0; i < c->normalizer_count; i++)
        st_normalizer_free(&c->normalizers[i]);
    for (size_t i = 0; i < c->table_count; i++)
        st_dfa_free(c->tables[i]);
    if (c->rules)
        st_rules_free(c->rules);
    st_free(c->rules);
    st_free(c->added);
    st_free(c->words);
    st_free((void *)(uintptr_t)c->names.bytes);
    st_free((void *)(uintptr_t)c->names.starts);
    st_free((void *)(uintptr_t)c->names.ids);
    st_free(c->skipped);
    st_free(c->of_bytes);
    st_free(c->prefix);
    st_free(c->suffix);
    st_free(c);
}
