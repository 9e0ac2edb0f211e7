/* Damaged vocabularies: st_vocab_new must name the damage with the right code and place, and never crash or leak, also
 * when memory is short. Sound ones: the pairs found by merging are those of BPE's definition and of stored splits. Lists of
 * any bytes: accepted exactly where no rule is broken. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
    uint64_t sources, built, refused, failed_allocations;
} counts;

static const source *current;

static void describe(void)
{
    if (!current)
        return;
    size_t total = 0;
    for (size_t i = 0; i < current->count; i++)
        total += current->lengths[i];
    fprintf(stderr, "  %zu tokens, %s splits\n", current->count, current->splits ? "with" : "without");
    print_bytes("tokens", current->bytes, total);
}

/* ---- building ---- */

/* Builds it with allocations failing, each in turn; nothing may be left of a failed attempt. */
static st_status build_against_odds(const source *s, st_vocab **vocab, size_t *bad)
{
    const int64_t live = st_alloc_read().live;
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = 0; status == ST_NO_MEMORY; succeeding = next_failure(succeeding)) {
        st_alloc_fail_after(succeeding);
        status = source_build(s, 64, vocab, bad);
        st_alloc_fail_after(-1);
        CHECK((status == ST_OK) == (*vocab != NULL));
        CHECK(!status || st_alloc_read().live == live);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    return status;
}

static void check_refused(const source *s, st_status expected, size_t place)
{
    st_vocab *vocab;
    size_t bad;
    st_status status = build_against_odds(s, &vocab, &bad);
    CHECK(status == expected && bad == place);
    counts.refused++;
}

/* ---- sound vocabularies ---- */

static void check_found(const source *s, const st_vocab *v)
{
    const uint8_t *at = s->bytes;
    CHECK(v->count == s->count);
    for (uint32_t i = 0; i < v->count; at += s->lengths[i++]) {
        CHECK(st_vocab_find(v, at, s->lengths[i]) == i && st_vocab_index(v, s->ids[i]) == i);
        CHECK(st_token_length(v, i) == s->lengths[i] && same_bytes(st_token_bytes(v, i), at, s->lengths[i]));
    }
    CHECK(st_vocab_find(v, at, 0) == ST_NONE);
    CHECK(st_vocab_index(v, s->ids[s->count - 1] + 1) == ST_NONE);
}

/* Bytes of the left part of the last merge of a token's own bytes, by the definition of BPE; 0 if that is not how the
 * token comes about. */
static size_t defined_split(const st_vocab *v, uint32_t index)
{
    const uint8_t *text = st_token_bytes(v, index);
    size_t count = st_token_length(v, index), *ends = take(count * sizeof *ends), split = 0;
    for (size_t i = 0; i < count; i++)
        ends[i] = i + 1;
    for (size_t at; (at = merge_first_lowest(v, text, ends, &count));)
        split = at;
    free(ends);
    return count == 1 ? split : 0;
}

static void check_pairs(const st_vocab *v)
{
    uint32_t unreachable = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        size_t n = st_token_length(v, i), split = n <= 100 ? defined_split(v, i) : 0;
        unreachable += !st_token_reachable(v, i);
        if (n > 100)
            continue; /* the definition takes cubic time */
        CHECK(st_token_reachable(v, i) == (n == 1 || split > 0));
        if (split)
            CHECK(st_token_length(v, v->left[i]) == split && st_pairs_find(&v->pairs, v->left[i], v->right[i]) == i);
    }
    CHECK(v->unreachable == unreachable);
}

/* Built once more from its own splits, a vocabulary must come out the same. */
static void check_splits(source *s, const st_vocab *v)
{
    st_vocab *again;
    size_t bad;
    s->splits = take(s->count * sizeof *s->splits);
    for (uint32_t i = 0; i < v->count; i++)
        s->splits[i] = v->left[i] == ST_NONE ? 0 : (uint32_t)st_token_length(v, v->left[i]);
    CHECK(build_against_odds(s, &again, &bad) == ST_OK);
    CHECK(same_bytes(v->left, again->left, v->count * sizeof *v->left));
    CHECK(same_bytes(v->right, again->right, v->count * sizeof *v->right));
    CHECK(v->monotone == again->monotone && v->unreachable == again->unreachable && v->identity == again->identity);
    st_vocab_free(again);
}

static void check_sound(source *s)
{
    st_vocab *v;
    size_t bad;
    CHECK(build_against_odds(s, &v, &bad) == ST_OK);
    check_found(s, v);
    check_pairs(v);
    check_splits(s, v);
    st_vocab_free(v);
    counts.built++;
}

