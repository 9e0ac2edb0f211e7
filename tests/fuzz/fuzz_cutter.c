/* Added tokens with flags (special/cutter.h): names that take the white space beside them, names that count only where no character
 * of a word is beside them, in texts full of both, cut anywhere. A search that compares names, over the whole text at once, gives
 * the expected parts. On the way cutters are copied, saved and restored, and allocations fail. */
#include "base/utf8.h"
#include "fuzz.h"
#include "special/cutter.h"

#include <stdio.h>
#include <stdlib.h>

#define NAMES_MOST 12
#define NAME_BYTES 24
#define TEXT_MOST 400
#define PARTS_MOST (4 * TEXT_MOST)

static struct {
    uint64_t sets, texts, feeds, names, stripped, dropped, restored, refused, failed_allocations;
} counts;

static struct {
    uint8_t bytes[NAMES_MOST][NAME_BYTES];
    size_t lengths[NAMES_MOST], count;
    uint8_t flags[NAMES_MOST];
    st_special *special;
} set;

static uint8_t text[TEXT_MOST + NAME_BYTES];
static size_t size;
static const uint32_t words[] = {'0', '9', 'a', 'z', 0xE9, 0xE9};
static const uint8_t nothing[1];

/* What goes to a sink, in order: the bytes of texts, the ends, and names with the byte that they begin with. */
typedef struct log_entry {
    enum { TEXT, END, NAME } kind;
    uint32_t id;
    uint8_t byte;
} log_entry;

typedef struct parts {
    log_entry entries[PARTS_MOST];
    size_t count;
    int fails_in; /* calls until one fails; 0: none does */
} parts;

static parts wanted, found;

static void describe(void)
{
    for (size_t i = 0; i < set.count; i++) {
        char name[40];
        snprintf(name, sizeof name, "name with flags %d", set.flags[i]);
        print_bytes(name, set.bytes[i], set.lengths[i]);
    }
    print_bytes("text", text, size);
}

/* ---- the sink ---- */

static void put(parts *to, log_entry entry)
{
    CHECK(to->count < PARTS_MOST);
    to->entries[to->count++] = entry;
}

static st_status fails(parts *to)
{
    return to->fails_in && !--to->fails_in ? ST_NO_MEMORY : ST_OK;
}

static st_status take_text(void *context, const uint8_t *bytes, size_t n)
{
    ST_TRY(fails(context));
    for (size_t i = 0; i < n; i++)
        put(context, (log_entry){TEXT, 0, bytes[i]});
    return ST_OK;
}

static st_status take_end(void *context)
{
    ST_TRY(fails(context));
    put(context, (log_entry){END, 0, 0});
    return ST_OK;
}

static st_status take_name(void *context, uint32_t id, const uint8_t *begin)
{
    ST_TRY(fails(context));
    put(context, (log_entry){NAME, id, *begin});
    return ST_OK;
}

static const st_cutter_sink sink = {take_text, take_end, take_name, &found};

static int same_parts(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const log_entry *a = &wanted.entries[i], *b = &found.entries[i];
        if (a->kind != b->kind || a->id != b->id || a->byte != b->byte)
            return 0;
    }
    return 1;
}

/* ---- names and texts ---- */

static size_t put_unit(rng *r, uint8_t *to, size_t letters)
{
    static const char *const units[] = {" ", "a", "<", "\n", "b", "\xC3\xA9", "\xE3\x80\x80", "|", "\xC2\xA0", "\xF0\x9F\x98\x80",
                                        "7"};
    const char *unit = units[rng_below(r, letters)];
    memcpy(to, unit, strlen(unit));
    return strlen(unit);
}

static int is_white_alone(const uint8_t *name, size_t n)
{
    unsigned step;
    for (size_t at = 0; at < n; at += step)
        if (!st_is_white(st_utf8_decode(name + at, &step)))
            return 0;
    return 1;
}

static void make_set(rng *r, size_t letters)
{
    int right = 0;
    set.count = 0;
    for (size_t tries = 1 + rng_below(r, NAMES_MOST); tries; tries--) {
        uint8_t *name = set.bytes[set.count];
        size_t n = 0;
        int is_there = 0;
        for (size_t units = 1 + rng_size(r, 4); units; units--)
            n += put_unit(r, name + n, letters);
        for (size_t i = 0; i < set.count; i++)
            is_there |= set.lengths[i] == n && same_bytes(set.bytes[i], name, n);
        if (is_there)
            continue;
        set.flags[set.count] = (uint8_t)rng_below(r, 8);
        right |= set.flags[set.count] & ST_NAME_TAKES_RIGHT;
        set.lengths[set.count++] = n;
    }
    for (size_t i = 0; right && i < set.count; i++) /* these two kinds do not go together */
        if (is_white_alone(set.bytes[i], set.lengths[i]))
            set.flags[i] &= (uint8_t)~ST_NAME_TAKES_LEFT;
}

