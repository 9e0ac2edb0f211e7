/* Lists of merges of every kind: one pair for each token, in the order that st_merge_list_order gives, merges texts as the list does
 * by its definition; and nothing is lost or left when memory is short. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#include "vocab/merge_list.h"

#define MOST_TOKENS 40 /* besides single bytes */
#define MOST_MERGES 120
#define LONGEST 40
#define TEXT 48

static struct {
    uint64_t lists, out_of_order, texts, failed_allocations;
} counts;

typedef struct listed {
    uint8_t bytes[256 + MOST_TOKENS * LONGEST];
    uint32_t lengths[256 + MOST_TOKENS], starts[256 + MOST_TOKENS + 1], ids[256 + MOST_TOKENS];
    uint8_t kinds[256 + MOST_TOKENS];
    uint32_t left[MOST_MERGES], right[MOST_MERGES], made[MOST_MERGES];
    st_merge_list list;
} listed;

static uint32_t find(const listed *l, const uint8_t *bytes, size_t n)
{
    for (uint32_t t = 0; t < l->list.count; t++)
        if (l->lengths[t] == n && same_bytes(l->bytes + l->starts[t], bytes, n))
            return t;
    return ST_NONE;
}

static void add(listed *l, const uint8_t *bytes, size_t n, uint8_t kind)
{
    const size_t t = l->list.count++;
    memmove(l->bytes + l->starts[t], bytes, n);
    l->lengths[t] = (uint32_t)n;
    l->starts[t + 1] = l->starts[t] + (uint32_t)n;
    l->kinds[t] = kind;
}

/* Tokens of two others, or of any bytes. */
static void make_tokens(rng *r, listed *l)
{
    for (unsigned value = 0; value < 256; value++)
        add(l, &(uint8_t){(uint8_t)value}, 1, ST_TOKEN_START);
    for (size_t i = rng_below(r, MOST_TOKENS); i; i--) {
        uint8_t bytes[2 * LONGEST];
        size_t n = 0;
        for (int half = 0; half < 2; half++) {
            const size_t t = rng_one_in(r, 2) ? 'a' + rng_below(r, 3) : 256 + rng_below(r, l->list.count - 255);
            const size_t token = t < l->list.count ? t : 'a';
            memcpy(bytes + n, l->bytes + l->starts[token], l->lengths[token]);
            n += l->lengths[token];
        }
        if (n <= LONGEST && find(l, bytes, n) == ST_NONE)
            add(l, bytes, n, rng_one_in(r, 12) ? ST_TOKEN_SILENT : ST_TOKEN_MADE);
    }
    const int mixed = rng_one_in(r, 2);
    for (uint32_t t = 0; t < l->list.count; t++)
        l->ids[t] = mixed ? (t * 7919u) % 100003u : t;
}

/* Merges of any two tokens that make a third, some of them again. A silent token is in none. */
static void make_merges(rng *r, listed *l)
{
    const int ordered = rng_one_in(r, 2); /* by the places of what they make */
    for (size_t tries = 2 * MOST_MERGES; tries && l->list.count > 256 && l->list.merges < MOST_MERGES; tries--) {
        const size_t reach = l->list.count - 256, number = ordered ? reach * (2 * MOST_MERGES - tries) / (2 * MOST_MERGES) : rng_below(r, reach);
        const uint32_t made = 256 + (uint32_t)number, n = l->lengths[made], split = 1 + (uint32_t)rng_below(r, n - 1);
        const uint8_t *bytes = l->bytes + l->starts[made];
        const uint32_t left = find(l, bytes, split), right = find(l, bytes + split, n - split);
        if (left == ST_NONE || right == ST_NONE || l->kinds[left] == ST_TOKEN_SILENT || l->kinds[right] == ST_TOKEN_SILENT ||
            l->kinds[made] == ST_TOKEN_SILENT)
            continue;
        const size_t m = l->list.merges++;
        l->left[m] = left;
        l->right[m] = right;
        l->made[m] = made;
    }
}

/* ---- the two ways to merge ---- */