/* ---- damaged ones ---- */

static size_t start_of(const source *s, size_t index)
{
    size_t start = 0;
    for (size_t i = 0; i < index; i++)
        start += s->lengths[i];
    return start;
}

/* Puts `n` other bytes in the place of token `index`. */
static void set_token(source *s, size_t index, const uint8_t *bytes, uint32_t n)
{
    const size_t start = start_of(s, index), end = start + s->lengths[index], total = start_of(s, s->count);
    uint8_t *all = take(total - (end - start) + n);
    memcpy(all, s->bytes, start);
    if (n)
        memcpy(all + start, bytes, n);
    memcpy(all + start + n, s->bytes + end, total - end);
    free(s->bytes);
    s->bytes = all;
    s->lengths[index] = n;
}

static void check_duplicate(source *s, rng *r)
{
    size_t first = rng_below(r, s->count - 1), second = first + 1 + rng_below(r, s->count - 1 - first);
    uint8_t *copy = take(s->lengths[first]);
    memcpy(copy, s->bytes + start_of(s, first), s->lengths[first]);
    set_token(s, second, copy, s->lengths[first]);
    free(copy);
    check_refused(s, ST_DUPLICATE_TOKEN, second);
}

static void check_missing_byte(source *s, rng *r)
{
    static const uint8_t other[6] = {0xFE, 0xFD, 0xFE, 0xFD, 0xFE, 0xFD}; /* in no vocabulary made here */
    size_t index = rng_below(r, s->count);
    while (s->lengths[index] != 1)
        index = rng_below(r, s->count);
    const uint8_t byte = s->bytes[start_of(s, index)];
    set_token(s, index, other, sizeof other);
    check_refused(s, ST_MISSING_BYTE, byte);
}

static void check_too_long(source *s, rng *r)
{
    enum { LONG = ST_MAX_TOKEN_BYTES + 1 };
    uint8_t *bytes = take(LONG);
    size_t index = rng_below(r, s->count);
    memset(bytes, 'x', LONG);
    set_token(s, index, bytes, LONG);
    free(bytes);
    check_refused(s, ST_TOKEN_TOO_LONG, index);
}

static void check_unsorted(source *s, rng *r)
{
    size_t index = 1 + rng_below(r, s->count - 1);
    s->ids[index] = rng_one_in(r, 2) ? s->ids[index - 1] : (uint32_t)rng_below(r, s->ids[index - 1] + 1);
    check_refused(s, ST_UNSORTED_RANKS, index);
}

/* The first byte that is silent by its split: a text with it has no ids. 256: there is none. */
static size_t silent_byte(const source *s)
{
    const uint8_t *at = s->bytes;
    size_t first = 256;
    for (size_t i = 0; i < s->count; at += s->lengths[i++])
        if (s->lengths[i] == 1 && s->splits[i] == ST_SILENT && *at < first)
            first = *at;
    return first;
}

/* Splits from chance, which may be ST_SILENT. Some may be those of other tokens that exist; wrong ones that fit are the
 * caller's fault, so only building and freeing is tried. */
static void check_bad_splits(source *s, rng *r)
{
    st_vocab *v;
    size_t bad;
    s->splits = take(s->count * sizeof *s->splits);
    for (size_t i = 0; i < s->count; i++)
        s->splits[i] = rng_one_in(r, 20) ? (uint32_t)rng_next(r) : (uint32_t)rng_below(r, s->lengths[i]);
    if (rng_one_in(r, 3))
        s->splits[rng_below(r, s->count)] = ST_SILENT;
    const size_t silent = silent_byte(s);
    st_status status = build_against_odds(s, &v, &bad);
    if (silent < 256)
        CHECK(status == ST_MISSING_BYTE && bad == silent);
    else
        CHECK(status == ST_OK || (status == ST_BAD_SPLIT && bad < s->count));
    st_vocab_free(v);
    counts.refused += status != ST_OK;
}

/* Sizes beyond the limits, which must be refused before anything is read or allocated by them. */
static void check_limits(source *s, rng *r)
{
    st_vocab *v;
    size_t bad;
    source large = *s;
    large.count = ST_MAX_TOKENS + 1 + rng_below(r, 1000);
    CHECK(source_build(&large, 0, &v, &bad) == ST_TOO_MANY_TOKENS && !v);
    large.count = 0;
    check_refused(&large, ST_MISSING_BYTE, 0);
    s->lengths[rng_below(r, s->count)] = ST_MAX_TOTAL_BYTES + 1 + (uint32_t)rng_next(r) / 2;
    CHECK(source_build(s, 0, &v, &bad) == ST_TOKEN_TOO_LONG && !v);
    s->count = 0; /* its lengths are wrong: nothing to describe */
}

