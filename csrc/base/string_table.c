#include "base/string_table.h"

#include "base/alloc.h"

st_status st_string_table_init(st_string_table *table, size_t slots)
{
    size_t size = 16;
    while (size < slots)
        size *= 2;
    table->slots = st_malloc(size * sizeof *table->slots);
    table->mask = size - 1;
    if (!table->slots)
        return ST_NO_MEMORY;
    memset(table->slots, 0xff, size * sizeof *table->slots);
    return ST_OK;
}

void st_string_table_free(st_string_table *table)
{
    st_free(table->slots);
    table->slots = NULL;
}