/* The number of the merge of two tokens: the last of equal ones. ST_NONE: they do not merge. */
static uint32_t by_list(const listed *l, const uint32_t *rank, const uint32_t *splits, uint32_t left, uint32_t right, uint32_t *made)
{
    uint32_t found = ST_NONE;
    (void)rank;
    (void)splits;
    for (uint32_t m = 0; m < l->list.merges; m++)
        if (l->left[m] == left && l->right[m] == right) {
            found = m;
            *made = l->made[m];
        }
    return found;
}

static uint32_t by_order(const listed *l, const uint32_t *rank, const uint32_t *splits, uint32_t left, uint32_t right, uint32_t *made)
{
    for (uint32_t t = 256; t < l->list.count; t++) {
        const uint32_t split = splits[rank[t]];
        if (split == 0 || split == ST_SILENT || split != l->lengths[left] || l->lengths[t] != split + l->lengths[right])
            continue;
        if (same_bytes(l->bytes + l->starts[t], l->bytes + l->starts[left], split) &&
            same_bytes(l->bytes + l->starts[t] + split, l->bytes + l->starts[right], l->lengths[right])) {
            *made = t;
            return rank[t];
        }
    }
    return ST_NONE;
}

typedef uint32_t pair_function(const listed *, const uint32_t *, const uint32_t *, uint32_t, uint32_t, uint32_t *);

static size_t merge(const listed *l, const uint32_t *rank, const uint32_t *splits, pair_function *pair, uint32_t *tokens, size_t n)
{
    for (;;) {
        uint32_t best = ST_NONE, makes = 0, made = 0;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const uint32_t number = pair(l, rank, splits, tokens[i], tokens[i + 1], &made);
            if (number < best) {
                best = number;
                makes = made;
                at = i;
            }
        }
        if (best == ST_NONE)
            return n;
        tokens[at] = makes;
        memmove(tokens + at + 1, tokens + at + 2, (n - at - 2) * sizeof *tokens);
        n--;
    }
}

static void check_text(rng *r, const listed *l, const uint32_t *rank, const uint32_t *splits)
{
    uint32_t a[TEXT], b[TEXT];
    const size_t n = 1 + rng_below(r, TEXT);
    const size_t letters = 1 + rng_below(r, 3);
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] = 'a' + (uint32_t)rng_below(r, letters);
    const size_t count = merge(l, rank, splits, by_list, a, n);
    CHECK(merge(l, rank, splits, by_order, b, n) == count && same_bytes(a, b, count * sizeof *a));
    counts.texts++;
}

static void check_list(rng *r, listed *l)
{
    uint32_t order[256 + MOST_TOKENS], splits[256 + MOST_TOKENS], rank[256 + MOST_TOKENS];
    const int64_t live = st_alloc_read().live;
    int in_order = 0;
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = rng_one_in(r, 8) ? 0 : -1; status; succeeding = next_failure(succeeding)) {
        CHECK(status == ST_NO_MEMORY);
        st_alloc_fail_after(succeeding);
        status = st_merge_list_order(&l->list, order, splits, &in_order);
        st_alloc_fail_after(-1);
        CHECK(st_alloc_read().live == live);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    memset(rank, 0xff, sizeof rank);
    for (uint32_t i = 0; i < l->list.count; i++) {
        CHECK(order[i] < l->list.count && rank[order[i]] == ST_NONE);
        rank[order[i]] = i;
        CHECK((splits[i] == ST_SILENT) == (l->kinds[order[i]] == ST_TOKEN_SILENT));
        CHECK(splits[i] == ST_SILENT || splits[i] < l->lengths[order[i]]);
    }
    for (int i = 0; i < 6; i++)
        check_text(r, l, rank, splits);
    counts.lists++;
    counts.out_of_order += !in_order;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    listed *l = take(sizeof *l);
    memset(l, 0, sizeof *l);
    l->list = (st_merge_list){l->bytes, l->lengths, l->ids, l->kinds, 0, l->left, l->right, l->made, 0};
    make_tokens(&r, l);
    make_merges(&r, l);
    check_list(&r, l);
    free(l);
    return 0;
}

void harness_close(void)
{
    printf("fuzz_lists: %llu lists, %llu of them out of order, %llu texts, %llu failed allocations: no difference\n",
           (unsigned long long)counts.lists, (unsigned long long)counts.out_of_order, (unsigned long long)counts.texts,
           (unsigned long long)counts.failed_allocations);
}