static void build(void)
{
    uint8_t bytes[NAMES_MOST * NAME_BYTES];
    uint32_t ids[NAMES_MOST];
    size_t at = 0;
    for (uint32_t i = 0; i < set.count; at += set.lengths[i++]) {
        memcpy(bytes + at, set.bytes[i], set.lengths[i]);
        ids[i] = i;
    }
    CHECK(st_special_new(bytes, set.lengths, ids, set.count, &set.special) == ST_OK);
    CHECK(st_special_set_flags(set.special, set.flags, words, 3) == ST_OK);
}

static void make_text(rng *r, size_t letters)
{
    size = 0;
    for (size_t units = rng_size(r, 90); units && size + NAME_BYTES < TEXT_MOST; units--) {
        if (!rng_one_in(r, 3)) {
            size += put_unit(r, text + size, letters);
            continue;
        }
        const size_t i = rng_below(r, set.count);
        size_t n = rng_one_in(r, 4) ? rng_below(r, set.lengths[i] + 1) : set.lengths[i];
        n -= st_utf8_unfinished(set.bytes[i], n);
        memcpy(text + size, set.bytes[i], n);
        size += n;
    }
}

/* ---- by comparing names ---- */

static int is_of_word(size_t at)
{
    unsigned step;
    const uint32_t c = st_utf8_decode(text + at, &step);
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 0xE9;
}

static int white_at(size_t at, unsigned *step)
{
    return st_is_white(st_utf8_decode(text + at, step));
}

/* Where the white space in front of text[at] begins. */
static size_t left_of(size_t at)
{
    unsigned step;
    while (at && white_at(at - st_utf8_size_before(text, at), &step))
        at -= st_utf8_size_before(text, at);
    return at;
}

static size_t right_of(size_t at)
{
    for (unsigned step; at < size && white_at(at, &step); at += step)
        ;
    return at;
}

/* The longest name at text[at]; its number, or -1. */
static int name_at(size_t at)
{
    int best = -1;
    for (size_t i = 0; i < set.count; i++)
        if (set.lengths[i] <= size - at && same_bytes(text + at, set.bytes[i], set.lengths[i]) &&
            (best < 0 || set.lengths[i] > set.lengths[best]))
            best = (int)i;
    return best;
}

static void expect_text(size_t from, size_t until)
{
    for (; from < until; from++)
        put(&wanted, (log_entry){TEXT, 0, text[from]});
}

static void expect_parts(void)
{
    size_t done = 0, at = 0;
    wanted.count = 0;
    while (at < size) {
        const int name = name_at(at);
        if (name < 0) {
            at++;
            continue;
        }
        size_t start = at, stop = at += set.lengths[name];
        const unsigned flags = set.flags[name];
        if (flags & ST_NAME_ALONE && ((start && is_of_word(start - st_utf8_size_before(text, start))) ||
                                      (stop < size && is_of_word(stop)))) {
            counts.dropped++;
            continue;
        }
        if (flags & ST_NAME_TAKES_LEFT)
            start = left_of(start) > done ? left_of(start) : done;
        if (flags & ST_NAME_TAKES_RIGHT)
            stop = right_of(stop);
        counts.stripped += stop - start != set.lengths[name];
        expect_text(done, start);
        put(&wanted, (log_entry){END, 0, 0});
        put(&wanted, (log_entry){NAME, (uint32_t)name, text[start]});
        done = stop;
        counts.names++;
    }
    expect_text(done, size);
    put(&wanted, (log_entry){END, 0, 0});
}

/* ---- the harness ---- */

static size_t named(const st_cutter *c)
{
    return c->state.node ? set.special->depth[c->state.node] : 0;
}

/* The same cutter once more: copied, or from its state. */
static void replace(rng *r, st_cutter *c)
{
    st_cutter other = {.names = set.special};
    if (rng_one_in(r, 2)) {
        CHECK(st_cutter_copy(&other, c) == ST_OK);
    } else {
        const uint8_t *held = c->held.data ? c->held.data + c->state.start : nothing;
        CHECK(st_cutter_restore(&other, &c->state, named(c), held, st_cutter_held(c)) == ST_OK);
        counts.restored++;
    }
    st_cutter_free(c);
    *c = other;
}

