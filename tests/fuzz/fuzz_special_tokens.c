/* Special names of any bytes, allowed and disallowed, in texts full of them, cut anywhere: the leftmost name wins, of those
 * that begin at one place the longest; a disallowed one is reported with its place; what lies between allowed names is text
 * of its own; and no more is pending than the beginning of a name. A search that compares names gives the expected results. */
#include "base/utf8.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#define NAMES_MOST 24
#define NAME_BYTES 40
#define TEXT_MOST 600
#define FIRST_ID 1000u

static struct {
    uint64_t sets, texts, feeds, names, refused, failed_allocations;
} counts;

typedef struct name_set {
    uint8_t bytes[NAMES_MOST][NAME_BYTES];
    size_t lengths[NAMES_MOST], count, longest;
    st_special *special;
} name_set;

static name_set allowed, disallowed;
static uint8_t text[TEXT_MOST + NAME_BYTES];
static size_t size;
static st_vocab *vocab; /* the 256 bytes */

static void describe(void)
{
    for (size_t i = 0; i < allowed.count; i++)
        print_bytes("allowed", allowed.bytes[i], allowed.lengths[i]);
    for (size_t i = 0; i < disallowed.count; i++)
        print_bytes("disallowed", disallowed.bytes[i], disallowed.lengths[i]);
    print_bytes("text", text, size);
}

static void open_vocab(void)
{
    uint8_t bytes[256];
    uint32_t lengths[256], ids[256];
    size_t bad;
    const st_vocab_source from = {.bytes = bytes, .lengths = lengths, .ids = ids, .count = 256, .model = &st_model_bpe};
    for (uint32_t i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
        lengths[i] = 1;
        ids[i] = i;
    }
    CHECK(st_vocab_new(&from, 64, &vocab, &bad) == ST_OK);
    describe_failure = describe;
}

/* ---- names and texts ---- */

/* Few letters, so that names begin, end and hold each other; a character of two bytes, so that they end inside one. */
static size_t put_unit(rng *r, uint8_t *to, size_t letters)
{
    static const char *const units[] = {"a", "b", "<", "|", "\xC3\xA9", "\xC3\xB6", "\n", " ", "\xF0\x9F\x98\x80", "A"};
    const char *unit = units[rng_below(r, letters)];
    memcpy(to, unit, strlen(unit));
    return strlen(unit);
}

static int is_there(const name_set *set, const uint8_t *name, size_t n)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->lengths[i] == n && same_bytes(set->bytes[i], name, n))
            return 1;
    return 0;
}

static size_t make_name(rng *r, size_t letters, uint8_t *name)
{
    size_t n = 0;
    if (allowed.count && rng_one_in(r, 3)) { /* the beginning of another, which goes on in its own way */
        const size_t i = rng_below(r, allowed.count);
        n = rng_below(r, allowed.lengths[i] + 1);
        n -= st_utf8_unfinished(allowed.bytes[i], n); /* a name is whole characters, as any str */
        memcpy(name, allowed.bytes[i], n);
    }
    for (size_t units = rng_size(r, 8); units && n + 4 <= NAME_BYTES; units--)
        n += put_unit(r, name + n, letters);
    return n;
}

static void make_set(rng *r, size_t letters, size_t most, const name_set *other, name_set *set)
{
    set->count = set->longest = 0;
    for (size_t tries = rng_below(r, most + 1); tries; tries--) {
        uint8_t *name = set->bytes[set->count];
        const size_t n = make_name(r, letters, name);
        if (!n || is_there(set, name, n) || (other && is_there(other, name, n)))
            continue;
        set->lengths[set->count++] = n;
        set->longest = n > set->longest ? n : set->longest;
    }
}

static void make_text(rng *r, size_t letters)
{
    size = 0;
    for (size_t units = rng_size(r, 120); units && size + NAME_BYTES < TEXT_MOST; units--) {
        const name_set *set = rng_one_in(r, 2) ? &allowed : &disallowed;
        if (set->count && rng_one_in(r, set == &allowed ? 3 : 20)) {
            const size_t i = rng_below(r, set->count);
            const size_t n = rng_one_in(r, 2) ? set->lengths[i] : rng_below(r, set->lengths[i] + 1);
            memcpy(text + size, set->bytes[i], n);
            size += n;
        } else {
            size += put_unit(r, text + size, letters);
        }
    }
    st_text_error error; /* a cut name may have left half a character; the text stage has a harness of its own */
    for (size_t good; (good = st_text_check(text, size, &error)) < size;)
        text[good] = '?';
}

/* Builds the matcher with allocations failing, each in turn. ids: FIRST_ID + the number of the name. */
static void build(name_set *set)
{
    uint8_t bytes[NAMES_MOST * NAME_BYTES];
    uint32_t ids[NAMES_MOST];
    size_t at = 0;
    const int64_t live = st_alloc_read().live;
    for (size_t i = 0; i < set->count; i++) {
        memcpy(bytes + at, set->bytes[i], set->lengths[i]);
        at += set->lengths[i];
        ids[i] = FIRST_ID + (uint32_t)i;
    }
    uint8_t *exact = take(at);
    memcpy(exact, bytes, at);
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = 0; status; succeeding = next_failure(succeeding)) {
        CHECK(status == ST_NO_MEMORY);
        st_alloc_fail_after(succeeding);
        status = st_special_new(exact, set->lengths, ids, set->count, &set->special);
        st_alloc_fail_after(-1);
        CHECK(!status || (!set->special && st_alloc_read().live == live));
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    free(exact);
}

