/* Ids to bytes: known and unknown ids, ids of special tokens, names that share an id with a token, failing allocations, rooms that are
 * too small. The bytes are compared with those in the lists of tokens and names. And UTF-8 to characters. */
#include "fuzz.h"

#include "base/utf8.h"
#include "text/utf8_to_str.h"
#include "vocab/slots.h"

#include <stdio.h>
#include <stdlib.h>

#define IDS_MOST 200
#define NAMES_MOST 12
#define CHARACTERS_MOST 300

static struct {
    uint64_t lists, ids, unknown, failed_allocations, steps;
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
    if (rng_one_in(&r, 2)) /* otherwise they come when they pay */
        CHECK(st_vocab_slots(vocab, (size_t)1 << 40));
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

/* ---- in steps, and as characters ---- */

/* The same in rooms that are too small, each in memory of its size: a write beyond it shows. */
static void check_steps(rng *r, const st_names *names, const uint32_t *ids, size_t known, const uint8_t *wanted, size_t n)
{
    st_decoding d = {ids, known, 0, 0};
    size_t at = 0, room = rng_size(r, 80);
    while (d.done < known) {
        uint8_t *to = take(room);
        size_t size = 0;
        const size_t before = d.done;
        CHECK(st_decode_into(vocab, names, &d, to, room, &size) == ST_OK);
        CHECK(size <= room && at + size <= n && same_bytes(to, wanted + at, size));
        CHECK(d.done == known || d.next > room - size);
        at += size;
        if (d.done == before)
            room = d.next + rng_size(r, 80);
        free(to);
    }
    CHECK(at == n);
    counts.steps++;
}

/* How far ids and a text go together, from the front and from the back; the text may be another one, or end early. */
static void check_match(rng *r, const st_names *names, const uint32_t *ids, size_t count, const uint8_t *wanted, size_t n)
{
    n -= rng_one_in(r, 3) ? rng_below(r, (n < 20 ? n : 20) + 1) : 0;
    uint8_t *text = take(n);
    if (n)
        memcpy(text, wanted, n);
    if (n && rng_one_in(r, 3))
        text[rng_below(r, n)] ^= 1;
    size_t matched = 0, back = 0, at = 0, end = n, size, bytes;
    for (const uint8_t *token; matched < count && (token = plain_bytes(names, ids[matched], &size)); matched++, at += size)
        if (size > n - at || !same_bytes(token, text + at, size))
            break;
    for (const uint8_t *token; back < count && (token = plain_bytes(names, ids[count - 1 - back], &size)); back++, end -= size)
        if (size > end || !same_bytes(token, text + end - size, size))
            break;
    CHECK(st_decode_match(vocab, names, ids, count, text, n, &bytes) == matched && bytes == at);
    CHECK(st_decode_match_back(vocab, names, ids, count, text, n, &bytes) == back && bytes == n - end);
    free(text);
}

/* Any text as code points of its narrowest width, against one character after the other. */
static void check_characters(rng *r)
{
    static const uint32_t limits[] = {0x80, 0x100, 0x10000, 0x110000};
    uint8_t text[4 * CHARACTERS_MOST];
    uint32_t points[CHARACTERS_MOST], limit = 0x80;
    const size_t count = rng_size(r, CHARACTERS_MOST), rare = 1 + rng_size(r, 40);
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        do
            points[i] = (uint32_t)rng_below(r, rng_one_in(r, rare) ? limits[rng_below(r, 4)] : 0x80);
        while (points[i] >= 0xD800 && points[i] < 0xE000);
        n += st_utf8_write(text + n, points[i]);
        for (size_t each = 0; each < 3; each++)
            limit = points[i] >= limits[each] && limit < limits[each + 1] ? limits[each + 1] : limit;
    }
    const st_utf8_facts facts = st_utf8_measure(text, n);
    CHECK(facts.characters == count && facts.limit == limit);
    const unsigned width = limit <= 0x100 ? 1 : limit == 0x10000 ? 2 : 4;
    uint8_t *made = take(count * width), *exact = take(n);
    memcpy(exact, text, n);
    CHECK(st_utf8_to_code_points(exact, n, width, made) == ST_OK);
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        uint32_t word;
        memcpy(&half, made + i * width, width == 2 ? 2 : 0);
        memcpy(&word, made + i * width, width == 4 ? 4 : 0);
        CHECK(points[i] == (width == 1 ? made[i] : width == 2 ? half : word));
    }
    free(made);
    free(exact);
}

/* ---- the harness ---- */

static void check_list(rng *r, const st_names *names)
{
    const size_t count = rng_below(r, IDS_MOST);
    const int sound = rng_one_in(r, 2);
    uint32_t *ids = take(count * sizeof *ids); /* of its size: a read beyond its end shows */
    st_bytes wanted = {0}, text = {0};
    size_t bad = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        ids[i] = sound ? vocab->ids[rng_below(r, vocab->count)] : any_id(r, names);
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
    check_steps(r, names, ids, known, wanted.data + 1, wanted.size - 1);
    check_match(r, names, ids, count, wanted.data + 1, wanted.size - 1);
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
    check_characters(&r);
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