/* ---- lists of any bytes ---- */

#define RAW_MOST 200

static int is_there(const source *s, size_t count, const uint8_t *bytes, size_t n)
{
    const uint8_t *at = s->bytes;
    for (size_t i = 0; i < count; at += s->lengths[i++])
        if (s->lengths[i] == n && same_bytes(at, bytes, n))
            return 1;
    return 0;
}

/* The 256 bytes, mostly, in any place among tokens read from the input: a length and as many bytes each. */
static source source_raw(rng *r)
{
    source s = {take(256 + RAW_MOST * 32), take((256 + RAW_MOST) * 4), take((256 + RAW_MOST) * 4), NULL, 0};
    const size_t more = rng_below(r, RAW_MOST), left_out = rng_one_in(r, 8) ? rng_below(r, 256) : 256;
    size_t used = 0, single = 0;
    uint32_t id = 0;
    for (size_t i = 0; single < 256 || i < more;) {
        uint32_t n = 1;
        if (single < 256 && (i >= more || rng_one_in(r, 2))) {
            n = single != left_out;
            s.bytes[used] = (uint8_t)single++;
            if (!n)
                continue;
        } else {
            n = (uint32_t)rng_below(r, rng_one_in(r, 40) ? 32 : 8) + !rng_one_in(r, 60);
            for (uint32_t k = 0; k < n; k++)
                s.bytes[used + k] = (uint8_t)rng_below(r, 256);
            i++;
            if (!rng_one_in(r, 60) && (n < 2 || is_there(&s, s.count, s.bytes + used, n)))
                continue; /* mostly one that is new */
        }
        used += n;
        s.lengths[s.count] = n;
        id += (uint32_t)(rng_one_in(r, 20) ? rng_size(r, 1 << 20) : 1);
        s.ids[s.count++] = id;
    }
    return s;
}

static int is_sound(const source *s)
{
    const uint8_t *at = s->bytes;
    size_t singles = 0;
    for (size_t i = 0; i < s->count; at += s->lengths[i++]) {
        if (!s->lengths[i] || is_there(s, i, at, s->lengths[i]) || (i && s->ids[i] <= s->ids[i - 1]))
            return 0;
        singles += s->lengths[i] == 1;
    }
    return singles == 256;
}

static void check_raw(source *s)
{
    st_vocab *v;
    size_t bad = SIZE_MAX;
    const st_status status = build_against_odds(s, &v, &bad);
    CHECK((status == ST_OK) == is_sound(s));
    CHECK(!status || bad < 256 + s->count);
    st_vocab_free(v);
    if (status)
        counts.refused++;
    else
        check_sound(s);
}

/* Each status has a phrase of its own. */
static void check_phrases(void)
{
    for (int a = ST_OK; a <= ST_INTERRUPTED; a++)
        for (int b = ST_OK; b <= ST_INTERRUPTED + 1; b++)
            CHECK((a == b) == !strcmp(st_strerror((st_status)a), st_strerror((st_status)b)));
}

/* ---- the harness ---- */

static void check_grown(source *s, rng *r)
{
    if (rng_one_in(r, 2))
        source_damage(s, r);
    switch (rng_below(r, 10)) {
    case 0: check_duplicate(s, r); break;
    case 1: check_missing_byte(s, r); break;
    case 2: check_too_long(s, r); break;
    case 3: check_unsorted(s, r); break;
    case 4: case 5: check_bad_splits(s, r); break;
    case 6: check_limits(s, r); break;
    case 7: {
        size_t index = rng_below(r, s->count);
        set_token(s, index, NULL, 0);
        check_refused(s, ST_EMPTY_TOKEN, index);
        break;
    }
    default: check_sound(s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    const int raw = rng_one_in(&r, 2);
    source s = raw ? source_raw(&r) : source_grown(&r);
    describe_failure = describe;
    current = &s;
    if (raw)
        check_raw(&s);
    else
        check_grown(&s, &r);
    current = NULL;
    source_free(&s);
    check_phrases();
    counts.sources++;
    CHECK(st_alloc_read().live == 0);
    return 0;
}

void harness_close(void)
{
    printf("fuzz_vocab: %llu vocabularies, %llu sound ones built twice, %llu refused, %llu failed allocations: no crash, no "
           "leak\n",
           (unsigned long long)counts.sources, (unsigned long long)counts.built, (unsigned long long)counts.refused,
           (unsigned long long)counts.failed_allocations);
}