static void check_empty_name(rng *r)
{
    size_t lengths[NAMES_MOST];
    uint32_t ids[NAMES_MOST] = {0};
    st_special *special;
    if (!allowed.count)
        return;
    memcpy(lengths, allowed.lengths, sizeof lengths);
    lengths[rng_below(r, allowed.count)] = 0;
    CHECK(st_special_new(allowed.bytes[0], lengths, ids, allowed.count, &special) == ST_EMPTY_TOKEN && !special);
}

/* ---- by comparing names ---- */

/* The first name at or behind `from`, the longest of those there; its number, or -1. */
static int first_name(const name_set *set, size_t from, size_t *start, size_t *end)
{
    for (size_t at = from; at < size; at++) {
        int found = -1;
        for (size_t i = 0; i < set->count; i++)
            if (set->lengths[i] <= size - at && same_bytes(text + at, set->bytes[i], set->lengths[i]) &&
                (found < 0 || set->lengths[i] > set->lengths[found]))
                found = (int)i;
        if (found >= 0) {
            *start = at;
            *end = at + set->lengths[found];
            return found;
        }
    }
    return -1;
}

/* One id a byte, except for the names. */
static void plain_ids(st_ids *ids)
{
    size_t from = 0, start = 0, end = 0;
    CHECK(st_ids_reserve(ids, size + 1) == ST_OK);
    for (int name = 0; name >= 0; from = end) {
        name = first_name(&allowed, from, &start, &end);
        for (const size_t stop = name < 0 ? size : start; from < stop; from++)
            ids->data[ids->size++] = text[from];
        if (name >= 0)
            ids->data[ids->size++] = FIRST_ID + (uint32_t)name;
        counts.names += name >= 0;
    }
}

/* ---- the harness ---- */

static void check_refusal(const st_feed_error *error)
{
    size_t start = 0, end = 0;
    CHECK(first_name(&disallowed, 0, &start, &end) >= 0 && error->offset == start);
    const size_t named = error->id - FIRST_ID;
    CHECK(named < disallowed.count && disallowed.lengths[named] <= size - start);
    CHECK(same_bytes(text + start, disallowed.bytes[named], disallowed.lengths[named]));
    counts.refused++;
}

static void check_feeding(rng *r, const st_ids *wanted, st_pattern pattern)
{
    const size_t most = rng_one_in(r, 3) ? 1 : 1 + rng_below(r, rng_one_in(r, 3) ? TEXT_MOST : 50);
    size_t start, end;
    st_encoder e;
    st_ids ids = {0};
    st_feed_error error;
    st_status status = ST_OK;
    st_encoder_init(&e, vocab, pattern);
    e.allowed = allowed.special;
    e.watch.names = disallowed.special;
    for (size_t at = 0, n; at < size && !status; at += n) {
        n = 1 + rng_below(r, most);
        n = n < size - at ? n : size - at;
        status = st_encoder_feed(&e, guarded(text + at, n, rng_one_in(r, 2)), n, 0, &ids, &error);
        guarded_scribble();
        counts.feeds++;
        CHECK(status || pattern.dfa || st_encoder_pending(&e) <= 3 + 256 + allowed.longest);
    }
    if (!status)
        status = st_encoder_feed(&e, NULL, 0, ST_FEED_FINAL, &ids, &error);
    CHECK(status == (first_name(&disallowed, 0, &start, &end) < 0 ? ST_OK : ST_DISALLOWED_SPECIAL));
    if (status)
        check_refusal(&error);
    else
        CHECK(ids.size == wanted->size && same_bytes(ids.data, wanted->data, ids.size * sizeof *ids.data));
    st_ids_free(&ids);
    st_encoder_free(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    if (!vocab)
        open_vocab();
    const size_t letters = 1 + rng_below(&r, 10);
    allowed.count = 0;
    make_set(&r, letters, NAMES_MOST, NULL, &allowed);
    make_set(&r, letters, rng_one_in(&r, 2) ? 4 : 0, &allowed, &disallowed);
    build(&allowed);
    build(&disallowed);
    check_empty_name(&r);
    for (int i = 0; i < 4; i++) {
        st_ids wanted = {0};
        make_text(&r, letters);
        plain_ids(&wanted);
        check_feeding(&r, &wanted, pattern_random(&r));
        check_feeding(&r, &wanted, pattern_of(ST_SPLIT_NONE));
        st_ids_free(&wanted);
        counts.texts++;
    }
    st_special_free(allowed.special);
    st_special_free(disallowed.special);
    counts.sets++;
    return 0;
}

void harness_close(void)
{
    st_vocab_free(vocab);
    printf("fuzz_special_tokens: %llu sets, %llu texts, %llu feeds, %llu names found, %llu texts refused, %llu failed allocations: no "
           "difference\n",
           (unsigned long long)counts.sets, (unsigned long long)counts.texts, (unsigned long long)counts.feeds,
           (unsigned long long)counts.names, (unsigned long long)counts.refused,
           (unsigned long long)counts.failed_allocations);
}
