#include "special.h"

#include <string.h>

#include "alloc.h"

static uint32_t child_of(const st_special *s, uint32_t node, uint8_t byte)
{
    if (node == 0)
        return s->first[byte];
    uint32_t child = s->nodes[node].child;
    while (child && s->nodes[child].byte != byte)
        child = s->nodes[child].sibling;
    return child;
}

static st_status add_child(st_special *s, uint32_t node, uint8_t byte, uint32_t *child)
{
    if (s->count == s->capacity) {
        st_special_node *nodes = st_realloc(s->nodes, 2 * (size_t)s->capacity * sizeof *nodes);
        if (!nodes)
            return ST_NO_MEMORY;
        s->nodes = nodes;
        s->capacity *= 2;
    }
    *child = s->count++;
    s->nodes[*child] = (st_special_node){0, s->nodes[node].child, ST_NO_SPECIAL, byte};
    s->nodes[node].child = *child;
    if (node == 0)
        s->first[byte] = *child;
    return ST_OK;
}

static st_status add_name(st_special *s, const uint8_t *name, size_t n, uint32_t id)
{
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t child = child_of(s, node, name[i]);
        if (!child && add_child(s, node, name[i], &child))
            return ST_NO_MEMORY;
        node = child;
    }
    s->nodes[node].id = id;
    if (s->only_first == -2)
        s->only_first = name[0];
    else if (s->only_first != name[0])
        s->only_first = -1;
    s->longest = n > s->longest ? n : s->longest;
    return ST_OK;
}

st_status st_special_new(const uint8_t *names, const size_t *lengths, const uint32_t *ids, size_t count,
                         st_special **special)
{
    st_status status = ST_OK;
    st_special *s = *special = st_calloc(1, sizeof *s);
    if (!s)
        return ST_NO_MEMORY;
    s->capacity = 64;
    s->only_first = -2; /* no name yet */
    s->nodes = st_malloc(s->capacity * sizeof *s->nodes);
    if (!s->nodes)
        status = ST_NO_MEMORY;
    else
        s->nodes[s->count++] = (st_special_node){0, 0, ST_NO_SPECIAL, 0};
    for (size_t i = 0; i < count && !status; names += lengths[i++])
        status = lengths[i] ? add_name(s, names, lengths[i], ids[i]) : ST_EMPTY_TOKEN;
    if (status) {
        st_special_free(s);
        *special = NULL;
    }
    return status;
}

void st_special_free(st_special *s)
{
    if (!s)
        return;
    st_free(s->nodes);
    st_free(s);
}

/* First place in text[from..until) where some name may begin. */
static size_t next_start(const st_special *s, const uint8_t *text, size_t from, size_t until)
{
    if (s->only_first >= 0) {
        const uint8_t *hit = from < until ? memchr(text + from, s->only_first, until - from) : NULL;
        return hit ? (size_t)(hit - text) : until;
    }
    while (from < until && !s->first[text[from]])
        from++;
    return from;
}

st_special_result st_special_find(const st_special *s, const uint8_t *text, size_t from, size_t until, size_t n,
                                  int final, st_special_match *match)
{
    if (s->longest == 0)
        return ST_SPECIAL_NONE;
    for (size_t start = from; (start = next_start(s, text, start, until)) < until; start++) {
        uint32_t node = 0, id = ST_NO_SPECIAL;
        size_t at = start, end = 0;
        while (at < n && (node = child_of(s, node, text[at])) != 0) {
            at++;
            if (s->nodes[node].id != ST_NO_SPECIAL) {
                id = s->nodes[node].id;
                end = at;
            }
        }
        int open = at == n && node && s->nodes[node].child && !final; /* the text ended inside a name */
        if (!open && id == ST_NO_SPECIAL)
            continue;
        *match = (st_special_match){start, end, id};
        return open ? ST_SPECIAL_HELD : ST_SPECIAL_FOUND;
    }
    return ST_SPECIAL_NONE;
}
