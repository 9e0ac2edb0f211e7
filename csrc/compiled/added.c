/* The matchers of added tokens: which names are sought in a text as it is given, and which once it is normalized, as
 * streamtok/model_files/added_tokens.py has it. */
#include "compiled/compiled.h"

/* The chosen names that are late, or that are not, as the arguments of st_special_new. */
typedef struct chosen_names {
    st_bytes joined, flags;
    size_t *lengths;
    uint32_t *ids;
    size_t count;
    uint32_t all_flags;
} chosen_names;

static void free_names(chosen_names *n)
{
    st_bytes_free(&n->joined);
    st_bytes_free(&n->flags);
    st_free(n->lengths);
    st_free(n->ids);
}

static st_status choose(chosen_names *n, const st_compiled *c, const uint8_t *chosen, uint32_t late, int by_number)
{
    *n = (chosen_names){0};
    n->lengths = st_calloc(c->added_count + 1, sizeof *n->lengths);
    n->ids = st_calloc(c->added_count + 1, sizeof *n->ids);
    if (!n->lengths || !n->ids)
        return ST_NO_MEMORY;
    for (uint32_t i = 0; i < c->added_count; i++) {
        const st_added *each = &c->added[i];
        const uint8_t flags = each->flags & (ST_NAME_TAKES_LEFT | ST_NAME_TAKES_RIGHT | ST_NAME_ALONE);
        if (!chosen[i] || (!by_number && (each->flags & ST_ADDED_LATE) != late))
            continue;
        const st_span text = by_number ? each->name : each->sought;
        ST_TRY(st_bytes_append(&n->joined, text.bytes, text.n));
        ST_TRY(st_bytes_append(&n->flags, &flags, 1));
        n->lengths[n->count] = text.n;
        n->ids[n->count++] = by_number ? i : each->id;
        n->all_flags |= flags;
    }
    return ST_OK;
}

static st_status matcher_of(const st_compiled *c, const uint8_t *chosen, uint32_t late, int by_number, st_special **found)
{
    static const uint8_t nothing[1];
    chosen_names n;
    st_status status = choose(&n, c, chosen, late, by_number);
    *found = NULL;
    if (!status)
        status = st_special_new(n.joined.size ? n.joined.data : nothing, n.lengths, n.ids, n.count, found);
    if (!status && n.all_flags && !by_number)
        status = st_special_set_flags(*found, n.flags.data, c->words, c->word_count / 2);
    free_names(&n);
    if (status && *found) {
        st_special_free(*found);
        *found = NULL;
    }
    return status;
}

static int has(const st_compiled *c, const uint8_t *chosen, int late)
{
    for (size_t i = 0; i < c->added_count; i++)
        if (chosen[i] && (!late || c->added[i].flags & ST_ADDED_LATE))
            return 1;
    return 0;
}

st_status st_compiled_names(const st_compiled *c, const uint8_t *chosen, st_special **found)
{
    st_special *late = NULL;
    *found = NULL;
    if (!has(c, chosen, 0))
        return ST_OK;
    if (has(c, chosen, 1))
        ST_TRY(matcher_of(c, chosen, ST_ADDED_LATE, 0, &late));
    const st_status status = matcher_of(c, chosen, 0, 0, found);
    if (status)
        st_special_free(late);
    else
        (*found)->late = late;
    return status;
}

st_status st_compiled_refused(const st_compiled *c, const uint8_t *chosen, st_special **found)
{
    *found = NULL;
    return has(c, chosen, 0) ? matcher_of(c, chosen, 0, 1, found) : ST_OK;
}

void st_compiled_names_free(st_special *names)
{
    if (names)
        st_special_free((st_special *)(uintptr_t)names->late);
    st_special_free(names);
}
