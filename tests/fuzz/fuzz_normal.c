/* Normalizers of a few steps, over texts of characters that compose, decompose and change places, in parts cut anywhere between two
 * characters, each with unreadable memory right before or behind it. For every text:
 *
 *     what comes of the parts == what comes of the whole; blocks of vectors give what single characters give
 *     a feed whose allocations fail changes nothing; what is saved and restored goes on
 *     the places in the given text ascend within a run, and are starts of characters
 *     a text may be cut where st_normalizer_cut says so, and st_normalizer_blank_cut */
#include "base/utf8.h"
#include "fuzz.h"
#include "normal/quick.h"

#include <stdio.h>

static struct {
    uint64_t texts, bytes, parts, failed_allocations, cuts;
} counts;

static st_normalizer normalizer;
static st_bytes text, whole, got;

static void describe(void)
{
    for (size_t i = 0; i < normalizer.count; i++)
        fprintf(stderr, "  step %d form %d\n", (int)normalizer.steps[i].kind, (int)normalizer.steps[i].form);
    print_bytes("text", text.data, text.size);
    print_bytes("whole", whole.data, whole.size);
    print_bytes("got", got.data, got.size);
}

/* ---- texts and steps ---- */

static void put_point(st_bytes *to, uint32_t point)
{
    uint8_t bytes[4];
    CHECK(st_bytes_append(to, bytes, st_utf8_write(bytes, point)) == ST_OK);
}

static uint32_t random_point(rng *r)
{
    static const uint32_t first[] = {'a', 'A', 0, 0x4E00, 0x300, 0x1100, 0x1161, 0x11A8, 0xAC00, 0x9C7, 0xDCA, 0x3099, 0xFB00, 0x1E00, 0};
    static const uint32_t count[] = {26, 26, 0xA1, 9, 0x70, 19, 21, 27, 60, 24, 22, 2, 40, 0x100, 0x110000};
    for (;;) {
        const size_t i = rng_below(r, sizeof first / sizeof *first);
        const uint32_t point = first[i] + (uint32_t)rng_below(r, count[i]);
        if (point - 0xD800 >= 0x800)
            return point;
    }
}

static void random_text(rng *r)
{
    text.size = 0;
    for (size_t n = rng_size(r, 300); n--;) {
        const uint32_t point = rng_one_in(r, 4) ? ' ' : random_point(r);
        for (size_t again = rng_one_in(r, 12) ? 1 + rng_below(r, 40) : 1; again--;)
            put_point(&text, point);
    }
}

static void random_steps(rng *r)
{
    static uint8_t pattern[16];
    static uint32_t ranges[] = {' ', ' ', 'a', 'c', 0x300, 0x310};
    st_normalizer_free(&normalizer);
    for (size_t n = rng_below(r, 4); n--;) {
        const int unless = rng_one_in(r, 3); /* the content is one character then */
        const int words = rng_one_in(r, 3);
        const st_step step = {.unless = unless, .first = rng_one_in(r, 4), .kind = words ? ST_STEP_WORDS : (st_step_kind)rng_below(r, 7), .form = (st_form)rng_below(r, ST_FORMS),
                              .left = rng_one_in(r, 2), .right = rng_one_in(r, 2), .runs = rng_one_in(r, 2),
                              .mask = rng_one_in(r, 3) ? ST_MASK_ACCENTS + (int)rng_below(r, 3) : 0,
                              .clean = {rng_one_in(r, 2), rng_one_in(r, 2), rng_one_in(r, 2)}, .pattern = pattern, .pattern_size = 1 + rng_below(r, 4),
                              .content = (uint8_t *)(unless || words ? "a" : "e\xCC\x81"),
                              .content_size = unless || words ? 1 : rng_below(r, 2) * 3,
                              .ranges = ranges, .range_count = 1 + rng_below(r, 3)};
        for (size_t i = 0; i < step.pattern_size; i++)
            pattern[i] = (uint8_t)("aab "[rng_below(r, 4)]);
        CHECK(st_normalizer_add(&normalizer, &step) == ST_OK);
    }
}

/* ---- flows ---- */

static st_status take_part(void *context, const uint8_t *part, const size_t *source, size_t n)
{
    for (size_t i = 0; source && i < n; i++)
        CHECK(source[i] < text.size && !st_utf8_is_continuation(text.data[source[i]]));
    CHECK(!st_utf8_is_continuation(part[0]) && !st_utf8_unfinished(part, n));
    return st_bytes_append(context, part, n);
}

static void begin(st_flow *flow, st_bytes *out, int traced)
{
    st_flow_init(flow, &normalizer);
    flow->sink = take_part;
    flow->context = out;
    flow->traced = traced;
    out->size = 0;
}