/* A state that nobody wrote is refused, or does no harm. */
static void restore_anything(rng *r)
{
    st_cutter c = {.names = set.special};
    const st_cutter_state state = {0, 0, 0, rng_size(r, 40), rng_size(r, 40), (int)rng_below(r, 3), (int)rng_below(r, 3)};
    size_t from = rng_below(r, size + 1), until = from + rng_below(r, size - from + 1);
    from -= st_utf8_unfinished(text, from);
    until -= st_utf8_unfinished(text, until);
    const size_t n = until > from ? until - from : 0;
    const uint8_t *held = guarded(text + from, n, rng_one_in(r, 2));
    const st_status status = st_cutter_restore(&c, &state, rng_below(r, n + 2), held, n);
    CHECK(status == ST_OK || status == ST_BAD_STATE);
    counts.refused += status != ST_OK;
    if (!status) {
        found.count = 0;
        CHECK(st_cutter_feed(&c, text, size < 60 ? size - st_utf8_unfinished(text, size) : 0, 1, &sink) == ST_OK);
    }
    st_cutter_free(&c);
}

/* A feed that fails first: by an allocation, or in the sink. */
static void feed(rng *r, st_cutter *c, const uint8_t *part, size_t n, int final)
{
    st_cutter_state mark;
    const size_t before = found.count;
    st_cutter_mark(c, &mark);
    if (rng_one_in(r, 4)) {
        if (rng_one_in(r, 2))
            st_alloc_fail_after((int64_t)rng_below(r, 3));
        else
            found.fails_in = 1 + (int)rng_below(r, 4);
        const st_status status = st_cutter_feed(c, part, n, final, &sink);
        st_alloc_fail_after(-1);
        found.fails_in = 0;
        CHECK(status == ST_OK || status == ST_NO_MEMORY);
        counts.failed_allocations += status != ST_OK;
        if (!status)
            goto taken;
        st_cutter_roll_back(c, &mark);
        found.count = before;
    }
    CHECK(st_cutter_feed(c, part, n, final, &sink) == ST_OK);
taken:
    st_cutter_commit(c);
    counts.feeds++;
}

static void check_feeding(rng *r)
{
    const size_t most = rng_one_in(r, 3) ? 1 : 1 + rng_below(r, rng_one_in(r, 3) ? TEXT_MOST : 20);
    st_cutter c = {.names = set.special};
    found.count = 0;
    int final = 0;
    for (size_t at = 0, until; at < size; at = until) {
        until = at + 1 + rng_below(r, most);
        until = until < size ? until : size;
        while (until < size && st_utf8_is_continuation(text[until]))
            until++;
        final = until == size && rng_one_in(r, 3);
        feed(r, &c, guarded(text + at, until - at, rng_one_in(r, 2)), until - at, final);
        guarded_scribble();
        CHECK(found.count <= wanted.count && same_parts(found.count));
        if (!final && rng_one_in(r, 6))
            replace(r, &c);
    }
    if (!final)
        feed(r, &c, nothing, 0, 1);
    CHECK(found.count == wanted.count && same_parts(found.count) && !st_cutter_held(&c));
    st_cutter_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    describe_failure = describe;
    const size_t letters = 2 + rng_below(&r, 10);
    make_set(&r, letters);
    build();
    for (int i = 0; i < 6; i++) {
        make_text(&r, letters);
        expect_parts();
        check_feeding(&r);
        check_feeding(&r);
        restore_anything(&r);
        counts.texts++;
    }
    st_special_free(set.special);
    counts.sets++;
    return 0;
}

void harness_close(void)
{
    printf("fuzz_cutter: %llu sets, %llu texts, %llu feeds, %llu names found, %llu with white space, %llu inside of words, %llu "
           "restored, %llu states refused, %llu failed feeds: no difference\n",
           (unsigned long long)counts.sets, (unsigned long long)counts.texts, (unsigned long long)counts.feeds,
           (unsigned long long)counts.names, (unsigned long long)counts.stripped, (unsigned long long)counts.dropped,
           (unsigned long long)counts.restored, (unsigned long long)counts.refused,
           (unsigned long long)counts.failed_allocations);
}
