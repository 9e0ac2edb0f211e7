/* Ids to bytes: known and unknown ids, ids of special tokens, names that share an id with a token, failing allocations. The
 * bytes are compared with those in the lists of tokens and names. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#define IDS_MOST 200
#define NAMES_MOST 12

static struct {
    uint64_t lists, ids, unknown, failed_allocations;
} counts;

static source tokens;
static st_vocab *vocab;
static size_t made_for = SIZE_MAX;

/* ---- what is decoded ---- */

static void make_vocab(size_t number)
{
    if (number == made_for)
        return;
    rng r = {number, NULL, 0};
    st_vocab_free(vocab);
    source_free(&tokens);
    tokens = source_grown(&r);
    if (!rng_one_in(&r, 3))
        source_damage(&tokens, &r); /* leaves gaps between ids */
    vocab = source_vocab(&tokens, 64);
    made_for = number;
}

typedef struct name_list {
    uint8_t bytes[NAMES_MOST * 8];
    size_t starts[NAMES_MOST + 1];
    uint32_t ids[NAMES_MOST];
    st_names names;
} name_list;

/* Ascending ids, some of them those of tokens; names may be empty here, which the decoder allows. */
static void make_names(rng *r, name_list *list)
{
    const size_t count = rng_below(r, NAMES_MOST + 1);
    uint32_t id = (uint32_t)rng_below(r, 2 * (size_t)vocab->ids[vocab->count - 1]);
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        list->starts[i] = at;
        list->ids[i] = id;
        id += 1 + (uint32_t)rng_size(r, 300);
        for (size_t n = rng_below(r, 8); n; n--)
            list->bytes[at++] = (uint8_t)rng_next(r);
    }
    list->starts[count] = at;
    if (count && rng_one_in(r, 8))
        list->ids[count - 1] = UINT32_MAX;
    list->names = (st_names){list->bytes, list->starts, list->ids, count};
}

static uint32_t any_id(rng *r, const st_names *names)
{
    switch (rng_below(r, 16)) {
    case 0: return (uint32_t)rng_next(r);
    case 1: return vocab->ids[vocab->count - 1] + (uint32_t)rng_below(r, 3);
    case 2: case 3: case 4: return names->count ? names->ids[rng_below(r, names->count)] : 0;
    case 5: return (uint32_t)rng_below(r, (size_t)vocab->ids[vocab->count - 1] + 1);
    default: return vocab->ids[rng_below(r, vocab->count)];
    }
}

/* ---- by the lists ---- */

static const uint8_t *plain_bytes(const st_names *names, uint32_t id, size_t *n)
{
    size_t at = 0;
    for (size_t i = 0; i < tokens.count; at += tokens.lengths[i++])
        if (tokens.ids[i] == id) {
            *n = tokens.lengths[i];
            return tokens.bytes + at;
        }
    for (size_t i = 0; i < names->count; i++)
        if (names->ids[i] == id) {
            *n = names->starts[i + 1] - names->starts[i];
            return names->bytes + names->starts[i];
        }
    return NULL;
}

static size_t decode_plainly(const st_names *names, const uint32_t *ids, size_t count, st_bytes *text)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = 0, m = 0;
        const uint8_t *bytes = plain_bytes(names, ids[i], &n), *one = st_decode_one(vocab, names, ids[i], &m);
        CHECK(!bytes == !one);
        if (!bytes)
            return i;
        CHECK(m == n && same_bytes(one, bytes, n));
        CHECK(st_bytes_append(text, bytes, n) == ST_OK);
    }
    return count;
}

/* ---- the harness ---- */

static void check_list(rng *r, const st_names *names)
{
    const size_t count = rng_below(r, IDS_MOST);
    uint32_t *ids = take(count * sizeof *ids); /* of its size: a read beyond its end shows */
    st_bytes wanted = {0}, text = {0};
    size_t bad = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        ids[i] = any_id(r, names);
    CHECK(st_bytes_append(&wanted, "x", 1) == ST_OK && st_bytes_append(&text, "x", 1) == ST_OK);
    const size_t known = decode_plainly(names, ids, count, &wanted);
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = rng_one_in(r, 4) ? 0 : -1; status == ST_NO_MEMORY; succeeding = next_failure(succeeding)) {
        st_alloc_fail_after(succeeding);
        status = st_decode(vocab, names, ids, count, &text, &bad);
        st_alloc_fail_after(-1);
        CHECK(!status || text.size == 1);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    CHECK(status == (known == count ? ST_OK : ST_UNKNOWN_TOKEN) && (!status || bad == known));
    CHECK(status || (text.size == wanted.size && same_bytes(text.data, wanted.data, text.size)));
    counts.lists++;
    counts.ids += count;
    counts.unknown += status == ST_UNKNOWN_TOKEN;
    st_bytes_free(&wanted);
    st_bytes_free(&text);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static name_list list;
    rng r = rng_of(data, n);
    make_vocab(rng_below(&r, 65536));
    make_names(&r, &list);
    for (int i = 0; i < 4; i++)
        check_list(&r, &list.names);
    return 0;
}

void harness_close(void)
{
    st_vocab_free(vocab);
    source_free(&tokens);
    printf("fuzz_decode: %llu lists, %llu ids, %llu lists with unknown ones, %llu failed allocations: no difference\n",
           (unsigned long long)counts.lists, (unsigned long long)counts.ids, (unsigned long long)counts.unknown,
           (unsigned long long)counts.failed_allocations);
}