static void feed_against_odds(st_flow *flow, const uint8_t *part, size_t n, int end)
{
    for (int64_t number = 0;; number = next_failure(number)) {
        const size_t before = got.size, held = st_flow_held(flow);
        st_flow_marks marks;
        st_flow_mark(flow, &marks);
        st_alloc_fail_after(number);
        const st_status status = st_flow_feed(flow, part, n, end);
        st_alloc_fail_after(-1);
        if (!status)
            break;
        CHECK(status == ST_NO_MEMORY);
        st_flow_roll_back(flow, &marks);
        got.size = before;
        CHECK(st_flow_held(flow) == held);
        counts.failed_allocations++;
    }
    st_flow_commit(flow);
}

/* Another flow that goes on from what this one holds. */
static void replace(st_flow *flow)
{
    st_flow other;
    st_flow_init(&other, &normalizer);
    other.at = flow->at > 0; /* more is not asked where places are not */
    for (size_t i = 0; i < st_flow_steps(flow); i++) {
        const st_step_holds holds = st_flow_holds(flow, i);
        CHECK(st_flow_restore(&other, i, &holds) == ST_OK);
    }
    other.sink = flow->sink;
    other.context = flow->context;
    st_flow_free(flow);
    *flow = other;
}

static void check_parts(rng *r)
{
    st_flow flow;
    begin(&flow, &got, 0);
    const size_t most = 1 + rng_size(r, 200);
    for (size_t at = 0, end; at < text.size; at = end) {
        end = at + 1 + rng_below(r, most);
        while (end < text.size && st_utf8_is_continuation(text.data[end]))
            end++;
        end = end < text.size ? end : text.size;
        const uint8_t *part = guarded(text.data + at, end - at, rng_one_in(r, 2));
        if (rng_one_in(r, 20))
            feed_against_odds(&flow, part, end - at, 0);
        else
            CHECK(st_flow_feed(&flow, part, end - at, 0) == ST_OK);
        guarded_scribble();
        st_flow_commit(&flow);
        if (rng_one_in(r, 10))
            replace(&flow);
        counts.parts++;
    }
    CHECK(st_flow_feed(&flow, guarded(text.data, 0, 0), 0, 1) == ST_OK && !st_flow_held(&flow));
    CHECK(got.size == whole.size && same_bytes(got.data, whole.data, got.size));
    st_flow_free(&flow);
}

static void normalize(const uint8_t *from, size_t n, int traced, st_bytes *out)
{
    st_flow flow;
    begin(&flow, out, traced);
    CHECK(st_flow_feed(&flow, from, n, 1) == ST_OK);
    st_flow_free(&flow);
}

static void check_cut(rng *r)
{
    static st_bytes second;
    uint8_t mark[ST_MOST_MARK];
    size_t at = text.size ? rng_below(r, text.size) : 0;
    while (at && st_utf8_is_continuation(text.data[at]))
        at--;
    while (at && text.data[at] != ' ' && !rng_one_in(r, 20)) /* mostly a blank */
        at -= st_utf8_size_before(text.data, at);
    if (!at)
        return;
    if (!st_normalizer_cut(&normalizer, text.data, text.size, at) && !st_normalizer_blank_cut(&normalizer, text.data, text.size, at, mark))
        return;
    normalize(text.data, at, 0, &got);
    normalize(text.data + at, text.size - at, 0, &second);
    CHECK(st_bytes_append(&got, second.data, second.size) == ST_OK);
    CHECK(got.size == whole.size && same_bytes(got.data, whole.data, got.size));
    st_bytes_free(&second);
    counts.cuts++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint8_t nothing[1];
    rng r = rng_of(data, n);
    describe_failure = describe;
    random_steps(&r);
    random_text(&r);
    const uint8_t *all = text.size ? guarded(text.data, text.size, rng_one_in(&r, 2)) : nothing;
    for (st_form form = ST_NFC; form < ST_FORMS; form++)
        CHECK(st_normal_quick(form, all, text.size) == st_normal_quick_from(form, all, 0, text.size));
    normalize(all, text.size, 0, &whole);
    normalize(all, text.size, 1, &got);
    CHECK(got.size == whole.size && same_bytes(got.data, whole.data, got.size));
    check_parts(&r);
    for (int i = 0; i < 8; i++)
        check_cut(&r);
    counts.texts++;
    counts.bytes += text.size;
    return 0;
}

void harness_close(void)
{
    st_normalizer_free(&normalizer);
    st_bytes_free(&text);
    st_bytes_free(&whole);
    st_bytes_free(&got);
    printf("fuzz_normal: %llu texts, %llu bytes, %llu parts, %llu cuts, %llu failed allocations: no difference\n",
           (unsigned long long)counts.texts, (unsigned long long)counts.bytes, (unsigned long long)counts.parts,
           (unsigned long long)counts.cuts, (unsigned long long)counts.failed_allocations);
}
