#include "pairs/merge_reference.h"

#include "base/interrupt.h"

/* A symbol is named by the position of its first byte. */
typedef struct symbol {
    uint32_t token;
    uint32_t version;
    size_t next; /* position of the symbol behind it, n at the end */
    size_t previous;
} symbol;

/* Work of taking a candidate, in the unit of st_go_on (base/interrupt.h). */
#define POP_COSTS 16

typedef struct candidate {
    uint32_t merged;
    uint32_t version;
    size_t left; /* position of the left symbol */
} candidate;

typedef struct merging {
    const st_pairs *pairs;
    symbol *symbols;
    candidate *heap;
    size_t heap_size, n;
} merging;

static inline int before(const void *none, const candidate *a, const candidate *b)
{
    (void)none;
    return a->merged != b->merged ? a->merged < b->merged : a->left < b->left;
}

#define ST_HEAP_ENTRY candidate
#define ST_HEAP_CONTEXT const void *
#define ST_HEAP_BEFORE before
#include "base/heap_template.h"

/* Adds the candidate for merging the symbol at `left` with its right neighbour. Earlier candidates of that symbol become stale. */
static void offer(merging *m, size_t left)
{
    symbol *p = &m->symbols[left];
    p->version++;
    if (p->next == m->n)
        return;
    uint32_t merged = st_pairs_find(m->pairs, p->token, m->symbols[p->next].token);
    if (merged != ST_NONE)
        st_heap_push(NULL, m->heap, m->heap_size++, (candidate){merged, p->version, left});
}

static void apply(merging *m, candidate c)
{
    symbol *p = &m->symbols[c.left];
    symbol *swallowed = &m->symbols[p->next];
    p->token = c.merged;
    p->next = swallowed->next;
    swallowed->version = UINT32_MAX; /* no candidate has this version, so all candidates of the swallowed symbol are stale */
    if (p->next < m->n)
        m->symbols[p->next].previous = c.left;
    offer(m, c.left);
    if (c.left)
        offer(m, p->previous);
}

/* Room for 3n candidates: n at the start, and two for each of the fewer than n merges. */
static st_status prepare(merging *m, const uint8_t *text, st_reference_scratch *scratch)
{
    if (scratch->capacity < m->n) {
        if (m->n > SIZE_MAX / 4 / (sizeof(symbol) + 3 * sizeof(candidate)))
            return ST_NO_MEMORY;
        void *block = st_realloc(scratch->block, m->n * (sizeof(symbol) + 3 * sizeof(candidate)));
        if (!block)
            return ST_NO_MEMORY;
        scratch->block = block;
        scratch->capacity = m->n;
    }
    m->symbols = scratch->block;
    m->heap = (candidate *)(m->symbols + m->n);
    for (size_t i = 0; i < m->n; i++)
        m->symbols[i] = (symbol){m->pairs->byte_token[text[i]], 0, i + 1, i - 1};
    for (size_t i = 0; i < m->n; i++) {
        offer(m, i);
        ST_TRY(st_go_on(POP_COSTS));
    }
    return ST_OK;
}

st_status st_reference_merge(const st_pairs *pairs, const uint8_t *text, size_t n, st_reference_scratch *scratch,
                             st_ids *out)
{
    merging m = {pairs, NULL, NULL, 0, n};
    if (n == 0)
        return ST_OK;
    ST_TRY(st_ids_reserve(out, n));
    ST_TRY(prepare(&m, text, scratch));
    while (m.heap_size) {
        ST_TRY(st_go_on(POP_COSTS));
        candidate c = st_heap_pop(NULL, m.heap, m.heap_size--);
        if (c.version == m.symbols[c.left].version)
            apply(&m, c);
    }
    for (size_t i = 0; i < n; i = m.symbols[i].next)
        out->data[out->size++] = m.symbols[i].token;
    return ST_OK;
}

void st_reference_scratch_free(st_reference_scratch *scratch)
{
    st_free(scratch->block);
    scratch->block = NULL;
    scratch->capacity = 0;
}
