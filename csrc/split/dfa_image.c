/* Writes the table of a compiled pattern for the memory of a device. */
#include "split/dfa.h"
#include "split/dfa_table.h"

#include <string.h>

/* The parts lie behind the struct. */
#define PARTS_AT ((sizeof(st_dfa) + 63) & ~(size_t)63)

/* Moves a pointer into the parts, the first of which is `entries`. */
#define MOVE(field) (copy.field = (void *)(uintptr_t)(parts + (uint64_t)((const uint8_t *)dfa->field - (const uint8_t *)dfa->entries)))

size_t st_dfa_image(const st_dfa *dfa, uint64_t address, uint8_t *to)
{
    const uint64_t parts = address + PARTS_AT;
    st_dfa copy = *dfa;
    if (!to)
        return PARTS_AT + dfa->size;
    MOVE(entries);
    MOVE(hot);
    MOVE(hot_rows);
    MOVE(hot_of);
    MOVE(about);
    MOVE(effects);
    MOVE(effect_of);
    MOVE(sync);
    MOVE(index);
    MOVE(blocks);
    MOVE(whole_rows);
    copy.block = NULL;
    memcpy(to, &copy, sizeof copy);
    memset(to + sizeof copy, 0, PARTS_AT - sizeof copy);
    memcpy(to + PARTS_AT, dfa->entries, dfa->size);
    return PARTS_AT + dfa->size;
}
